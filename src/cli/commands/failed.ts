/** `failed` and `retry`: the failed jobs, and how the commands for them choose and find jobs. */
import { foldedStack } from '../../base/folded-stack';
import { errorGroups } from '../../application/failed/error-groups';
import { ambiguousFailedJob, failedJobsOutOfReach } from '../../application/failed/errors';
import type { FailedFilter, FailedJob } from '../../application/failed/failed-filter';
import type { QueueManager } from '../../application/queue-manager';
import type { ChainedJob } from '../../job/job-context';
import { maskedPayload } from '../../operations/listed-job';
import { type Call, defineCommand } from '../command';
import { errorText, invalidOption } from '../errors';
import { type Flag, type Given, LIMIT, LISTED, on, type ProjectFlags, reveal, text, time } from '../flags';
import { defineList } from '../list';
import { openKeeping } from '../named-queues';
import { type Cell, counted, momentText } from '../output';
import { fromLeft, showingProgress } from '../progress';

export const FILTER_FLAGS = {
  queue: text('<name>', 'only jobs of this queue'),
  connection: text('<name>', 'only jobs that came from this connection'),
  name: text('<job>', 'only jobs of this name'),
  batch: text('<id>', 'only jobs of this batch'),
  error: text('<text>', 'only jobs with this text in their error'),
  olderThan: time('only jobs that failed longer ago than this'),
};

export type FailedFlags = Given<typeof FILTER_FLAGS> & ProjectFlags;

export const DRY_RUN = on('only list the jobs and their number; change nothing');

/** How many of the newest failed jobs are grouped. */
const GROUPED = 1000;

export const failed = defineList({
  name: 'failed',
  summary: 'list the failed jobs, newest first',
  description:
    'With an id: shows everything about that job, including its payload and its error with the stack. The exit code is 0 even if there are failed jobs; it is 1 if a connection could not be reached, and the others are listed.',
  examples: [
    ['onqueue failed', 'the newest'],
    ['onqueue failed --queue=mail --limit=10', 'from one queue'],
    ['onqueue failed --error=ECONNREFUSED --older-than=1h', 'failures of an outage more than an hour ago'],
    ['onqueue failed --groups --watch', 'what goes wrong, the most frequent first, redrawn every two seconds'],
    ['onqueue failed --batch=0193a6c1-…', 'of one batch'],
    ['onqueue failed 0193a6c1-…', 'one job, with its stack'],
    ["onqueue failed --json | jq -r '.items[].id'", 'for a program'],
  ],
  words: ['[id]', 'show everything about this job'],
  flags: {
    ...FILTER_FLAGS,
    limit: LIMIT,
    groups: on(`a line for all jobs of a class with the same error, among the newest ${GROUPED}`),
    reveal: reveal(),
  },
  run(call) {
    const [id] = call.words;
    const { limit, groups = false, reveal: isRevealed = false } = call.flags;
    if (id !== undefined && groups) call.refuse('give either an id or --groups, not both.');
    if (id !== undefined) checkPlace(call);
    else if (isRevealed) call.refuse('give --reveal together with the id of one job.');
    if (groups) return listGroups(call, limit);
    return id === undefined ? list(call, limit) : show(call, id, isRevealed);
  },
});

async function list(call: Call<FailedFlags>, limit = LISTED): Promise<void> {
  const found = await newest(call, limit);
  const jobs = found.slice(0, limit);
  call.output.result(jobs);
  if (jobs.length > 0) listFailed(call, jobs);
  else tellNone(call);
  if (found.length > limit) call.output.note(`There are more than these ${limit}; raise --limit to see them.`);
}

/** Those that the flags choose, and one more, to know whether there are more. */
async function newest(call: Call<FailedFlags>, most: number): Promise<readonly FailedJob[]> {
  return chosenJobs(call, await openKeeping(call), filterOf(call.flags), { offset: 0, limit: most + 1 });
}

function tellNone({ output, flags }: Call<FailedFlags>): void {
  output.line(filterOf(flags) === undefined ? 'No failed jobs.' : 'No failed job matches.');
}

/** How many links of a chain are named. */
const MOST_NAMED = 10;

