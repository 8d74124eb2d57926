/** What is on its way: a dispatch, a chain, or a batch under construction. */
import { chosenOf, type ChosenChain, type InstanceChoice } from './choices';
import { checkDelay, type Delay } from './duration';
import type { Middleware } from './middleware';
import { invalidChain, notDispatched, invalidBatch } from './errors';
import { classOf } from '../base/class';
import type { ChainList, BatchSource } from './job-context';
import type { JobInstance } from './registry';
import { checkQueueName } from './option-kinds';

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
  /** Where it goes. Each of these overrides the instance and `@Job()`, and throws E_ALREADY_DISPATCHED once it is sent. */
  onConnection(connection: string): this;
  /** @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this;
  /** A duration from the dispatch (a number is seconds), or a moment. @throws E_INVALID_DURATION */
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

/** Sends the first link, with the chain's choices for it. */
type SendFirst = (job: object, choice: InstanceChoice) => PendingDispatch;

/** A chain under construction: jobs that run one after the other, each sent when the one before it succeeds. */
export class PendingChain<Parameters extends readonly unknown[] = []> {
  readonly #first: (...parameters: Parameters) => ChainList;
  readonly #send: SendFirst;
  #connection: string | undefined;
  #queue: string | undefined;
  #delay: Delay | undefined;
  #caught: object | undefined;

  /** @param first returns all links; it makes the first one from the parameters of `dispatch` */
  constructor(first: (...parameters: Parameters) => ChainList, send: SendFirst) {
    this.#first = first;
    this.#send = send;
  }

  /** For all links that chose none with `new X().onConnection()`. */
  onConnection(connection: string): this {
    this.#connection = connection;
    return this;
  }

  /** For all links that chose none with `new X().onQueue()`. @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    checkQueueName(queue, 'onQueue() of a chain');
    this.#queue = queue;
    return this;
  }

  /** Delays the first link. Other links may have their own delay, counted from the end of the link before. */
  delay(delay: Delay): this {
    checkDelay(delay, 'delay() of a chain');
    this.#delay = delay;
    return this;
  }

  /**
   * A job that is sent when a link has failed for good, in the step that records the failure; in it, `this.job.cause` says which
   * link and why.
   */
  catch(job: JobInstance): this {
    if (!isLink(job))
      throw invalidChain(job, 'catch() of a chain takes a job: a function could not travel to a worker.');
    this.#caught = job;
    return this;
  }

