/** `jobs`: the jobs of a queue that wait, run or have failed. */
import { oneLine } from '../../base/plain-text';
import type { Milliseconds } from '../../base/clock';
import { JOB_STATES } from '../../operations/job-page';
import type { JobState, ListedJob } from '../../operations/listed-job';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { type Call, defineCommand } from '../command';
import { CONNECTION, type Given, LIMIT, LISTED, type ProjectFlags, quoted, text, word } from '../flags';
import { agoText, momentText } from '../moments';
import { openConnection } from '../named-queues';
import type { Cell } from '../table';

/** The most that one call returns. */
const PAGE = 100;
/** Columns that a name needs. */
const READABLE_NAME = 12;

const FLAGS = {
  state: word<JobState>('<state>', JOB_STATES, 'ready, delayed, running or failed (default: ready)'),
  limit: LIMIT,
  after: text('<place>', 'continue after this place, as named by the previous list'),
  connection: CONNECTION,
};

type JobsCall = Call<Given<typeof FLAGS> & ProjectFlags>;

interface Found {
  readonly jobs: readonly ListedJob[];
  readonly next: string | undefined;
}

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
      output.note(`There are more: --after=${quoted(found.next)} shows the next ones, a higher --limit more at once.`);
  },
});

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
