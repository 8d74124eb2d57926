/** `failed`: shows the jobs that are out of tries, or all of one of them. */
import type { Command } from 'commander';
import { manyLines } from '../../base/plain-text';
import type { FailedJob } from '../../application/failed/failed-jobs';
import { newCommand } from '../command';
import { counted } from '../counted';
import { ExitCode } from '../exit-codes';
import { openForFailed } from '../memory-remark';
import {
  addJsonOption,
  addProjectOptions,
  countOption,
  failedConnectionOption,
  type ProjectFlags,
  queueOption,
} from '../options';
import type { Session } from '../session';

interface FailedFlags extends ProjectFlags {
  readonly queue?: string | undefined;
  readonly connection?: string | undefined;
  readonly limit?: number | undefined;
}

const DEFAULT_LIMIT = 100;

export function failedCommand(session: Session): Command {
  const command = newCommand('failed', {
    summary: 'show the jobs that are out of tries, newest first',
    description:
      'With an id: all that is known of that one, its payload and its error with the stack. Failed jobs are no error: the exit code is 0. It is 1 when a connection could not be asked; those of the others are shown.',
    examples: [
      ['onqueue failed', 'the newest'],
      ['onqueue failed --queue=mail --limit=10', 'of one queue'],
      ['onqueue failed 0193a6c1-…', 'one of them, with its stack'],
      ["onqueue failed --json | jq -r '.[].id'", 'for a program'],
    ],
  })
    .argument('[id]', 'show this one alone, with all that is known of it')
    .addOption(queueOption('only of this queue'))
    .addOption(failedConnectionOption())
    .addOption(countOption('--limit <count>', `at most so many (default: ${DEFAULT_LIMIT})`, 1));
  return addJsonOption(addProjectOptions(command)).action((id: string | undefined, flags: FailedFlags) =>
    id === undefined ? list(session, flags) : show(session, id, flags),
  );
}

async function list(session: Session, flags: FailedFlags): Promise<void> {
  const { output } = session;
  const { limit = DEFAULT_LIMIT } = flags;
  // One more tells whether there are more.
  const unreachable = (connection: string, { message }: Error): void => {
    output.note(`The failed jobs of ${connection} are not among these: ${message}`);
    session.exitCode = ExitCode.error;
  };
  const { failed } = await openForFailed(session, flags);
  const found = await failed.list({ queue: flags.queue, connection: flags.connection, limit: limit + 1, unreachable });
  const jobs = found.slice(0, limit);
  if (flags.json === true) output.json(jobs);
  else if (jobs.length === 0) output.line('No failed jobs.');
  else {
    // Where one word would stand in every row, it says nothing.
    const several = new Set(jobs.map(({ connection }) => connection)).size > 1;
    const from = (text: string): string[] => (several ? [text] : []);
    const rows = jobs.map((job) => [
      job.id,
      job.name,
      ...from(job.connection),
      job.queue,
      job.attempts,
      momentText(job.failedAt),
      firstLine(job),
    ]);
    output.list(['id', 'job', ...from('connection'), 'queue', 'attempts', 'failed at', 'error'], rows);
  }
  if (found.length > limit) output.note(`There are more than these ${limit}; --limit shows them.`);
}

async function show(session: Session, id: string, flags: FailedFlags): Promise<void> {
  const { output } = session;
  const { failed } = await openForFailed(session, flags);
  const job = await failed.get(id, flags);
  if (job === undefined) {
    output.note(`There is no failed job '${id}'. onqueue failed lists those that there are.`);
    session.exitCode = ExitCode.error;
  } else if (flags.json === true) output.json(job);
  else {
    const { name, connection, queue, attempts, failedAt, payload, exception } = job;
    output.line(`Job         ${name}`);
    output.line(`Id          ${id}`);
    output.line(`From        ${connection}, queue ${queue}`);
    output.line(`Failed at   ${momentText(failedAt)}, after ${counted(attempts, 'attempt')}`);
    output.line(`Payload     ${manyLines(payload)}`);
    output.line('');
    output.line(manyLines(exception));
  }
}

function momentText(moment: Date): string {
  return moment
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

function firstLine({ exception }: FailedJob): string {
  return exception.split('\n', 1)[0] ?? '';
}
