/**
 * Sends jobs: one, by its own push or by the driver of its connection; or many in pages, and then reports which are in if one fails,
 * because those would run twice if sent again.
 */
import type { Application } from '../connections/application';
import type { InstanceChoice } from '../job/choices';
import { endOfTurn, type Seconds } from '../base/clock';
import { withConsequence, OnqueueError } from '../base/onqueue-error';
import type { Connection, Pushed } from '../connections/contract';
import { entriesFor, pushEvent, type TimedTarget } from '../connections/entries';
import { CapabilityError, unknownTransaction, QueueUnavailableError } from '../connections/errors';
import type { DispatchResult } from '../job/pending';
import { definitionOfJob } from '../job/instance';
import { pushesItselfInChain, BulkInterruptedError } from './errors';
import type { EncodedJob } from './job-encoder';
import type { QueueConnection } from './queue-connection';
import type { Keep } from './transaction';
import { MOST_JOBS, pageBytes, pagesOf } from '../base/collections';
import type { NewBatch } from '../connections/batch-store';
import { notAJob } from '../job/errors';

/** The receiver of jobs. */
export type Target = Pick<Connection, 'push'> &
  Partial<Pick<Connection, 'driver' | 'atOnce' | 'keys' | 'lanes'>> &
  TimedTarget;

/** A job with its own push, which returns its id or an empty text. */
interface OwnPush {
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  readonly push: () => Promise<string>;
  /** It waits for an iterable that may be slow, or never end: nobody may wait for it. */
  readonly isLasting?: boolean | undefined;
  /** Called in place of `push` if its transaction was rolled back. */
  readonly drop?: (() => void) | undefined;
}

export type Parcel = EncodedJob | OwnPush;

/**
 * A job that queues itself: its method `queue()` is called instead of the push.
 *
 * It may return the id of what it pushed; without one, the dispatch resolves to an empty text. Within `using(transaction)` the
 * connection is like that of `Queue.connection().using()`: it can only push.
 */
interface PushesItself {
  queue(
    connection: QueueConnection,
    route: { readonly queue: string; readonly delay: Seconds | Date },
  ): Promise<string | void> | string | void;
}

/** Called with the outcome of a dispatch that was not simply queued. */
export type Tell = (became: Omit<DispatchResult, 'id'>) => void;

/** Where a job goes instead of directly to its connection. Empty: directly. */
export interface Detour {
  /** From an open `Queue.transaction()`: takes the job. */
  readonly keep?: Keep | undefined;
  /** `after`: the dispatch said so. Absent: `@Job()` or the connection decides. */
  readonly commit?: 'after' | undefined;
  /** A transaction that the user has begun in the connection's database. */
  readonly within?: { readonly transaction: unknown } | undefined;
}

/**
 * Resolves to the job's id, or to the id of the job that holds its unique key; an empty text if it pushes itself.
 *
 * @throws any error of the job, or what its driver throws
 */
export function sendJob(
  manager: Application,
  job: object,
  choice: InstanceChoice,
  detour: Detour,
  tell?: Tell,
): Promise<string> | string {
  const { within } = detour;
  const parcel = parcelOf(manager, job, choice, within);
  try {
    const keep = detour.keep && keepOf(manager, job, parcel.connection, detour);
    if (keep !== undefined) {
      keep(parcel, manager);
      tell?.({ status: 'kept' });
      return 'push' in parcel ? '' : parcel.id;
    }
    if ('push' in parcel) return parcel.push();
    const driver = manager.driver(parcel.connection);
    return send(within === undefined ? driver : targetWithin(driver, within.transaction), parcel, tell);
  } catch (error) {
    endUnsent([parcel], error);
    throw error;
  }
}

/** Tells observers of jobs that are not sent after all; those that were sent have been told before. */
export function endUnsent(parcels: Iterable<Parcel>, error: unknown): void {
  for (const parcel of parcels) if (!isOwn(parcel)) parcel.observed?.end(error);
}