/** Why jobs failed: each line is a class and what its errors have in common. @param limit groups that are listed */
async function listGroups(call: Call<FailedFlags>, limit = LISTED): Promise<void> {
  const found = await newest(call, GROUPED);
  const groups = errorGroups(found.slice(0, GROUPED));
  const { output, session } = call;
  output.result(
    groups.slice(0, limit).map(({ name, error, count, queues, newest, oldest }) => ({
      ...{ name, error, count, queues, newest: newest.failedAt, oldest: oldest.failedAt, id: newest.id },
    })),
  );
  if (groups.length === 0) tellNone(call);
  const now = session.surroundings.clock.now();
  const rows = groups.slice(0, limit).map(({ name, count, queues, newest }) => {
    const [queue = '', ...others] = queues;
    const where = others.length === 0 ? queue : `${queue} and ${others.length} more`;
    return [count, name, where, output.past(newest.failedAt, now), newest.exception.split('\n', 1)[0]];
  });
  if (rows.length > 0) output.list(['jobs', 'class', 'queue', 'last', 'error'], rows);
  if (found.length > GROUPED)
    output.note(`There are more failed jobs than these ${GROUPED}: choose with --queue or --name.`);
  if (groups.length > limit) output.note(`There are more groups than these ${limit}; raise --limit to see them.`);
}

async function show(call: Call<FailedFlags>, id: string, isRevealed: boolean): Promise<void> {
  const manager = await openKeeping(call);
  const found = await manager.failed.get(id, call.flags);
  if (found === undefined) return call.fail(`There is no failed job '${id}'. onqueue failed lists them.`);
  const job = isRevealed ? await revealed(manager, found) : masked(manager, found);
  const { name, connection, queue, attempts, failedAt, payload, exception, chain, cause, batch } = job;
  call.output.result(job);
  call.output.facts([
    ['Job', name],
    ['Id', id],
    ['From', `${connection}, queue ${queue}`],
    ['Failed at', `${momentText(failedAt)}, after ${counted(attempts, 'attempt')}`],
    ['Batch', batch],
    ['Cause', cause && `${cause.name} ${cause.id} failed: ${cause.message}`],
    ['Chain', chain.length > 0 ? followersText(chain) : undefined],
  ]);
  call.output.line(`Payload     ${payload}\n\n${foldedStack(exception)}`);
}

/** As it is shown: people see it, and what it is copied into. */
function masked({ registry }: QueueManager, job: FailedJob): FailedJob {
  return { ...job, payload: maskedPayload(job.payload, registry.find(job.name)?.options.sensitive) };
}

async function revealed(manager: QueueManager, job: FailedJob): Promise<FailedJob> {
  const { id, connection, queue } = job;
  const { payload } = await manager.connection(connection).find(id, { queue, reveal: true });
  return { ...job, payload: typeof payload === 'string' ? payload : JSON.stringify(payload) };
}

function followersText(chain: readonly ChainedJob[]): string {
  const names = chain.slice(0, MOST_NAMED).map(({ name }) => name);
  const more = chain.length > MOST_NAMED ? ` and ${chain.length - MOST_NAMED} more` : '';
  const follow = chain.length === 1 ? 'follows' : 'follow';
  return `${counted(chain.length, 'job')} ${follow} it: ${names.join(', ')}${more}`;
}

function listFailed({ output, session, flags }: BatchCall, jobs: readonly FailedJob[]): void {
  // Omits columns whose cells are all equal.
  const from = columnIf(new Set(jobs.map((job) => job.connection)).size > 1);
  const within = columnIf(flags.batch === undefined && jobs.some((job) => job.batch !== undefined));
  const behind = columnIf(jobs.some(({ chain }) => chain.length > 0));
  const optional = [...within('batch'), ...behind('followed by')];
  const headings = ['id', 'job', ...from('connection'), 'queue', 'attempts', 'failed', ...optional, 'error'];
  const now = session.surroundings.clock.now();
  const rows = jobs.map((job) => {
    const { id, name, queue, attempts, failedAt, exception, chain } = job;
    const waiting = chain.length === 0 ? undefined : counted(chain.length, 'job');
    const more = [...within(job.batch), ...behind(waiting)];
    const [error] = exception.split('\n', 1);
    return [id, name, ...from(job.connection), queue, attempts, output.past(failedAt, now), ...more, error];
  });
  output.list(headings, rows);
}

/** If it chooses a batch, all listed jobs are in that, and the list need not name it. */
type BatchCall = Call<ProjectFlags & { readonly batch?: string | undefined }>;

const columnIf =
  (isShown: boolean) =>
  <Text extends Cell>(text: Text): Text[] =>
    isShown ? [text] : [];

