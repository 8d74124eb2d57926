/** `completion`: the script by which a shell completes command lines, and the answers that it gets. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { type Candidate, candidatesFor, givenOn, type ValueName } from '../completion';
import { text } from '../flags';
import { listedJobs } from '../job-list';
import { ownPackage } from '../package-versions';

const SHELLS = ['bash', 'zsh', 'fish'];

/** The values that a project knows, by what they are called on a command line. */
const KNOWN: Readonly<Record<ValueName, (manager: QueueManager) => readonly string[]>> = {
  connection: (manager) => manager.connectionNames(),
  job: ({ registry }) => registry.all().map(({ name }) => name),
  schedule: ({ schedules }) => schedules.all.map(({ name }) => name),
  queue: (manager) => [
    ...manager.connectionNames().map((name) => manager.settings(name).queue),
    ...listedJobs(manager).map(({ queue }) => queue),
  ],
};

export const completion = defineCommand({
  name: 'completion',
  summary: 'print what makes bash, zsh or fish complete command lines',
  description:
    'Commands, flags, files, and the names of connections, queues, jobs and schedules. It loads the configuration where it is asked for names, and asks no store.',
  examples: [
    ['onqueue completion fish | source', 'in ~/.config/fish/config.fish'],
    ['eval "$(onqueue completion bash)"', 'in ~/.bashrc'],
    ['eval "$(onqueue completion zsh)"', 'in ~/.zshrc, behind compinit'],
  ],
  words: ['<shell>', 'bash, zsh or fish'],
  flags: { line: text('<text>', 'a line up to the cursor: what its last word may become', { isHidden: true }) },
  async run(call) {
    const [shell = ''] = call.words;
    const { line } = call.flags;
    if (!SHELLS.includes(shell)) call.refuse(`there are scripts for ${SHELLS.join(', ')}, and none for '${shell}'.`);
    if (line === undefined) {
      const script = readFileSync(join(ownPackage().folder, 'completions', `onqueue.${shell}`), 'utf8');
      return call.output.result({ shell, script }, script.trimEnd());
    }
    const candidates = await candidatesFor(call.program, line, valuesOf(call, line), call.session.surroundings.folder);
    call.output.result(candidates, ...candidates.map(answerOf));
  },
});

/** By the marker it is told from what a configuration prints while it is loaded. */
const answerOf = ({ word, about }: Candidate): string => `+${word}${about === '' ? '' : `\t${about}`}`;

function valuesOf({ program, session }: Call, line: string): (name: ValueName) => Promise<readonly string[]> {
  let opened: Promise<QueueManager> | undefined;
  return async (name) => {
    if (name === 'command') return program.commands.map((one) => one.name());
    if (name === 'shell') return SHELLS;
    const known = KNOWN[name];
    if (known === undefined) return [];
    const config = givenOn(line, '--config').at(-1);
    opened ??= session.open({ config, require: givenOn(line, '--require') });
    // Whoever presses a key is not to be told what is wrong with the configuration.
    return opened.then(known).catch(() => []);
  };
}
