/** The interface that the statics of `Job` send through, and its answers: jobs need not know the bus. */
import type { ChainList, PendingChain } from './chain';
import type { Delay } from './duration';
import type { Middleware } from './middleware';

/**
 * What became of a dispatch. `duplicate`: not sent, because the job of this id holds its unique key. `replaced`: sent, and it has
 * taken another job's place. `kept`: it waits for the commit of a `Queue.transaction()`; the store was not asked yet.
 */
export interface DispatchResult {
  readonly status: 'queued' | 'duplicate' | 'replaced' | 'kept';
  readonly id: string;
  /** The id of the debounced job that it has replaced. */
  readonly replaced?: string | undefined;
}

/**
 * An event on its way to its listeners. Awaiting it gives the ids of their jobs, in the order in which the listeners were
 * declared, without those whose `shouldQueue()` declined.
 */
export type PendingEvent = Outgoing<string[]>;

/**
 * A job on its way. It is sent in the next microtask, exactly once, whether it is awaited never or often; awaiting it gives its
 * id. `Id` includes undefined where the job may not be sent at all (`dispatchIf`).
 */
export interface PendingDispatch<Id extends string | undefined = string> extends Outgoing<Id> {
  /** What became of the dispatch, with the id. Undefined if the job was not to be sent. */
  readonly result: Promise<Id extends string ? DispatchResult : undefined>;
}

/** What can still be chosen until it is sent. */
export interface Outgoing<Sent> extends Promise<Sent> {
  onConnection(connection: string): this;
  onQueue(queue: string): this;
  /** A duration from the dispatch, or a moment. */
  delay(delay: Delay): this;
  /** Overrides the delay of the instance and of `@Job()`. */
  withoutDelay(): this;
  /**
   * Within the function of `Queue.transaction()`: sent once it has resolved, and never if it rejects; awaiting it gives the id at
   * once. Anywhere else it changes nothing.
   */
  afterCommit(): this;
  /** Sent at once, even within `Queue.transaction()`, whatever `@Job()` and the connection say. */
  beforeCommit(): this;
  /**
   * Within a transaction that you have begun in the connection's database: the job exists once you commit, and never if you do
   * not. Await it before you commit. Takes what `Queue.connection().using()` takes; of this and `afterCommit()` the last call
   * counts.
   *
   * @throws CapabilityError, E_UNKNOWN_TRANSACTION when awaited
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
  /** What `dispatchIf(false)` returns: accepts every builder call, sends nothing. */
  none(): PendingDispatch<undefined>;
}
