/** The public face of one connection: Laravel's names, over a driver that knows only payloads. */
import type { Delay } from '../job/duration';
import type { InstanceChoice } from '../job/chosen';
import { checkQueueName } from '../job/queue-name';
import { InvalidPayloadError } from '../payload/errors';
import type { Connection, Counts } from './connection';
import type { ConnectionSettings } from './connector';
import type { CancelResult, Control } from './control';
import { CapabilityError, InvalidJobIdError } from './errors';
import type { Capability } from './errors';
import type { EncodedJob, JobEncoder } from './job-encoder';
import { send, sendAll } from './send';

const ONE_AT_A_TIME = 'name one queue at a time';

export class QueueConnection {
  /** The connection's name in the configuration. */
  readonly name: string;
  /** The queue that is meant where none is named. */
  readonly defaultQueue: string;
  readonly #driver: () => Connection;
  readonly #encoder: JobEncoder;

  constructor(settings: ConnectionSettings, driver: () => Connection, encoder: JobEncoder) {
    this.name = settings.name;
    this.defaultQueue = settings.queue;
    this.#driver = driver;
    this.#encoder = encoder;
  }

  /** The absolute path or address of the store, for people: never a password. */
  get address(): string {
    return this.#driver().address;
  }

  /**
   * Queues a job, or one that is only a name (`Class@method`) and JSON data; gives its id.
   *
   * `queue` beats what the job itself says. The job goes to this connection, whatever it says.
   *
   * @throws QueueUnavailableError, and what is wrong with the job or its data
   */
  push(job: object, queue?: string): Promise<string>;
  push(name: string, data?: unknown, queue?: string): Promise<string>;
  push(job: object | string, second?: unknown, queue?: string): Promise<string> {
    return typeof job === 'string'
      ? this.#pushString(job, second, { queue })
      : this.#push(job, { queue: second as string | undefined });
  }

  /** Like `push`, the queue first. */
  pushOn(queue: string, job: object): Promise<string>;
  pushOn(queue: string, name: string, data?: unknown): Promise<string>;
  pushOn(queue: string, job: object | string, data?: unknown): Promise<string> {
    return typeof job === 'string' ? this.#pushString(job, data, { queue }) : this.#push(job, { queue });
  }

  /** Like `push`, to become ready after `delay`: a duration from now, or a moment. */
  later(delay: Delay, job: object, queue?: string): Promise<string>;
  later(delay: Delay, name: string, data?: unknown, queue?: string): Promise<string>;
  later(delay: Delay, job: object | string, third?: unknown, queue?: string): Promise<string> {
    return typeof job === 'string'
      ? this.#pushString(job, third, { delay, queue })
      : this.#push(job, { delay, queue: third as string | undefined });
  }

  /** Like `later`, the queue first. */
  laterOn(queue: string, delay: Delay, job: object): Promise<string>;
  laterOn(queue: string, delay: Delay, name: string, data?: unknown): Promise<string>;
  laterOn(queue: string, delay: Delay, job: object | string, data?: unknown): Promise<string> {
    return typeof job === 'string' ? this.#pushString(job, data, { delay, queue }) : this.#push(job, { delay, queue });
  }

  /**
   * Queues a text that is a payload already, as it is; gives the `id` in it, if it has one.
   *
   * @throws InvalidPayloadError it is no well-formed string
   */
  pushRaw(payload: string, queue?: string): Promise<string | undefined> {
    return this.#pushRaw(payload, { queue }, false);
  }

  /**
   * Like `pushRaw`, to become ready after `delay`.
   *
   * @throws DuplicatePayloadError this very text waits as delayed already
   */
  laterRaw(delay: Delay, payload: string, queue?: string): Promise<string | undefined> {
    return this.#pushRaw(payload, { delay, queue }, true);
  }