/** The transaction that keeps the job until its commit, if any. Strongest first: the dispatch, `@Job()`, the connection. */
export function keepOf(
  manager: Application,
  job: object | undefined,
  connection: string,
  { keep, commit }: Detour,
): Keep | undefined {
  if (keep === undefined || commit === 'after') return keep;
  const afterCommit = job && definitionOfJob(job, manager.registry).options.afterCommit;
  return (afterCommit ?? manager.settings(connection).afterCommit ?? false) ? keep : undefined;
}

/** The job as it will be sent. @throws any error of the job or its destination; nothing was called yet */
export function parcelOf(manager: Application, job: object, choice: InstanceChoice, within?: Detour['within']): Parcel {
  if (!pushesItself(job)) {
    const encoded = manager.encoder.encode(job, choice);
    if (encoded.entry.ties !== undefined) checkTies([encoded], () => manager.driver(encoded.connection));
    return encoded;
  }
  if (choice.chain !== undefined) throw pushesItselfInChain(job.constructor.name);
  return ownPush(manager, job, choice, within);
}

// An own property of that name is a mistake, which encoding explains.
export function pushesItself(job: object): job is PushesItself {
  if (typeof job !== 'object' || job === null) return false; // such as a class, whose static queue() has nothing to do with us
  return 'queue' in job && typeof job.queue === 'function' && !Object.hasOwn(job, 'queue');
}

function ownPush(manager: Application, job: PushesItself, choice: InstanceChoice, within?: Detour['within']): OwnPush {
  const { name } = definitionOfJob(job, manager.registry);
  const route = manager.encoder.route(job, choice);
  const connection = manager.connection(route.connection);
  // It has all the methods that push.
  const target = within === undefined ? connection : (connection.using(within.transaction) as QueueConnection);
  const { queue, dueAt } = route;
  const delay = dueAt === undefined ? route.delay : new Date(dueAt);
  return {
    name,
    connection: route.connection,
    queue,
    push: async () => (await job.queue(target, { queue, delay })) ?? '',
  };
}

export function isOwn(parcel: Parcel): parcel is OwnPush {
  return 'push' in parcel;
}

/** What `run` throws ends these jobs, which are then not sent. */
export function orEndUnsent<Result>(parcels: readonly Parcel[], run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    endUnsent(parcels, error);
    throw error;
  }
}

/** @throws CapabilityError the store could not handle its unique or debounce key, or its lane; then none of the jobs is sent */
export function checkTies(jobs: readonly EncodedJob[], targetOf: () => Target): void {
  if (jobs.every(({ entry }) => entry.ties === undefined)) return;
  orEndUnsent(jobs, () => checkTiesFor(targetOf(), jobs));
}

function checkTiesFor(target: Target, jobs: readonly EncodedJob[]): void {
  // A connection that keeps no jobs has none that could hold a key.
  if (target.capabilities?.reserve !== true) return;
  for (const { name, connection, entry } of jobs) {
    const { lane, ...others } = entry.ties ?? {};
    const isTied = Object.values(others).some((tie) => tie !== undefined);
    const lacking =
      isTied && target.keys === undefined ? 'keys' : lane && target.lanes === undefined ? 'lanes' : undefined;
    if (lacking !== undefined) throw new CapabilityError(connection, target.driver ?? '', lacking, name);
  }
}

/**
 * Resolves to the job's id, or to the id of the job that holds its unique key.
 *
 * @throws QueueUnavailableError, which names the job, and anything else the driver throws
 */
