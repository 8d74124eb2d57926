/** `work`: runs jobs until it is told to stop, in processes kept running by a supervisor, or in this very one. */
import { defineCommand } from '../command';
import { invalidOption } from '../errors';
import { CONNECTION_WORD } from '../named-queues';
import { supervise } from '../supervise';
import { WORK_FLAGS, type WorkFlags } from '../work-flags';

export const work = defineCommand({
  name: 'work',
  summary: 'run jobs until told to stop',
  description:
    'A supervisor starts the processes that run the jobs, and replaces those that die. ' +
    'SIGTERM, SIGINT and SIGQUIT stop it cleanly: running jobs may finish within --grace, the rest go back without losing a try. ' +
    'A second signal kills the processes at once; their jobs run again when their leases end.',
  examples: [
    ['onqueue work', 'the default connection and its queue'],
    ['onqueue work redis --queue=high,default', "'high' first"],
    ["onqueue work --require 'dist/jobs/**/*.js'", 'load the jobs from these files'],
    ['onqueue work --concurrency=10 --timeout=2m', 'ten jobs at once'],
    ['onqueue work --processes=4 --memory=512', 'four processes, each replaced when it has grown too large'],
    ['onqueue work --tries=3 --backoff=10s,1m', 'for jobs that say nothing themselves'],
    ['onqueue work --stop-when-empty', 'until no job is ready'],
    ['onqueue work --health-port=9000', 'serve health checks for an orchestrator'],
  ],
  words: CONNECTION_WORD,
  flags: WORK_FLAGS,
  async run({ session, flags: given, words: [connection] }) {
    const { surroundings } = session;
    const flags = { ...given, name: given.name ?? (surroundings.environment['ONQUEUE_WORKER_NAME'] || undefined) };
    const isStartedByUs = flags.fresh !== undefined || flags.processNumber !== undefined;
    const isSupervised = !isStartedByUs && flags.once !== true && flags.supervisor !== false;
    if (!isStartedByUs) refuseIdleFlags(flags, isSupervised);
    if (flags.name !== undefined) surroundings.setTitle(titleOf(flags));
    if (isSupervised) return supervise(session, connection, flags);
    // Loaded here, with everything that runs jobs: a supervisor runs none.
    const { WorkProcess } = require('../work-process') as typeof import('../work-process');
    await new WorkProcess(session, connection, flags).run();
  },
});

/** The process title in `ps` and `top`. */
function titleOf({ name, processNumber }: WorkFlags): string {
  return ['onqueue', name, ...(processNumber === undefined ? [] : [processNumber])].join(' ');
}

// A flag without effect is worse than a refusal, because its user relies on it.
function refuseIdleFlags({ processes, recycle, healthPort, healthHost, once }: WorkFlags, isSupervised: boolean): void {
  if (healthHost !== undefined && healthPort === undefined) {
    throw invalidOption('--health-host', healthHost, 'It only works with --health-port: give that as well.');
  }
  if (isSupervised) return;
  const alone = once === true ? '--once runs one job in this process' : '--no-supervisor means this one process';
  if (processes !== undefined && processes > 1) {
    throw invalidOption('--processes', String(processes), `${alone}: leave one of them out.`);
  }
  if (recycle !== undefined) {
    throw invalidOption('--recycle', String(recycle), `${alone}, which nobody replaces: use --max-time.`);
  }
}
