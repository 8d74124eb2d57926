/** A batch that is being put together: jobs that run in any order, and others that are sent when something becomes of them. */
import { classOf } from '../base/class';
import { type ChainList, isLink } from './chain';
import type { JobInstance } from './definition';
import { invalidBatch, notDispatched } from './errors';
import { checkQueueName } from './queue-name';

/** What may be in a batch: jobs, and lists of jobs that run one after the other. What is false, null or undefined is left out. */
export type BatchMember = JobInstance | ChainList | false | null | undefined;

/** A list, or what gives its jobs one by one: they are sent as they come, and are never all in memory. */
export type BatchSource = Iterable<BatchMember> | AsyncIterable<BatchMember>;

/** When a callback is sent. */
export type BatchCallbackEvent = 'then' | 'catch' | 'finally' | 'progress';

export interface ChosenBatch {
  readonly source: BatchSource;
  readonly name: string;
  readonly allowsFailures: boolean;
  readonly callbacks: readonly { readonly on: BatchCallbackEvent; readonly job: object }[];
  /** Jobs after which `progress` is sent. */
  readonly every: number | undefined;
  /** Where those go that say nothing themselves. */
  readonly connection: string | undefined;
  readonly queue: string | undefined;
}

/** How it is sent. */
export interface BatchDetour {
  /** Kept for the commit of a `Queue.transaction()`, or not at all; absent: as the connection says. */
  readonly commit?: 'after' | 'before' | undefined;
  /** What the user has begun in the database of the connection. */
  readonly within?: { readonly transaction: unknown } | undefined;
}

/** @param Sent what its dispatch gives */
export class PendingBatch<Sent> {
  readonly #source: BatchSource;
  readonly #send: (batch: ChosenBatch, detour: BatchDetour) => Promise<Sent>;
  readonly #callbacks: { readonly on: BatchCallbackEvent; readonly job: object }[] = [];
  #name = '';
  #allowsFailures = false;
  #every: number | undefined;
  #connection: string | undefined;
  #queue: string | undefined;
  #detour: BatchDetour = {};
  #isSpent = false;

  constructor(source: BatchSource, send: (batch: ChosenBatch, detour: BatchDetour) => Promise<Sent>) {
    this.#source = source;
    this.#send = send;
  }

  /** For people: it need not be unique. Up to 255 characters. @throws E_INVALID_BATCH */
  name(name: string): this {
    const isName = typeof name === 'string' && name.length <= 255 && name.isWellFormed() && !/\p{Cc}/u.test(name);
    if (!isName)
      throw invalidBatch(name, 'its name is a text of up to 255 characters, none of them a control character.');
    this.#name = name;
    return this;
  }

  /** Where the batch is kept, and all of its jobs go. */
  onConnection(connection: string): this {
    this.#connection = connection;
    return this;
  }

  /** For all jobs and callbacks that were given none themselves, by `new X().onQueue()`. @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    checkQueueName(queue, 'onQueue() of a batch');
    this.#queue = queue;
    return this;
  }

  /** Sent once all of its jobs have completed, in the step that records the last of them; not where it was cancelled before. */
  then(job: JobInstance): this;
  then(job: unknown, rejected?: (error: Error) => void): this {
    // Awaited in place of its dispatch, it would have sent nothing, and said nothing.
    if (typeof job === 'function' && typeof rejected === 'function') {
      rejected(notDispatched('batch'));
      return this;
    }
    return this.#callback('then', job);
  }

  /** Sent when the first of its jobs has failed for good; in it, `this.job.cause` says which and why. */
  catch(job: JobInstance): this {
    return this.#callback('catch', job);
  }

  /** Sent when none of its jobs is left, whatever became of them. */
  finally(job: JobInstance): this {
    return this.#callback('finally', job);
  }

  /** Sent each time that so many more of its jobs have ended. */
  progress(job: JobInstance, options: { readonly every: number }): this;
  progress(job: JobInstance, { every }: { readonly every?: number } = {}): this {
    if (every === undefined || !Number.isSafeInteger(every) || every < 1)
      throw invalidBatch(every, 'progress() says after how many jobs, as in progress(new Report(), { every: 100 }).');
    this.#every = every;
    return this.#callback('progress', job);
  }

  /** The others go on when one has failed. Otherwise the first failure cancels the batch: those that wait are skipped. */
  allowFailures(allows = true): this {
    this.#allowsFailures = allows;
    return this;
  }

  /** Within the function of `Queue.transaction()`: sent once that has resolved, and never if it rejects. */
  afterCommit(): this {
    this.#detour = { commit: 'after' };
    return this;
  }

  /** Sent at once, also within `Queue.transaction()`. */
  beforeCommit(): this {
    this.#detour = { commit: 'before' };
    return this;
  }

  /** Within a transaction that you have begun in the database of its connection, as `dispatch().using()` does for a job. */
  using(transaction: unknown): this {
    this.#detour = { within: { transaction } };
    return this;
  }

  /**
   * Sends its jobs, in few calls.
   *
   * @throws what is wrong with any job of a list: then nothing was sent
   * @throws E_BATCH_INCOMPLETE the store, or what gives its jobs, failed in the middle: it is cancelled
   */
  async dispatch(): Promise<Sent> {
    // What a generator gives, it gives once: the second batch would be empty, and would end at once.
    if (this.#isSpent)
      throw invalidBatch(this.#source, 'its generator has given its jobs to a batch; call it again for another one.');
    this.#isSpent = isOneShot(this.#source);
    return this.#send(this.chosen, this.#detour);
  }

  /** As it stands now. */
  get chosen(): ChosenBatch {
    return {
      source: this.#source,
      name: this.#name,
      allowsFailures: this.#allowsFailures,
      callbacks: [...this.#callbacks],
      every: this.#every,
      connection: this.#connection,
      queue: this.#queue,
    };
  }

  #callback(on: BatchCallbackEvent, job: unknown): this {
    if (typeof job === 'function' || !isJob(job))
      throw invalidBatch(
        job,
        `${on}() of a batch takes a job, as in ${on}(new Report()): what is to run later has to travel.`,
      );
    this.#callbacks.push({ on, job });
    return this;
  }
}

/** An iterator that is its own iterable, as a generator's is, goes through its values once. */
function isOneShot(source: unknown): boolean {
  return typeof (source as { readonly next?: unknown } | null)?.next === 'function';
}

/** Whether it can be a job. */
export function isJob(value: unknown): value is object {
  return isLink(value) && classOf(value) !== Object && !(value instanceof PendingBatch);
}