export async function send(target: Target, job: EncodedJob, tell?: Tell): Promise<string> {
  const { hooks, observed } = job;
  try {
    if (hooks !== undefined) await hooks.emit('queueing', pushEvent(job));
    // Nearly always nothing in the job depends on a clock.
    const isTimed = job.entry.dueAt !== undefined || job.retryWithin !== undefined;
    const pushed = await target.push(job.queue, isTimed ? await entriesFor(target, [job]) : [job.entry]);
    const result = pushed?.[0];
    observed?.end();
    if (hooks !== undefined) await tellPushed(job, result);
    if (typeof result !== 'object') return job.id;
    tell?.('duplicate' in result ? { status: 'duplicate' } : { status: 'replaced', ...result });
    return idAfter(job, result);
  } catch (error) {
    observed?.end(runsJobs(target) ? undefined : error);
    throw runsJobs(target) ? error : withConsequence(error, `${job.name} was not queued`);
  }
}

/** Whether jobs run within their push. */
export function runsJobs({ driver }: Target): boolean {
  return driver === 'sync';
}

/** Pushes within the user's transaction. @throws CapabilityError, E_UNKNOWN_TRANSACTION */
export function targetWithin(driver: Connection, transaction: unknown): Target {
  if (driver.within === undefined) throw new CapabilityError(driver.name, driver.driver, 'transactions');
  const within = driver.within(transaction);
  if (within === undefined) throw unknownTransaction(driver.name, transaction);
  const { driver: name, capabilities, keys, lanes, now } = driver;
  return {
    push: (queue, entries, begins) => within.push(queue, entries, begins),
    driver: name,
    capabilities,
    keys,
    lanes,
    now: now && (() => now.call(driver)),
  };
}

/** The job's own id, or that of the job that holds its unique key. */
export function idAfter({ id }: EncodedJob, result: Pushed | undefined): string {
  return typeof result === 'object' && 'duplicate' in result ? result.duplicate : id;
}

/** Tells the hooks the outcome of a push. */
export function tellPushed(job: EncodedJob, result: Pushed | undefined): Promise<void> | undefined {
  return typeof result === 'object' ? tellSkipped(job, result) : job.hooks?.emit('queued', pushEvent(job));
}

async function tellSkipped(job: EncodedJob, result: Exclude<Pushed, 'queued'>): Promise<void> {
  const { hooks, id, name, connection, queue } = job;
  const event = { connectionName: connection, queue, name };
  if ('duplicate' in result) {
    await hooks?.emit('skipped', { ...event, id, of: result.duplicate, reason: 'duplicate' });
    return;
  }
  await hooks?.emit('queued', pushEvent(job));
  await hooks?.emit('skipped', { ...event, id: result.replaced, of: id, reason: 'replaced' });
}

/** A push that failed. */
export interface Refusal {
  readonly error: unknown;
  /** `job`: it ran within its push and failed; sent again, it would run twice. `own`: the job's own `queue()` failed. */
  readonly of: 'store' | 'job' | 'own';
}

/** At some 10 µs each, about a millisecond of work. */
export const ENCODED_AT_ONCE = 100;

/**
 * Encodes many jobs, and yields to the event loop in between.
 *
 * @throws E_NOT_A_JOB `jobs` is not a list; what `encode` throws, with the job's position
 */
export async function encodeAll<Encoded extends Parcel>(
  jobs: Iterable<object>,
  encode: (job: object) => Encoded,
): Promise<readonly Encoded[]> {
  if (typeof (jobs as Partial<Iterable<object>> | undefined)?.[Symbol.iterator] !== 'function')
    throw notAJob(jobs, 'a list of jobs');
  const encoded: Encoded[] = [];
  for (const job of jobs) {
    try {
      encoded.push(encode(job));
    } catch (error) {
      const place = encoded.length + 1;
      endUnsent(encoded, error);
      throw positioned(error, Array.isArray(jobs) ? `job ${place} of ${jobs.length}` : `job ${place}`);
    }
    if (encoded.length % ENCODED_AT_ONCE === 0) await endOfTurn();
  }
  return encoded;
}