const range: Flag<Places> = {
  value: '<places>',
  help: 'jobs at these places of the list, such as 1-5; with --queue, of the list of that queue',
  read(value, flag) {
    const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(value) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (from >= 1 && to >= from) return { offset: from - 1, limit: to - from + 1 };
    const remedy = 'Give places of the list that onqueue failed shows, such as 1-5; 1 is the newest.';
    throw invalidOption(flag, value, remedy);
  },
};

export const retry = defineCommand({
  name: 'retry',
  summary: 'send failed jobs back to their queues, with all their tries',
  examples: [
    ['onqueue retry 0193a6c1-…', 'one job'],
    ['onqueue retry 0193a6c1-… --queue=mail', 'one job, if its id failed on several queues'],
    ['onqueue retry all', 'all failed jobs'],
    ['onqueue retry --queue=mail --error=ECONNREFUSED', 'the failures of an outage'],
    ['onqueue retry --error=ECONNREFUSED --dry-run', 'only list the jobs and their number'],
    ['onqueue retry 0193a6c1-… --from-start', 'one job, with all the steps that it has done'],
    ['onqueue retry --range=1-5', 'the newest five, as listed by onqueue failed'],
  ],
  words: ['[ids...]', "ids, as listed by onqueue failed, or 'all'"],
  flags: {
    range,
    fromStart: on('forget the steps and cursors that the jobs have kept'),
    dryRun: DRY_RUN,
    ...FILTER_FLAGS,
  },
  async run(call) {
    const { flags, words } = call;
    const { range: places, fromStart } = flags;
    const isAll = words.includes('all');
    const ids = isAll ? [] : [...new Set(words)];
    if (places !== undefined && words.length > 0) call.refuse('give either ids or --range, not both.');
    if (!isAll && places === undefined) checkChoice(call, ids);
    const manager = await openKeeping(call);
    const { failed } = manager;
    const action: FailedAction = {
      done: 'retried',
      line: (count) => `Sent ${counted(count, 'failed job')} back to ${count === 1 ? 'its queue' : 'their queues'}.`,
      all: () =>
        places === undefined
          ? sweeping(call, manager, 'Retrying', () => failed.retry(filterOf(flags) ?? 'all', { fromStart }))
          : retryAt(call, manager, places),
      one: (id) => failed.retry(id, flags),
      unknown: (id) => `There is no failed job '${id}'; it may have been retried already.`,
    };
    await actOnFailed(call, ids, manager, action, places);
  },
});

async function retryAt(
  call: Call<FailedFlags & { readonly fromStart?: boolean | undefined }>,
  { failed }: QueueManager,
  places: Places,
): Promise<number> {
  const { fromStart } = call.flags;
  const jobs = await failed.list({ ...filterOf(call.flags), ...places });
  let retried = 0;
  const retryThem = async (): Promise<void> => {
    for (const { id, queue, connection } of jobs)
      if (await failed.retry(id, { queue, connection, fromStart })) retried += 1;
  };
  await showingProgress(call, 'Retrying', retryThem, async () => ({ done: retried, total: jobs.length }));
  return retried;
}

/** A section of the list. */
interface Places {
  readonly offset: number;
  readonly limit: number;
}

/** Undefined if no flag chooses, which means all. */
export function filterOf({ queue, connection, name, batch, error, olderThan }: FailedFlags): FailedFilter | undefined {
  const filter = { queue, connection, name, batch, error, olderThan };
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined;
}

/** Refuses a line that chooses nothing, and one that gives both ids and flags that choose. */
export function checkChoice(call: Call<FailedFlags>, ids: readonly string[]): void {
  if (ids.length > 0) checkPlace(call);
  else if (filterOf(call.flags) === undefined) {
    call.refuse(
      'choose jobs: by id, as listed by onqueue failed, or by flags such as --queue=mail or --error=ECONNREFUSED.',
    );
  }
}

/** With an id, flags may only say where the job failed. */
function checkPlace(call: Call<FailedFlags>): void {
  const { name, batch, error, olderThan } = call.flags;
  const isChosen = [name, batch, error, olderThan].some((value) => value !== undefined);
  if (isChosen) call.refuse('give either ids or flags that choose jobs, not both.');
}

/** The matching jobs, newest first. Names connections that cannot be reached. */
async function chosenJobs(
  call: Call,
  manager: QueueManager,
  filter: FailedFilter | undefined,
  places: Places,
): Promise<readonly FailedJob[]> {
  const unreachable = (name: string, { message }: Error): void =>
    call.fail(`The failed jobs of ${name} are missing here: ${message}`);
  const jobs = await manager.failed.list({ ...filter, ...places, unreachable });
  return jobs.map((job) => masked(manager, job));
}

