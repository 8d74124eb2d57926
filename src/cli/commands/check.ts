/** `check`: whether everything is in place that a worker needs. */
import { findConfigFile, projectFolder } from '../../application/configuration/config-file';
import type { QueueManager } from '../../application/queue-manager';
import type { Diagnosis } from '../../connections/contract';
import { type Call, defineCommand } from '../command';
import { errorText, ExitCode } from '../errors';
import type { ProjectFlags } from '../flags';
import type { Tone } from '../output';

const TONES: Readonly<Record<Diagnosis['level'], Tone>> = { ok: 'good', warning: 'warning', error: 'bad' };

export const check = defineCommand({
  name: 'check',
  summary: 'check configuration, connections, versions and jobs',
  description: 'The exit code is 1 if there is an error, and 0 if there are only warnings.',
  examples: [
    ['onqueue check', 'before a deployment, in its environment'],
    ['onqueue check --json | jq \'.items[] | select(.level != "ok")\'', 'for a program'],
  ],
  async run(call) {
    const { output, session } = call;
    // Loaded here, because no other command looks into containers.
    const {
      diagnoseConnections,
      diagnoseEncryption,
      diagnoseJobs,
      diagnoseSchedules,
      diagnoseSource,
      diagnoseVersions,
    } = require('../diagnosis') as typeof import('../diagnosis');
    const folder = projectFolder(session.surroundings.folder);
    const found = diagnoseVersions(folder);
    const manager = await opened(call, found);
    if (manager !== undefined) {
      const file = call.flags.config ?? findConfigFile(folder);
      found.push({ level: 'ok', subject: 'configuration', message: sourceOf(manager, file) });
      found.push(...diagnoseSource(file, folder));
      found.push(
        ...(await diagnoseConnections(manager, session.surroundings.environment['NODE_ENV'] === 'production')),
        ...diagnoseJobs(manager),
        ...(await diagnoseSchedules(manager)),
        ...(await diagnoseEncryption(manager)),
      );
    }
    output.result(found);
    const rows = found.map(({ level, subject, message }) => [{ text: level, tone: TONES[level] }, subject, message]);
    output.uncut(['level', 'what', 'found'], rows);
    if (found.some(({ level }) => level === 'error')) session.exitCode = ExitCode.error;
  },
});

function sourceOf({ configurationSource }: QueueManager, file: string | undefined): string {
  // A file may leave the connections to the environment.
  if (file === undefined || configurationSource.endsWith(file)) return configurationSource;
  return `${file}; the connection is ${configurationSource}`;
}

async function opened(call: Call<ProjectFlags>, found: Diagnosis[]): Promise<QueueManager | undefined> {
  try {
    const manager = await call.open();
    // The table says what there is to say about the store.
    manager.leaveStoreUnnamed();
    return manager;
  } catch (error) {
    found.push({ level: 'error', subject: 'configuration', message: errorText(error) });
    return undefined;
  }
}
