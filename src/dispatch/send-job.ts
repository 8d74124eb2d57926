/** Sends one job: by the push of its own, where it has one, otherwise to the driver of its connection. */
import type { Seconds } from '../base/clock';
import type { InstanceChoice } from '../job/chosen';
import { waitsForCommit } from '../job/resolve-options';
import type { QueueConnection } from './queue-connection';
import type { DispatchApplication } from './dispatch-application';
import { isOwn, type OwnPush, type Parcel, send } from './send';
import type { Keep } from './transaction/transaction';
import { targetWithin } from './within';

/**
 * A job's own way into its queue: as a method `queue()`, it is called in place of the push.
 *
 * It may give the id of what it pushed; without one, the dispatch gives an empty text. Within `using(transaction)` the
 * connection is what that of `Queue.connection().using()` is: it pushes, and no more.
 */
export interface PushesItself {
  queue(
    connection: QueueConnection,
    route: { readonly queue: string; readonly delay: Seconds | Date },
  ): Promise<string | void> | string | void;
}

/** What a job goes into in place of its connection; neither: into that, at once. */
export interface Detour {
  /** Of a `Queue.transaction()`: takes the job. */
  readonly keep?: Keep | undefined;
  /** `after`: the dispatch has said so; absent: `@Job()` or the connection may. */
  readonly commit?: 'after' | undefined;
  /** What the user has begun in the database of the connection. */
  readonly within?: { readonly transaction: unknown } | undefined;
}

/** Gives its id; an empty text where it pushes itself. @throws what is wrong with the job, or what its driver throws */
export function sendJob(
  manager: DispatchApplication,
  job: object,
  choice: InstanceChoice,
  detour: Detour = {},
): Promise<string> | string {
  const { within } = detour;
  const parcel = parcelOf(manager, job, choice, within);
  const keep = keepOf(manager, job, parcel.connection, detour);
  if (keep !== undefined) {
    keep(parcel, manager);
    return isOwn(parcel) ? '' : parcel.id;
  }
  if (isOwn(parcel)) return parcel.push();
  const driver = manager.driver(parcel.connection);
  return send(within === undefined ? driver : targetWithin(driver, within.transaction), parcel);
}

/** What is to keep a job for the commit. Strongest first: the dispatch, `@Job()`, the connection. */
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

/** The job as it is sent. @throws what is wrong with the job, or with where it goes; nothing was called yet */
export function parcelOf(
  manager: DispatchApplication,
  job: object,
  choice: InstanceChoice,
  within?: Detour['within'],
): Parcel {
  return pushesItself(job) ? ownPush(manager, job, choice, within) : manager.encoder.encode(job, choice);
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
  // What pushes, it has all of.
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

// An own property of that name is a mistake, which encoding explains.
function pushesItself(job: object): job is PushesItself {
  if (typeof job !== 'object' || job === null) return false; // a class, say: its static queue() is none of ours
  return !Object.hasOwn(job, 'queue') && 'queue' in job && typeof job.queue === 'function';
}