/** Adds to one of our own errors which of many jobs it is about. */
export function positioned(error: unknown, position: string): unknown {
  if (!(error instanceof OnqueueError)) return error;
  const { message } = error;
  error.message = `${position}: ${message}`;
  // Node.js prints the stack, which quotes the original message.
  error.stack = error.stack?.replace(message, () => error.message) ?? error.message;
  return error;
}

/**
 * Sends the jobs, and returns their ids.
 *
 * @throws BulkInterruptedError if one failed and others are in; if none is in, the error itself
 */
export async function sendBulk(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
): Promise<string[]> {
  const inside: (readonly Parcel[])[] = [];
  /** Ids that are not the job's own. Noting all of them would cost as much as creating them. */
  const told = new Map<Parcel, string>();
  const idOf = (parcel: Parcel): string => told.get(parcel) ?? (isOwn(parcel) ? '' : parcel.id);
  const interrupt = ({ error, of }: Refusal, [{ name, queue }]: readonly [Parcel, ...Parcel[]]): never => {
    const sent = new Set(inside.flat());
    const total = parcels.length;
    const left = total - sent.size;
    const cause = withConsequence(error, `${left} of ${total} jobs ${left === 1 ? 'was' : 'were'} not queued`);
    if (sent.size === 0) throw cause;
    const unsent = Array.from(parcels.keys()).filter((place) => !sent.has(parcels[place]!));
    const what = {
      store: `the queue '${queue}' took no more`,
      job: `${name} ran and failed`,
      own: `the queue() of ${name} failed`,
    };
    const known = parcels.filter((parcel) => sent.has(parcel)).map(idOf);
    const ids = known.filter((id) => id !== '');
    throw new BulkInterruptedError({ ids, unsent, total, queue }, what[of], { cause });
  };
  const sent = (page: readonly Parcel[], ids?: readonly string[]): void => {
    inside.push(page);
    ids?.forEach((id, place) => told.set(page[place]!, id));
  };
  try {
    await sendAll(parcels, targetOf, sent, interrupt);
  } catch (error) {
    endUnsent(parcels, error);
    throw error;
  }
  return parcels.map(idOf);
}

/** A page on its way. */
interface Sending {
  readonly page: Page;
  readonly ended: Promise<Ended>;
}

interface Ended {
  /** What became of each job. Undefined if all are in. */
  readonly pushed?: readonly Pushed[] | void;
  /** `taken`: the jobs that are in nevertheless. */
  readonly refusal?: Refusal & { readonly taken: readonly EncodedJob[] };
}

/**
 * Sends many jobs, page by page, each queue's in order, then those with their own push. If a connection is unavailable, continues
 * with the others.
 *
 * @param sent called with jobs that are in or whose keys are held; with the ids, or those of the key holders, unless all are the
 * jobs' own
 * @param refused called for each page that is not in, or not completely; if it throws, the sending ends
 */
export async function sendAll(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
  sent: (page: readonly Parcel[], ids?: readonly string[]) => void,
  refused: (refusal: Refusal, page: readonly [Parcel, ...Parcel[]]) => void,
): Promise<void> {
  const away = new Set<string>();
  for (const group of groups(parcels.filter((parcel): parcel is EncodedJob => !isOwn(parcel)))) {
    const { connection } = group[0];
    const target = (): Target => targetOf(connection);
    const { jobs, atOnce } = mostOf(target);
    const underWay: Sending[] = [];
    const refusals: (readonly [Refusal, Page])[] = [];
    // If a page was refused, the pages already on their way are awaited before anybody is told: they may be in.
    const hear = async (most: number): Promise<void> => {
      while (underWay.length > (refusals.length > 0 ? 0 : most)) {
        const { page, ended } = underWay.shift()!;
        const { pushed, refusal } = await ended;
        if (pushed)
          sent(
            page,
            page.map((job, place) => idAfter(job, pushed[place])),
          );
        else sent(refusal?.taken ?? page);
        if (refusal !== undefined) refusals.push([refusal, page]);
      }
      for (const [refusal, page] of refusals.splice(0)) {
        if (refusal.of === 'store' && refusal.error instanceof QueueUnavailableError) away.add(connection);
        refused(refusal, page);
      }
    };
    // Each page has at least one job.
    for (const page of pagesOf(group, bytesOf, jobs) as Iterable<Page>) {
      if (away.has(connection)) break;
      underWay.push(await push(target, page));
      // Pages that are sent in one turn are written together.
      if (underWay.length < atOnce) continue;
      await hear(atOnce - 1);
      await endOfTurn();
    }
    await hear(0);
  }
  for (const own of parcels.filter(isOwn)) {
    try {
      sent([own], [await own.push()]);
    } catch (error) {
      refused({ error, of: 'own' }, [own]);
    }
  }
}

