/** `cancel`: keeps jobs from running, or tells those that run to stop. */
import type { Command } from 'commander';
import type { CancelResult } from '../../connections/control';
import { newCommand } from '../command';
import { ExitCode } from '../exit-codes';
import { noteMemory } from '../memory-remark';
import { addConnectionOption, addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface CancelFlags extends ProjectFlags {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly reason?: string | undefined;
}

const MEANING: Readonly<Record<Exclude<CancelResult, 'unknown'>, string>> = {
  removed: 'it waited, and is gone',
  signalled: 'it is running, and is told to stop',
  marked: 'it was not found at once, and ends as cancelled when a worker meets it',
};

export function cancelCommand(session: Session): Command {
  const command = newCommand('cancel', {
    summary: 'keep jobs from running, or tell those that run to stop',
    description:
      'A job that waits is removed. One that runs is told to stop within a second: its signal aborts. Failed jobs ' +
      'stay (see forget). The exit code is 1 when one of the ids is not known; the others are cancelled all the same.',
    examples: [
      ['onqueue cancel 0193a6c1-…', 'this one, of the default connection'],
      ['onqueue cancel --queue=mail 0193a6c1-…', 'faster where many queues are in use'],
      ["onqueue cancel --reason='wrong address' 0193a6c1-…", 'the job, the cancelled hook and the log line say why'],
      ['onqueue cancel --connection=redis --json 0193a6c1-…', 'for a program'],
    ],
  })
    .argument('<ids...>', 'ids, as dispatch gives them and log lines show them')
    .option('--queue <name>', 'where they are (default: all queues of the connection are looked at)')
    .option('--reason <text>', 'why, in one line, for those who hear of it');
  return addJsonOption(addProjectOptions(addConnectionOption(command))).action(
    (ids: readonly string[], flags: CancelFlags) => cancel(session, ids, flags),
  );
}

async function cancel(session: Session, ids: readonly string[], flags: CancelFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const connection = manager.connection(flags.connection);
  noteMemory(session, manager, flags.connection);
  const results: { id: string; result: CancelResult }[] = [];
  for (const id of new Set(ids)) {
    const result = await connection.cancel(id, flags);
    results.push({ id, result });
    if (result === 'unknown') {
      const where = [`on ${connection.name}`, ...(flags.queue === undefined ? [] : [`queue ${flags.queue}`])];
      output.note(`There is no job '${id}' ${where.join(', ')}: it has ended, or was never there.`);
      session.exitCode = ExitCode.error;
    } else if (flags.json !== true) output.line(`${id}  ${result}: ${MEANING[result]}`);
  }
  if (flags.json === true) output.json(results);
}