  /**
   * Sends the first link and returns its id.
   *
   * @throws E_INVALID_CHAIN; when awaited, also any error of a link. Then nothing was sent.
   */
  dispatch(...parameters: Parameters): PendingDispatch {
    const [first, ...links] = linksOf(this.#first(...parameters));
    const chain: ChosenChain = { links, caught: this.#caught, connection: this.#connection, queue: this.#queue };
    const { connection = this.#connection, queue = this.#queue } = chosenOf(first);
    const choice: InstanceChoice = { chain, connection, queue };
    return this.#send(first, this.#delay === undefined ? choice : { ...choice, delay: this.#delay });
  }

  /** Rejects when the chain is awaited without `dispatch()`: otherwise nothing would be sent, silently. */
  protected then(_fulfilled: unknown, rejected: (error: Error) => void): void {
    rejected(notDispatched('chain'));
  }
}

function linksOf(list: ChainList): readonly [object, ...object[]] {
  if (!Array.isArray(list)) throw invalidChain(list, 'A chain takes a list of jobs.');
  const links = (list as ChainList).filter((link) => link !== undefined && link !== null && link !== false);
  for (const [place, link] of links.entries()) {
    if (!isLink(link))
      throw invalidChain(
        link,
        `Link ${place + 1} of the chain is not a job: give an instance, as in Queue.chain([new Fetch(1), ...others]).`,
      );
  }
  if (links.length === 0) throw invalidChain(list, 'A chain needs a job to begin with.');
  return links as readonly object[] as readonly [object, ...object[]];
}

/** Whether the value could be a job. Lists, and chains within a chain, must be spread instead. */
export function isLink(link: unknown): link is object {
  return classOf(link) !== undefined && !Array.isArray(link) && !(link instanceof PendingChain);
}

/** When a callback is sent. */
export type BatchCallbackEvent = 'then' | 'catch' | 'finally' | 'progress';

export interface ChosenBatch {
  readonly source: BatchSource;
  readonly name: string;
  readonly allowsFailures: boolean;
  readonly callbacks: readonly { readonly on: BatchCallbackEvent; readonly job: object }[];
  /** `progress` is sent each time this many jobs have ended. */
  readonly every?: number | undefined;
  /** For jobs that choose none themselves. */
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

/** How the batch is sent. */
export interface BatchDetour {
  /** `after`: wait for the commit of the `Queue.transaction()`; `before`: do not. Absent: the connection's setting. */
  readonly commit?: 'after' | 'before' | undefined;
  /** A transaction that the user has begun in the connection's database. */
  readonly within?: { readonly transaction: unknown } | undefined;
}

/** @param Sent what `dispatch()` resolves to */
export class PendingBatch<Sent> {
  readonly #send: (batch: ChosenBatch, detour: BatchDetour) => Promise<Sent>;
  #chosen: ChosenBatch;
  #detour: BatchDetour = {};
  #isSpent = false;

  constructor(source: BatchSource, send: (batch: ChosenBatch, detour: BatchDetour) => Promise<Sent>) {
    this.#chosen = { source, name: '', allowsFailures: false, callbacks: [] };
    this.#send = send;
  }

  /** A name for people; it need not be unique. Up to 255 characters. @throws E_INVALID_BATCH */
  name(name: string): this {
    const isName = typeof name === 'string' && name.length <= 255 && name.isWellFormed() && !/\p{Cc}/u.test(name);
    if (!isName)
      throw invalidBatch(name, 'its name must be a string of up to 255 characters without control characters.');
    return this.#choose({ name });
  }

  /** The connection that keeps the batch and runs all its jobs. */
  onConnection(connection: string): this {
    return this.#choose({ connection });
  }

  /** For all jobs and callbacks that chose no queue with `new X().onQueue()`. @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    checkQueueName(queue, 'onQueue() of a batch');
    return this.#choose({ queue });
  }

  /** Sent when all jobs have completed, in the step that records the last of them; not sent if the batch was cancelled. */
  then(job: JobInstance): this;
  then(job: unknown, rejected?: (error: Error) => void): this {
    // Somebody awaits the batch without dispatching it. Without this rejection nothing would be sent, silently.
    if (typeof job === 'function' && typeof rejected === 'function') {
      rejected(notDispatched('batch'));
      return this;
    }
    return this.#callback('then', job);
  }

  /** Sent when the first job has failed for good; in it, `this.job.cause` says which job and why. */
  catch(job: JobInstance): this {
    return this.#callback('catch', job);
  }

  /** Sent when all jobs have ended, whatever their outcome. */
  finally(job: JobInstance): this {
    return this.#callback('finally', job);
  }

  /** Sent when `every` more jobs have ended: once if one step records the ends of several times as many. */
  progress(job: JobInstance, options: { readonly every: number }): this;
  progress(job: JobInstance, { every }: { readonly every?: number } = {}): this {
    if (every === undefined || !Number.isSafeInteger(every) || every < 1)
      throw invalidBatch(every, 'progress() needs a number of jobs, as in progress(new Report(), { every: 100 }).');
    return this.#callback('progress', job, { every });
  }

  /** A failed job does not stop the others. By default the first failure cancels the batch, and waiting jobs are skipped. */
  allowFailures(allows = true): this {
    return this.#choose({ allowsFailures: allows });
  }

  /** Within the function of `Queue.transaction()`: sent once it has resolved, and never if it rejects. */
  afterCommit(): this {
    this.#detour = { commit: 'after' };
    return this;
  }

  /** Sent at once, even within `Queue.transaction()`. */
  beforeCommit(): this {
    this.#detour = { commit: 'before' };
    return this;
  }

  /** Sent within a transaction that you have begun in the connection's database, as `dispatch().using()` does for a job. */
  using(transaction: unknown): this {
    this.#detour = { within: { transaction } };
    return this;
  }

  /**
   * Sends the jobs, in few calls.
   *
   * @throws any error of a job in a list; then nothing was sent
   * @throws E_BATCH_INCOMPLETE the store or the iterable failed midway; the batch is then cancelled
   */
  async dispatch(): Promise<Sent> {
    const { source } = this.#chosen;
    // A generator yields its jobs only once: a second batch would be empty and end at once.
    if (this.#isSpent)
      throw invalidBatch(
        source,
        'its generator has already given its jobs to a batch; call the generator function again.',
      );
    this.#isSpent = isOneShot(source);
    return this.#send(this.#chosen, this.#detour);
  }

  /** The choices made so far. */
  get chosen(): ChosenBatch {
    return this.#chosen;
  }

  #choose(choice: Partial<ChosenBatch>): this {
    this.#chosen = { ...this.#chosen, ...choice };
    return this;
  }

  #callback(on: BatchCallbackEvent, job: unknown, choice?: Pick<ChosenBatch, 'every'>): this {
    if (!isJob(job))
      throw invalidBatch(
        job,
        `${on}() of a batch takes a job, as in ${on}(new Report()): a function could not travel to a worker.`,
      );
    return this.#choose({ ...choice, callbacks: [...this.#chosen.callbacks, { on, job }] });
  }
}

/** An iterator that is its own iterable, like a generator's, yields its values only once. */
function isOneShot(source: unknown): boolean {
  return typeof (source as { readonly next?: unknown } | null)?.next === 'function';
}

/** Whether the value could be a job. */
export function isJob(value: unknown): value is object {
  return isLink(value) && classOf(value) !== Object && !(value instanceof PendingBatch);
}