/** Resolves when the page is on its way. @param begins the batch that it begins */
export async function push(targetOf: () => Target, page: Page, begins?: NewBatch): Promise<Sending> {
  let of: Refusal['of'] = 'store';
  const refusal = (error: unknown): Ended => {
    const taken = of === 'job' ? page : takenOf(page, error);
    for (const job of page) job.observed?.end(taken.includes(job) ? undefined : error);
    return { refusal: { error, taken, of } };
  };
  try {
    const target = targetOf();
    if (runsJobs(target)) of = 'job';
    for (const job of page) if (job.hooks !== undefined) await job.hooks.emit('queueing', pushEvent(job));
    const pushing = target.push(page[0].queue, await entriesFor(target, page), begins);
    return { page, ended: pushing.then((pushed) => told(page, pushed)).catch(refusal) };
  } catch (error) {
    return { page, ended: Promise.resolve(refusal(error)) };
  }
}

async function told(page: Page, pushed: readonly Pushed[] | void): Promise<Ended> {
  for (const { observed } of page) observed?.end();
  for (let place = 0; place < page.length; place += 1) {
    const hearing = tellPushed(page[place]!, pushed?.[place]);
    if (hearing !== undefined) await hearing;
  }
  return { pushed };
}

/**
 * The jobs that a driver took of a page that it refused in part: it names the refused ones. Sent again, the others would run
 * twice.
 */
function takenOf(page: readonly EncodedJob[], error: unknown): readonly EncodedJob[] {
  const refused: unknown = error instanceof OnqueueError ? (error.facts as { readonly refused?: unknown }).refused : [];
  return Array.isArray(refused) && refused.length > 0 ? page.filter((_, place) => !refused.includes(place)) : [];
}

/**
 * How many jobs travel in a page, and how many pages at once. Jobs that run within their push travel alone: one that has run must
 * not be reported as not sent.
 */
function mostOf(targetOf: () => Target): { readonly jobs: number; readonly atOnce: number } {
  try {
    const target = targetOf();
    return { jobs: runsJobs(target) ? 1 : MOST_JOBS, atOnce: target.atOnce?.pushes ?? 1 };
  } catch {
    // The push will report the error.
    return { jobs: MOST_JOBS, atOnce: 1 };
  }
}

/** Jobs of one queue, for one call. */
export type Page = readonly [EncodedJob, ...EncodedJob[]];

export const bytesOf = ({ entry }: EncodedJob): number => pageBytes(entry.payload);

/** The jobs of each queue, in order. */
export function groups(jobs: Iterable<EncodedJob>): Iterable<Page> {
  const groups = new Map<string, [EncodedJob, ...EncodedJob[]]>();
  let group: [EncodedJob, ...EncodedJob[]] | undefined;
  for (const job of jobs) {
    // The next job usually goes where the last one went.
    if (group?.[0].connection !== job.connection || group[0].queue !== job.queue) {
      const target = JSON.stringify([job.connection, job.queue]);
      group = groups.get(target);
      if (group === undefined) {
        groups.set(target, (group = [job]));
        continue;
      }
    }
    group.push(job);
  }
  return groups.values();
}
