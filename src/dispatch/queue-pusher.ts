/** Puts jobs into the queues of one connection, with Laravel's method names. */
import type { JobInstance } from '../job/definition';
import type { Delay } from '../job/duration';
import type { InstanceChoice } from '../job/beside-instance';
import { InvalidPayloadError } from '../payload/errors';
import { fieldsIn } from '../payload/kinds';
import { encodeAll, sendBulk } from './bulk';
import type { ConnectionSettings } from '../connections/driver';
import type { EncodedJob } from './encoded-job';
import type { JobEncoder } from './job-encoder';
import { checkTies, send, type Target } from './send';

/** Whether an encoded job is held back until a `Queue.transaction()` is done. `job`: undefined for a job that is only a name. */
type Hold = (encoded: EncodedJob, job: object | undefined) => boolean;

export class QueuePusher {
  /** The connection's name in the configuration. */
  readonly name: string;
  /** The queue that is used if none is named. */
  readonly defaultQueue: string;
  readonly #target: () => Target;
  readonly #encoder: JobEncoder;
  readonly #hold: Hold;

  /** @param hold default: holds nothing back; all jobs are sent at once */
  constructor(
    settings: Pick<ConnectionSettings, 'name' | 'queue'>,
    target: () => Target,
    encoder: JobEncoder,
    hold: Hold = () => false,
  ) {
    this.name = settings.name;
    this.defaultQueue = settings.queue;
    this.#target = target;
    this.#encoder = encoder;
    this.#hold = hold;
  }

  /**
   * Queues a job, or a name (`Class@method`) with JSON data. Resolves to its id, or to the id of the job that holds its unique
   * key.
   *
   * `queue` overrides the job's own choice. The job goes to this connection, whatever it chose.
   *
   * @throws QueueUnavailableError, and any error of the job or its data
   */
  push(job: JobInstance, queue?: string): Promise<string>;
  push(name: string, data?: unknown, queue?: string): Promise<string>;
  push(job: JobInstance | string, second?: unknown, queue?: string): Promise<string> {
    return typeof job === 'string'
      ? this.#add(job, { queue }, second)
      : this.#add(job, { queue: second as string | undefined });
  }

  /** Like `push`, with the queue as first argument. */
  pushOn(queue: string, job: JobInstance): Promise<string>;
  pushOn(queue: string, name: string, data?: unknown): Promise<string>;
  pushOn(queue: string, job: JobInstance | string, data?: unknown): Promise<string> {
    return this.#add(job, { queue }, data);
  }

  /** Like `push`, but ready only after `delay`: a duration from now, or a moment. */
  later(delay: Delay, job: JobInstance, queue?: string): Promise<string>;
  later(delay: Delay, name: string, data?: unknown, queue?: string): Promise<string>;
  later(delay: Delay, job: JobInstance | string, third?: unknown, queue?: string): Promise<string> {
    return typeof job === 'string'
      ? this.#add(job, { delay, queue }, third)
      : this.#add(job, { delay, queue: third as string | undefined });
  }

  /** Like `later`, with the queue as first argument. */
  laterOn(queue: string, delay: Delay, job: JobInstance): Promise<string>;
  laterOn(queue: string, delay: Delay, name: string, data?: unknown): Promise<string>;
  laterOn(queue: string, delay: Delay, job: JobInstance | string, data?: unknown): Promise<string> {
    return this.#add(job, { delay, queue }, data);
  }

  /**
   * Queues a text that is already a payload, unchanged. Resolves to the `id` in it, if it has one.
   *
   * @throws InvalidPayloadError it is not a well-formed string
   */
  pushRaw(payload: string, queue?: string): Promise<string | undefined> {
    return this.#pushRaw(payload, { queue }, false);
  }

  /**
   * Like `pushRaw`, but ready only after `delay`.
   *
   * @throws DuplicatePayloadError the same text is already waiting as delayed
   */
  laterRaw(delay: Delay, payload: string, queue?: string): Promise<string | undefined> {
    return this.#pushRaw(payload, { delay, queue }, true);
  }

  /**
   * Queues many jobs in few calls. Resolves to their ids, in the same order. All are encoded before the first is sent, so that
   * one faulty job refuses all of them.
   *
   * @throws BulkInterruptedError the store, or a job on `sync`, failed on the way; its facts say which jobs are not in
   */
  async bulk(jobs: Iterable<JobInstance>, queue?: string): Promise<string[]> {
    const route = { connection: this.name, queue };
    const encoded = await encodeAll(jobs, (job) => this.#encoder.encode(job, route));
    checkTies(encoded, this.#target);
    return sendBulk(encoded, this.#target);
  }

  /** @param data for a job that is only a name */
  async #add(job: JobInstance | string, choice: InstanceChoice, data?: unknown): Promise<string> {
    const route = { ...choice, connection: this.name };
    const isName = typeof job === 'string';
    const encoded = isName ? this.#encoder.encodeString(job, data, route) : this.#encoder.encode(job, route);
    checkTies([encoded], this.#target);
    return this.#hold(encoded, isName ? undefined : job) ? encoded.id : send(this.#target(), encoded);
  }

  async #pushRaw(payload: string, choice: InstanceChoice, distinct: boolean): Promise<string | undefined> {
    const { queue = this.defaultQueue } = choice;
    if (typeof payload !== 'string') throw unsendable(queue, `it is not a string but of type ${typeof payload}`);
    // A store would not return half a surrogate pair unchanged, so such a reservation could never be settled.
    if (!payload.isWellFormed()) throw unsendable(queue, 'it is not well-formed Unicode (toWellFormed() repairs it)');
    const id = idIn(payload);
    const encoded = { ...this.#encoder.encodeRaw(payload, { ...choice, connection: this.name }), id: id ?? '' };
    const { delay, dueAt } = encoded.entry;
    const delayed = distinct && (delay !== undefined || dueAt !== undefined);
    await send(this.#target(), delayed ? { ...encoded, entry: { ...encoded.entry, distinct } } : encoded);
    return id;
  }
}

function unsendable(queue: string, reason: string): InvalidPayloadError {
  return new InvalidPayloadError(`${reason}, and was not sent to the queue '${queue}'`);
}

function idIn(payload: string): string | undefined {
  // An unreadable payload is not ours to refuse: the store sets it aside, with its bytes, when its turn comes.
  const id = fieldsIn(payload)?.['id'];
  return typeof id === 'string' ? id : undefined;
}
