/** What the statics of `Job` send through, and what they give: jobs need not know the bus. */
import type { ChainList, PendingChain } from './chain';
import type { Delay } from './duration';
import type { Middleware } from './middleware';

/**
 * What became of a dispatch. `duplicate`: it was not sent, for the job of this id holds its unique key. `replaced`: it was
 * sent, and has taken the place of another one. `kept`: a `Queue.transaction()` keeps it for its commit, and nothing was asked yet.
 */
export interface DispatchResult {
  readonly status: 'queued' | 'duplicate' | 'replaced' | 'kept';
  readonly id: string;
  /** The id of the debounced job whose place it has taken. */
  readonly replaced?: string | undefined;
}

/**
 * A job on its way. It is sent a microtask later, once however often it is awaited, and also if it is not; awaiting it
 * gives its id. `Id` is undefined too where the job may not be sent at all (`dispatchIf`).
 */
export interface PendingDispatch<Id extends string | undefined = string> extends Promise<Id> {
  /** What became of it, beside its id; undefined where it was not to be sent at all. */
  readonly result: Promise<Id extends string ? DispatchResult : undefined>;
  onConnection(connection: string): this;
  onQueue(queue: string): this;
  /** A duration from when it is sent, or a moment. */
  delay(delay: Delay): this;
  /** Beats the delay of the instance and of `@Job()`. */
  withoutDelay(): this;
  /**
   * Within the function of `Queue.transaction()`: sent once that has resolved, and never if it rejects; awaiting it gives
   * the id at once. Anywhere else it changes nothing.
   */
  afterCommit(): this;
  /** Sent at once, also within `Queue.transaction()`, whatever `@Job()` and the connection say. */
  beforeCommit(): this;
  /**
   * Within a transaction that you have begun in the database of its connection: the job is there once that is committed, and
   * never if it is not. Await it before you commit. Takes what `Queue.connection().using()` takes; of this and
   * `afterCommit()` the last call counts.
   *
   * @throws CapabilityError, E_UNKNOWN_TRANSACTION when it is awaited
   */
  using(transaction: unknown): this;
  /** Wraps this one run, inside the job's own middleware. */
  through(...middleware: readonly Middleware[]): this;
}

export interface JobDispatcher {
  dispatchToQueue(job: object): PendingDispatch;
  chain<Parameters extends readonly unknown[]>(
    links: (...parameters: Parameters) => ChainList,
  ): PendingChain<Parameters>;
  dispatchSync(job: object): Promise<unknown>;
  dispatchNow(job: object): Promise<unknown>;
  /** What `dispatchIf(false)` gives: takes every builder call, sends nothing. */
  none(): PendingDispatch<undefined>;
}