  /**
   * Queues many jobs with few calls; gives their ids, in the same order. All of them are encoded before the first is
   * sent, so that one that cannot be encoded refuses the lot.
   *
   * @throws BulkInterruptedError when the store failed on the way; its facts name those that are in
   */
  async bulk(jobs: Iterable<object>, queue?: string): Promise<string[]> {
    const encoded = await this.#encoder.encodeAll(jobs, { connection: this.name, queue });
    await sendAll(encoded, this.#driver);
    return encoded.map(({ id }) => id);
  }

  /** How many jobs are ready, delayed or reserved. */
  async size(queue?: string): Promise<number> {
    const { ready, delayed, reserved } = await this.counts(queue);
    return ready + delayed + reserved;
  }

  /** @throws CapabilityError */
  async counts(queue: string = this.defaultQueue): Promise<Counts> {
    return this.#able('counts').counts(queue);
  }

  /**
   * Removes what is ready, delayed or reserved, and says how many; failed jobs stay. A job that runs ends as lost.
   *
   * @throws CapabilityError
   */
  async clear(queue: string = this.defaultQueue): Promise<number> {
    return this.#able('clear').clear(queue);
  }

  /**
   * Cancels the job that `dispatch` or `push` gave this id for: one that waits is removed, one that runs is told to stop
   * when its lease is next renewed, within a third of `retryAfter`. Failed jobs stay.
   *
   * @param options `queue`: where it is known to be; by default all queues of this connection are looked at
   * @throws InvalidJobIdError, InvalidQueueNameError, CapabilityError
   */
  async cancel(id: string, options: { readonly queue?: string | undefined } = {}): Promise<CancelResult> {
    const { queue } = options;
    // In JavaScript, a dispatch that was not awaited would be looked for as [object Promise].
    if (typeof id !== 'string' || id === '') throw new InvalidJobIdError(id);
    if (queue !== undefined) checkQueueName(queue, 'queue of cancel()', ONE_AT_A_TIME);
    return this.#control().cancel(id, queue);
  }

  /**
   * From the moment this resolves no worker gets a job of the queue; those that run go on, and what is pushed waits.
   * False: it was paused already.
   *
   * @throws InvalidQueueNameError, CapabilityError
   */
  async pause(queue: string = this.defaultQueue): Promise<boolean> {
    checkQueueName(queue, 'queue of pause()', ONE_AT_A_TIME);
    return this.#control().pause(queue);
  }

  /** Workers take jobs of the queue again. False: it was not paused. @throws InvalidQueueNameError, CapabilityError */
  async resume(queue: string = this.defaultQueue): Promise<boolean> {
    checkQueueName(queue, 'queue of resume()', ONE_AT_A_TIME);
    return this.#control().resume(queue);
  }

  /** The queues that are paused, in the order of their names. @throws CapabilityError */
  async pausedQueues(): Promise<string[]> {
    return [...(await this.#control().paused())].toSorted();
  }

  /**
   * Tells all workers of the store to finish what they run and end, so that whoever started them starts them anew, with
   * the code and the configuration of today. Resolves once the order is there; workers heed it with their next reserve.
   *
   * @throws CapabilityError
   */
  async restart(): Promise<void> {
    return this.#control().restart();
  }

  async #push(job: object, choice: InstanceChoice): Promise<string> {
    return this.#send(this.#encoder.encode(job, { ...choice, connection: this.name }));
  }

  async #pushString(name: string, data: unknown, choice: InstanceChoice): Promise<string> {
    return this.#send(this.#encoder.encodeString(name, data, { ...choice, connection: this.name }));
  }

  async #send(encoded: EncodedJob): Promise<string> {
    await send(this.#driver(), encoded);
    return encoded.id;
  }

  async #pushRaw(payload: string, choice: InstanceChoice, unique: boolean): Promise<string | undefined> {
    const { queue = this.defaultQueue } = choice;
    if (typeof payload !== 'string') throw unsendable(queue, `it is no string but of type ${typeof payload}`);
    // Half a character comes out of no store as it went in, so such a reservation could never be settled.
    if (!payload.isWellFormed()) throw unsendable(queue, 'it is no well-formed Unicode (toWellFormed() mends it)');
    const encoded = this.#encoder.encodeRaw(payload, { ...choice, connection: this.name });
    const delayed = unique && encoded.entry.delay !== undefined;
    await send(this.#driver(), delayed ? { ...encoded, entry: { ...encoded.entry, unique } } : encoded);
    return idIn(payload);
  }

  #control(): Control {
    const { control, driver } = this.#able('control');
    if (control === undefined) throw new CapabilityError(this.name, driver, 'control');
    return control;
  }

  #able(capability: Capability): Connection {
    const driver = this.#driver();
    if (!driver.capabilities[capability]) throw new CapabilityError(this.name, driver.driver, capability);
    return driver;
  }
}

function unsendable(queue: string, reason: string): InvalidPayloadError {
  return new InvalidPayloadError(`${reason}, and was not sent to the queue '${queue}'`);
}

function idIn(payload: string): string | undefined {
  try {
    const parsed = JSON.parse(payload) as { readonly id?: unknown } | null;
    return typeof parsed?.id === 'string' ? parsed.id : undefined;
  } catch {
    // Not ours to refuse: the store sets it aside, with its bytes, when its turn comes.
    return undefined;
  }
}