/** What a command does with failed jobs. */
export interface FailedAction {
  /** The key in the JSON document, such as `retried`. */
  readonly done: string;
  /** The line for people, with the number of jobs. */
  line(count: number): string;
  /** Acts on all jobs that the flags choose. */
  all(): Promise<number>;
  /** Acts on one job. False if there is no such job. */
  one(id: string): Promise<boolean>;
  /** The message for an unknown id. */
  unknown(id: string): string;
}

/** Acts on the ids, or on all chosen jobs if there are none. An unknown id does not stop the others. `--dry-run` only lists. */
export async function actOnFailed(
  call: Call<FailedFlags & { readonly dryRun?: boolean | undefined }>,
  ids: readonly string[],
  manager: QueueManager,
  action: FailedAction,
  places?: Places,
): Promise<void> {
  const { flags, output } = call;
  if (flags.dryRun === true) {
    if (ids.length === 0) return tellChosen(call, manager, filterOf(flags), places);
    const { found: jobs, unknown } = await reach(call, ids, action, (id) => manager.failed.get(id, flags));
    const shown = jobs.map((job) => masked(manager, job));
    return tellJobs(call, shown, shown.length, unknown);
  }
  const { found, unknown } = await reach(call, ids, action, (id) => action.one(id));
  const count = ids.length === 0 ? await action.all() : found.length;
  output.result({ [action.done]: count, unknown }, action.line(count));
}

/** Lists the jobs that would be affected: all that match, or a section of them. */
export async function tellChosen(
  call: BatchCall,
  manager: QueueManager,
  filter: FailedFilter | undefined,
  places?: Places,
): Promise<void> {
  const jobs = await chosenJobs(call, manager, filter, places ?? { offset: 0, limit: LISTED });
  const isWhole = places !== undefined || jobs.length < LISTED;
  const count = isWhole ? jobs.length : await manager.failed.count(filter);
  tellJobs(call, jobs, count, []);
}

/** @param count all affected jobs, including those not listed @param unknown ids without a job */
function tellJobs(call: BatchCall, jobs: readonly FailedJob[], count: number, unknown: readonly string[]): void {
  const { output } = call;
  output.result({ dryRun: true, count, unknown, items: jobs });
  if (jobs.length > 0) listFailed(call, jobs);
  if (count > jobs.length && !output.isJson) output.note(`Only the first ${jobs.length} are listed.`);
  output.line(`Without --dry-run, ${counted(count, 'failed job')} would be affected.`);
}

/** What `look` finds for the ids. Says so for each id without a job. */
async function reach<Found>(
  call: Call,
  ids: readonly string[],
  action: FailedAction,
  look: (id: string) => Promise<Found | false | undefined>,
): Promise<{ readonly found: readonly Found[]; readonly unknown: readonly string[] }> {
  const found: Found[] = [];
  const unknown: string[] = [];
  for (const id of ids) {
    try {
      const job = await look(id);
      if (job !== undefined && job !== false) found.push(job);
      else {
        unknown.push(id);
        call.fail(action.unknown(id));
      }
    } catch (error) {
      // The next id may be on a connection that can be reached, and unique there.
      if (!(failedJobsOutOfReach.is(error) || ambiguousFailedJob.is(error))) throw error;
      unknown.push(id);
      call.fail('', errorText(error));
    }
  }
  return { found, unknown };
}

/** With more failed jobs than this, counting the matching ones would take too long. */
const MOST_COUNTED = 20_000;

/** Runs `work` on the jobs that the flags choose, and shows its progress. */
export function sweeping(
  call: Call<FailedFlags>,
  manager: QueueManager,
  doing: string,
  work: () => Promise<number>,
): Promise<number> {
  const { queue, ...others } = filterOf(call.flags) ?? {};
  const left = fromLeft(() => manager.failed.kept(queue));
  if (Object.values(others).every((value) => value === undefined)) return showingProgress(call, doing, work, left);
  let total: Promise<number> | undefined;
  return showingProgress(call, doing, work, async () => {
    // Jobs that left the store were processed by us, so the matching ones are counted only once.
    const { done, total: all = 0 } = await left();
    if (all > MOST_COUNTED) return { done };
    total ??= manager.failed.count({ queue, ...others });
    return { done, total: await total };
  });
}
