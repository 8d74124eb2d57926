/** `completion`: the script that lets a shell complete command lines, and the answers for it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { type Candidate, candidatesFor, givenOn, type ValueName } from '../completion';
import { text } from '../flags';
import { listedJobs } from '../job-list';
import { ownPackage } from '../package-versions';

const SHELLS = ['bash', 'zsh', 'fish'];

/** The values that a project knows, by their names on a command line. */
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
  summary: 'print a script that lets bash, zsh or fish complete command lines',
  description:
    'Completes commands, flags, files, and the names of connections, queues, jobs and schedules. For names it loads the configuration, but calls no store.',
  examples: [
    ['onqueue completion fish | source', 'in ~/.config/fish/config.fish'],
    ['eval "$(onqueue completion bash)"', 'in ~/.bashrc'],
    ['eval "$(onqueue completion zsh)"', 'in ~/.zshrc, after compinit'],
  ],
  words: ['<shell>', 'bash, zsh or fish'],
  flags: { line: text('<text>', 'a line up to the cursor, whose last word to complete', { isHidden: true }) },
  async run(call) {
    const [shell = ''] = call.words;
    const { line } = call.flags;
    if (!SHELLS.includes(shell)) call.refuse(`there are scripts for ${SHELLS.join(', ')}, but none for '${shell}'.`);
    if (line === undefined) {
      const script = readFileSync(join(ownPackage().folder, 'completions', `onqueue.${shell}`), 'utf8');
      return call.output.result({ shell, script }, script.trimEnd());
    }
    const candidates = await candidatesFor(call.program, line, valuesOf(call, line), call.session.surroundings.folder);
    call.output.result(candidates, ...candidates.map(answerOf));
  },
});

/** The marker tells answers from what a configuration prints while it is loaded. */
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
    // A user who presses Tab should not see errors of the configuration.
    return opened.then(known).catch(() => []);
  };
}
