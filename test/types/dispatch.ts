/** What must and must not compile where a job is dispatched. Checked by the compiler; never run. */
import { Bus, dispatch } from '../../src/application/default-manager';
import type { DispatchResult, PendingDispatch } from '../../src/job/pending';
import { Job } from '../../src/job/job';
import { Queue } from '../../src/application/queue';
import {
  Base,
  Expression,
  Factory,
  Generic,
  NoOptions,
  NumberId,
  PrivateConstructor,
  ProtectedConstructor,
  Runs,
} from './job';

@Job()
class Podcast extends Job {
  constructor(
    readonly podcastId: number,
    readonly publishAt?: Date,
  ) {
    super();
  }
  async handle(): Promise<{ size: number }> {
    return { size: this.podcastId };
  }
}

class Inherits extends Podcast {}

// --- The parameters of the constructor ---

export const pending: PendingDispatch = Podcast.dispatch(42, new Date());
export const sent: Promise<string> = Podcast.dispatch(42);
export const result: Promise<DispatchResult> = Podcast.dispatch(42).result;
export const resultIf: Promise<DispatchResult | undefined> = Podcast.dispatchIf(true, 42).result;
// @ts-expect-error -- it may not be dispatched
export const certainResult: Promise<DispatchResult> = Podcast.dispatchIf(true, 42).result;
void Inherits.dispatch(1);
void NoOptions.dispatch();
void NumberId.dispatch(1);
void Expression.dispatch('ada');
void Factory.dispatch();
void Generic.dispatch<typeof Generic<string>>('text');
void Podcast.dispatch(1).onQueue('urgent').onConnection('redis').delay('10m').withoutDelay().through();
void Podcast.dispatchIf(true, 1).afterCommit().onQueue('urgent');
export const committed: Promise<string> = Queue.transaction(() => Podcast.dispatch(1).afterCommit());
export const size: Promise<{ size: number }> = Queue.transaction(async () => ({ size: 1 }));
export const plain: Promise<number> = Queue.transaction(() => 1);
// @ts-expect-error -- a running promise cannot be rolled back
void Queue.transaction(Promise.resolve());
void Podcast.dispatch(1).catch(() => undefined);

// @ts-expect-error -- an argument is missing
void Podcast.dispatch();
// @ts-expect-error -- an argument of the wrong type
void Podcast.dispatch('42');
// @ts-expect-error -- one argument too many
void Podcast.dispatch(42, new Date(), 'more');
// @ts-expect-error -- an abstract class
void Base.dispatch();
// @ts-expect-error -- a private constructor
void PrivateConstructor.dispatch('ada');
// @ts-expect-error -- a protected constructor
void ProtectedConstructor.dispatch();
// @ts-expect-error -- not a queue name
void Podcast.dispatch(42).onQueue(5);
// @ts-expect-error -- not a duration
void Podcast.dispatch(42).delay('soon');

// --- Under a condition ---

export const perhaps: Promise<string | undefined> = Podcast.dispatchIf(true, 42);
void Podcast.dispatchUnless((job) => job.podcastId > 5, 42);
// @ts-expect-error -- it may not have been dispatched
export const certain: Promise<string> = Podcast.dispatchIf(true, 42);
// @ts-expect-error -- a promise is always true
void Podcast.dispatchIf(Promise.resolve(false), 42);
// @ts-expect-error -- the job's arguments come after the condition
void Podcast.dispatchIf(42);

// --- In place, with the type of `handle` ---

export const synced: Promise<{ size: number }> = Podcast.dispatchSync(42);
export const now: Promise<number> = Runs.dispatchNow();
// @ts-expect-error -- handle returns an object
export const wrong: Promise<string> = Podcast.dispatchNow(42);
export const elsewhere: Promise<unknown> = NoOptions.dispatchSync();

// --- An instance ---

export const chosen: Podcast = new Podcast(1).onQueue('urgent').delay('5m').onConnection('redis').withoutDelay();
// @ts-expect-error -- not a duration
new Podcast(1).delay('five minutes');

// --- A class instead of an instance ---

/** An object with a field that classes have as well. */
declare const named: { readonly prototype: string; readonly name: string; readonly length: number };

export async function instances<J extends object>(job: J): Promise<J> {
  await dispatch(job);
  await dispatch(named);
  await Queue.push(named);
  await Queue.bulk([new Podcast(1), job, named]);
  // @ts-expect-error -- the class
  await dispatch(Podcast);
  // @ts-expect-error -- the class
  await Bus.dispatch(Podcast);
  // @ts-expect-error -- the class
  await Bus.dispatchToQueue(Podcast);
  // @ts-expect-error -- the class
  await Bus.dispatchSync(Podcast);
  // @ts-expect-error -- the class
  await Bus.dispatchNow(Podcast);
  // @ts-expect-error -- the class
  await Bus.bulk([Podcast]);
  // @ts-expect-error -- the class
  await Queue.push(Podcast);
  // @ts-expect-error -- the class
  await Queue.laterOn('urgent', '5m', Podcast);
  // @ts-expect-error -- the class, even with a private constructor
  await Queue.connection('redis').pushOn('urgent', PrivateConstructor);
  // @ts-expect-error -- the class
  await Queue.bulk([new Podcast(1), Podcast]);
  // @ts-expect-error -- a function
  await Queue.push(() => new Podcast(1));
  return job;
}

// --- Where and when ---

abstract class Slow extends Job {}

export async function routed(): Promise<void> {
  Queue.route(Slow, { connection: 'redis', queue: 'slow' });
  Queue.route(Podcast, { queue: 'podcasts' });
  await Podcast.dispatch(1).beforeCommit().onQueue('x');
  await Podcast.dispatchIf(false, 1).beforeCommit();
  // @ts-expect-error -- an unknown field
  Queue.route(Podcast, { queues: 'podcasts' });
}

@Job({ afterCommit: true })
export class Waits extends Job {}

// @ts-expect-error -- a string
@Job({ afterCommit: 'yes' })
export class WaitsSomehow extends Job {}

// --- Unique ---

@Job({ unique: { by: (job: Unique) => job.order, until: 'start', for: '1h' } })
export class Unique extends Job {
  constructor(readonly order: number) {
    super();
  }
}

// @ts-expect-error -- a key is a number or a string
Job({ unique: { by: (job: Unique) => ({ order: job.order }) } });
// @ts-expect-error -- a key cannot be a promise
Job({ unique: { by: async (job: Unique) => job.order } });
// @ts-expect-error -- an unknown end
Job({ unique: { until: 'processing' } });
// @ts-expect-error -- not a duration
Job({ unique: { for: 'an hour' } });

// --- Debounced ---

@Job({ debounce: { by: (job: Debounced) => job.tenant, wait: '30s', longest: '5m' } })
export class Debounced extends Job {
  constructor(readonly tenant: string) {
    super();
  }
}

export async function debounced(): Promise<void> {
  const { status, id, replaced }: DispatchResult = await Debounced.dispatch('a').result;
  if (status === 'replaced') await Queue.cancel(replaced ?? id);
  Queue.skipped(({ id: gone, of, reason }) => [gone, of, reason === 'replaced']);
}

@Job({ debounce: false })
export class AtOnce extends Debounced {}

// @ts-expect-error -- wait is missing
Job({ debounce: { by: (job: Debounced) => job.tenant } });
// @ts-expect-error -- not an object
Job({ debounce: true });
// @ts-expect-error -- a key cannot be a promise
Job({ debounce: { wait: '30s', by: async (job: Debounced) => job.tenant } });
