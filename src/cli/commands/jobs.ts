/** `jobs`, `cancel`, `reschedule` and `promote`: the jobs of a queue, and how to keep them from running, or to move them. */
import type { Milliseconds } from '../../base/clock';
import { oneLine, shellWord } from '../../base/text';
import type { CancelResult, RescheduleResult } from '../../connections/contract';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { LISTED_STATES } from '../../operations/found-job';
import type { ListedJob, ListedState } from '../../operations/listed-job';
import { type Call, defineCommand } from '../command';
import { CONNECTION, type Given, LIMIT, LISTED, type ProjectFlags, text, word } from '../flags';
import { checkDelay, delayIn } from '../../job/duration';
import { defineList } from '../list';
import { openConnection } from '../named-queues';
import type { Cell } from '../output';

const FLAGS = {
  state: word<ListedState>('<state>', LISTED_STATES, 'ready, delayed, running, failed or completed (default: ready)'),
  limit: LIMIT,
  after: text('<place>', 'continue after this place, as named by the previous list'),
  connection: CONNECTION,
};

type JobsCall = Call<Given<typeof FLAGS> & ProjectFlags>;

export const jobs = defineList({
  name: 'jobs',
  summary: 'list the jobs of a queue that wait, run or have failed',
  description:
    'Waiting and running jobs are listed in the order in which they come up, failed and completed ones newest first. Nothing is changed. ' +
    'onqueue classes lists the registered job classes.',
  examples: [
    ['onqueue jobs', "ready jobs in the default connection's default queue"],
    ['onqueue jobs mail --state=delayed', 'delayed jobs of the queue mail'],
    [
      'onqueue jobs mail --state=completed',
      'the newest completed ones, which are kept for an hour unless `history` of the configuration says otherwise',
    ],
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
    output.result({ connection: connection.name, queue, state, items: found.jobs, next: found.next });
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
    const rows = found.map((job) => [id(job), name(job), job.attempts, output.past(job.failedAt, now), job.error]);
    return output.list(['id', 'job', 'attempts', 'failed', 'error'], rows);
  }
  const [heading, when] = {
    ready: ['sent', (job: ListedJob) => output.past(job.createdAt, now)],
    delayed: ['ready', (job: ListedJob) => output.ahead(job.at, now)],
    running: ['lease ends', (job: ListedJob) => output.ahead(job.at, now)],
    completed: ['completed', (job: ListedJob) => output.past(job.completedAt, now)],
  }[state] as [string, (job: ListedJob) => string | undefined];
  const rows = found.map((job) => [id(job), job.attempts, when(job), name(job)]);
  output.list(['id', 'attempts', heading, 'job'], rows, READABLE_NAME);
}

const QUEUE = text('<name>', 'their queue (default: searches all queues of the connection)');

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
    queue: QUEUE,
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

type MoveCall = Call<{ readonly queue?: string | undefined; readonly connection?: string | undefined }>;

const MOVE_FLAGS = { queue: QUEUE, connection: CONNECTION };

export const reschedule = defineCommand({
  name: 'reschedule',
  summary: 'let a delayed job become ready at another moment',
  description:
    'Also a job that waits for its next attempt. A moment in the past makes it ready at once. A job that is ready or runs ' +
    'stays as it is. The exit code is 1 if the id is unknown.',
  examples: [
    ['onqueue reschedule 0193a6c1-… 2h', 'in two hours from now'],
    ['onqueue reschedule 0193a6c1-… 2027-03-27T12:00', 'at this moment; UTC unless given, as in 12:00+01:00'],
    ['onqueue reschedule --queue=mail 0193a6c1-… 1d', 'faster if many queues are in use'],
    ['onqueue reschedule --json 0193a6c1-… 1d', 'for a program'],
  ],
  words: ['<id>', 'the id, as returned by dispatch and shown in log lines'],
  lastWord: ['<time>', 'when: a time from now, such as 30s or 2h, or a moment'],
  flags: MOVE_FLAGS,
  async run(call) {
    const [id = '', time = ''] = call.words;
    const delay = delayIn(time);
    checkDelay(delay, '<time>');
    const { connection } = await openConnection(call);
    const result = await connection.reschedule(id, delay, call.flags);
    tellMoved(call, connection, id, result);
    call.output.result({ id, result });
  },
});

export const promote = defineCommand({
  name: 'promote',
  summary: 'make delayed jobs ready now',
  description:
    'Also jobs that wait for their next attempt. They go to the tail of their queue. Jobs that are ready or run stay as they ' +
    'are. The exit code is 1 if an id is unknown; the others are made ready all the same.',
  examples: [
    ['onqueue promote 0193a6c1-…', 'a job of the default connection'],
    ['onqueue promote --queue=mail 0193a6c1-…', 'faster if many queues are in use'],
    ['onqueue promote --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: ['<ids...>', 'ids, as returned by dispatch and shown in log lines'],
  flags: MOVE_FLAGS,
  async run(call) {
    const { connection } = await openConnection(call);
    const results: { id: string; result: RescheduleResult }[] = [];
    for (const id of new Set(call.words)) {
      const result = await connection.promote(id, call.flags);
      results.push({ id, result });
      tellMoved(call, connection, id, result);
    }
    call.output.result(results);
  },
});

function tellMoved(call: MoveCall, { name }: QueueConnection, id: string, result: RescheduleResult): void {
  if (result !== 'unknown') return call.output.line(`${oneLine(id)}  ${result}: ${MOVED[result]}`);
  const { queue } = call.flags;
  const where = `on ${name}${queue === undefined ? '' : `, queue ${queue}`}`;
  call.fail(`No job '${id}' waits or runs ${where}: it has ended or failed (see retry), or never existed.`);
}

const MOVED: Readonly<Record<Exclude<RescheduleResult, 'unknown'>, string>> = {
  rescheduled: 'it waits until then',
  ready: 'it runs when the jobs before it have been taken',
  running: 'it is running, and was left alone',
};
