/** Sends one job: by its own push, if it has one, otherwise to the driver of its connection. */
import type { Seconds } from '../base/clock';
import { withConsequence } from '../base/define-error';
import type { Connection, Pushed } from '../connections/contract';
import { entriesFor, pushEvent, type TimedTarget } from '../connections/entries';
import { CapabilityError, unknownTransaction } from '../connections/errors';
import type { InstanceChoice } from '../job/beside-instance';
import type { DispatchResult } from '../job/dispatcher';
import { waitsForCommit } from '../job/resolve-options';
import { pushesItselfInChain } from './errors';
import type { DispatchApplication } from './dispatch-application';
import type { EncodedJob } from './encoded-job';
import type { QueueConnection } from './queue-connection';
import type { Keep } from './transaction/transaction';

/** The receiver of jobs. */
export type Target = Pick<Connection, 'push'> & Partial<Pick<Connection, 'driver' | 'pushesAtOnce'>> & TimedTarget;

/** A job with its own push, which returns its id or an empty text. */
interface OwnPush {
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  readonly push: () => Promise<string>;
  /** It waits for an iterable that may be slow, or never end: nobody may wait for it. */
  readonly isLasting?: boolean | undefined;
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
type Tell = (became: Omit<DispatchResult, 'id'>) => void;

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
  manager: DispatchApplication,
  job: object,
  choice: InstanceChoice,
  detour: Detour,
  tell?: Tell,
): Promise<string> | string {
  const { within } = detour;
  const parcel = parcelOf(manager, job, choice, within);
  const keep = detour.keep && keepOf(manager, job, parcel.connection, detour);
  if (keep !== undefined) {
    keep(parcel, manager);
    tell?.({ status: 'kept' });
    return isOwn(parcel) ? '' : parcel.id;
  }
  if (isOwn(parcel)) return parcel.push();
  const driver = manager.driver(parcel.connection);
  return send(within === undefined ? driver : targetWithin(driver, within.transaction), parcel, tell);
}

/** The transaction that keeps the job until its commit, if any. Strongest first: the dispatch, `@Job()`, the connection. */
export function keepOf(
  manager: DispatchApplication,
  job: object | undefined,
  connection: string,
  { keep, commit }: Detour,
): Keep | undefined {
  if (keep === undefined || commit === 'after') return keep;
  const afterCommit = job && waitsForCommit(manager.encoder.definitionOf(job));
  return (afterCommit ?? manager.settings(connection).afterCommit ?? false) ? keep : undefined;
}

/** The job as it will be sent. @throws any error of the job or its destination; nothing was called yet */
export function parcelOf(
  manager: DispatchApplication,
  job: object,
  choice: InstanceChoice,
  within?: Detour['within'],
): Parcel {
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

function ownPush(
  manager: DispatchApplication,
  job: PushesItself,
  choice: InstanceChoice,
  within?: Detour['within'],
): OwnPush {
  const { name } = manager.encoder.definitionOf(job);
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

/** @throws CapabilityError the store could not handle its unique or debounce key */
export function checkTies(jobs: readonly EncodedJob[], targetOf: () => Target): void {
  const tied = jobs.find(({ entry }) => entry.ties !== undefined);
  if (tied === undefined) return;
  const { driver = '', capabilities } = targetOf();
  // A connection that keeps no jobs has none that could hold a key.
  if (capabilities?.reserve === true && capabilities.ties !== true)
    throw new CapabilityError(tied.connection, driver, 'ties');
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
    if (typeof result === 'object')
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
  const { driver: name, capabilities, now } = driver;
  return {
    push: (queue, entries, begins) => within.push(queue, entries, begins),
    driver: name,
    capabilities,
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
