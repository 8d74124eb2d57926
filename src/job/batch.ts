/**
 * A batch under construction: jobs that run in any order, and callbacks, which are jobs sent when something happens to the batch.
 */
import { classOf } from '../base/class';
import { type ChainList, isLink } from './chain';
import type { JobInstance } from './definition';
import { invalidBatch, notDispatched } from './errors';
import { checkQueueName } from './queue-name';

/** What may be in a batch: jobs, and lists of jobs that run one after the other. False, null and undefined are left out. */
export type BatchMember = JobInstance | ChainList | false | null | undefined;

/** A list, or an iterable that yields jobs one by one: those are sent as they come and are never all in memory. */
export type BatchSource = Iterable<BatchMember> | AsyncIterable<BatchMember>;

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
