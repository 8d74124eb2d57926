/** `jobs` and `cancel`: the jobs of a queue, and how to keep them from running. */
import type { Milliseconds } from '../../base/clock';
import { oneLine, shellWord } from '../../base/text';
import type { CancelResult } from '../../connections/contract';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { JOB_STATES } from '../../operations/found-job';
import type { JobState, ListedJob } from '../../operations/listed-job';
import { type Call, defineCommand } from '../command';
import { CONNECTION, type Given, LIMIT, LISTED, type ProjectFlags, text, word } from '../flags';
import { openConnection } from '../named-queues';
import { agoText, type Cell, momentText } from '../output';

const FLAGS = {
  state: word<JobState>('<state>', JOB_STATES, 'ready, delayed, running or failed (default: ready)'),
  limit: LIMIT,
  after: text('<place>', 'continue after this place, as named by the previous list'),
  connection: CONNECTION,
};

type JobsCall = Call<Given<typeof FLAGS> & ProjectFlags>;

export const jobs = defineCommand({
  name: 'jobs',
  summary: 'list the jobs of a queue that wait, run or have failed',
  description:
    'Waiting and running jobs are listed in the order in which they come up, failed ones newest first. Nothing is changed. ' +
    'onqueue classes lists the registered job classes.',
  examples: [
    ['onqueue jobs', "ready jobs in the default connection's default queue"],
    ['onqueue jobs mail --state=delayed', 'delayed jobs of the queue mail'],
    ['onqueue jobs mail --state=running --connection=redis', 'running jobs on another connection'],
    ["onqueue jobs mail --json | jq -r '.jobs[].id'", 'for a program'],
  ],
  words: ['[queue]', "the queue (default: the connection's default queue)"],
  flags: FLAGS,
  async run(call) {
    const { manager, connection } = await openConnection(call);
    const { flags, output, session, words } = call;
    const [queue = connection.defaultQueue] = words;
    const { state = 'ready' } = flags;
    const found = await list(call, connection, queue);
    output.result({ connection: connection.name, queue, state, ...found });
    if (found.jobs.length > 0) show(call, found.jobs, session.surroundings.clock.now());
    else output.line(`No job is ${state} in ${queue} of ${connection.name}.`);
    if (found.jobs.length === 0 && manager.connectionNames().includes(queue) && queue !== connection.defaultQueue)
      output.note(`If you meant the connection: onqueue jobs --connection=${queue}`);
    if (found.next !== undefined && !output.isJson)
      output.note(
        `There are more: --after=${shellWord(found.next)} shows the next ones, a higher --limit more at once.`,
      );
  },
});

interface Found {
  readonly jobs: readonly ListedJob[];
  readonly next: string | undefined;
}

/** The most that one call returns. */
const PAGE = 100;

async function list({ flags }: JobsCall, connection: QueueConnection, queue: string): Promise<Found> {
  const { state, limit = LISTED } = flags;
  const jobs: ListedJob[] = [];
  let next = flags.after;
  do {
    const page = await connection.jobs(queue, { state, after: next, limit: Math.min(limit - jobs.length, PAGE) });
    jobs.push(...page.jobs);
    next = page.next;
  } while (next !== undefined && jobs.length < limit);
  if (next === undefined) return { jobs, next };
  const behind = await connection.jobs(queue, { state, after: next, limit: 1 });
  return { jobs, next: behind.jobs.length === 0 ? undefined : next };
}

/** Columns that a name needs. */
const READABLE_NAME = 12;

function show({ flags, output }: JobsCall, found: readonly ListedJob[], now: Milliseconds): void {
  const { state = 'ready' } = flags;
  const id = (job: ListedJob): Cell => job.id ?? '(none yet)';
  const name = ({ name, waitsToRunAlone }: ListedJob): Cell =>
    waitsToRunAlone === true ? `${oneLine(name)} (waits to run alone)` : oneLine(name);
  if (state === 'failed') {
    const rows = found.map((job) => [id(job), name(job), job.attempts, moment(job.failedAt), job.error]);
    return output.list(['id', 'job', 'attempts', 'failed at', 'error'], rows);
  }
  const [heading, when] = {
    ready: ['sent', (job: ListedJob) => job.createdAt && agoText(job.createdAt, now)],
    delayed: ['ready at', (job: ListedJob) => moment(job.at)],
    running: ['leased until', (job: ListedJob) => moment(job.at)],
  }[state] as [string, (job: ListedJob) => string | undefined];
  const rows = found.map((job) => [id(job), job.attempts, when(job), name(job)]);
  output.list(['id', 'attempts', heading, 'job'], rows, READABLE_NAME);
}

const moment = (at: Date | undefined): string | undefined => at && momentText(at);

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'keep jobs from running, or tell running ones to stop',
  description:
    'A waiting job is removed. A running one is told to stop within a second: its signal aborts. Failed jobs ' +
    'stay (see forget). The exit code is 1 if an id is unknown; the others are cancelled all the same.',
  examples: [
    ['onqueue cancel 0193a6c1-…', 'a job of the default connection'],
    ['onqueue cancel --queue=mail 0193a6c1-…', 'faster if many queues are in use'],
    ["onqueue cancel --reason='wrong address' 0193a6c1-…", 'tell the job, the cancelled hook and the log why'],
    ['onqueue cancel --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: ['<ids...>', 'ids, as returned by dispatch and shown in log lines'],
  flags: {
    queue: text('<name>', 'their queue (default: searches all queues of the connection)'),
    reason: text('<text>', 'the reason, in one line'),
    connection: CONNECTION,
  },
  async run(call) {
    const { flags, output } = call;
    const { connection } = await openConnection(call);
    const results: { id: string; result: CancelResult }[] = [];
    for (const id of new Set(call.words)) {
      const result = await connection.cancel(id, flags);
      results.push({ id, result });
      if (result === 'unknown') {
        const where = [`on ${connection.name}`, ...(flags.queue === undefined ? [] : [`queue ${flags.queue}`])];
        call.fail(`There is no job '${id}' ${where.join(', ')}: it has ended, or never existed.`);
      } else output.line(`${oneLine(id)}  ${result}: ${MEANING[result]}`);
    }
    output.result(results);
  },
});

const MEANING: Readonly<Record<Exclude<CancelResult, 'unknown'>, string>> = {
  removed: 'it was waiting, and has been removed',
  signalled: 'it is running, and was told to stop',
  marked: 'it was not found, and will end as cancelled when a worker takes it',
};
