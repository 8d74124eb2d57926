/** The public interface of one connection: Laravel's names, over a driver that only knows payloads. */
import type { InstanceChoice } from '../job/choices';
import { dateOf, type Seconds } from '../base/clock';
import { checkDelay, durationSeconds, lastingSeconds, type Duration, type Delay } from '../job/duration';
import type { ResultOf } from '../job/job';
import { checkQueueName } from '../job/option-kinds';
import type {
  CancelResult,
  Connection,
  Control,
  Counts,
  Entry,
  RunningLimit,
  RescheduleResult,
} from '../connections/contract';
import { entriesFor } from '../connections/entries';
import type { Application, ConnectionSettings } from '../connections/application';
import { CapabilityError } from '../connections/errors';
import { dropCheckpoints } from '../operations/checkpoints';
import { invalidEventFilter, invalidListing } from '../operations/errors';
import { readFigures, type FigureOptions, type Figures } from '../operations/figures/figures';
import { JobEvents, type EventsOptions } from '../operations/events/job-events';
import { checkedEvents, type JobEvent } from '../operations/events/job-event';
import { forgetCompleted, keepCancelled } from '../operations/history/attempt';
import { findJob, listJobs, type FoundJob, type JobPage, type ListOptions } from '../operations/found-job';
import { awaitResult } from '../operations/results';
import { takeSnapshot, type Snapshot, type SnapshotOptions } from '../operations/snapshot';
import { listWorkers, type RunningWorker } from '../operations/worker-record';
import { debouncedJob, invalidCancelReason, invalidJobId, invalidLimit } from './errors';
import type { JobEncoder, EncodedJob } from './job-encoder';
import { laneStore, QueueLane, type LaneList, type LaneListOptions } from './queue-lane';
import { orEndUnsent, keepOf, targetWithin, encodeAll, sendBulk, checkTies, send, type Target } from './send';
import { Transaction } from './transaction';
import type { JobInstance } from '../job/registry';
import { InvalidPayloadError } from '../payload/errors';
import { fieldsIn } from '../payload/values';
import { laneOfAny } from '../payload/ties';

/** Whether an encoded job is held back until a `Queue.transaction()` is done. `job`: undefined for a job that is only a name. */
type Hold = (encoded: EncodedJob, job: object | undefined) => boolean;

/** Puts jobs into the queues of one connection, with Laravel's method names. */
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
    const hold = (): boolean => this.#hold(encoded, isName ? undefined : job);
    return orEndUnsent([encoded], () => (hold() ? encoded.id : send(this.#target(), encoded)));
  }

  async #pushRaw(payload: string, choice: InstanceChoice, distinct: boolean): Promise<string | undefined> {
    const { queue = this.defaultQueue } = choice;
    if (typeof payload !== 'string') throw unsendable(queue, `it is not a string but of type ${typeof payload}`);
    // A store would not return half a surrogate pair unchanged, so such a reservation could never be settled.
    if (!payload.isWellFormed()) throw unsendable(queue, 'it is not well-formed Unicode (toWellFormed() repairs it)');
    const id = idIn(payload);
    const encoded = this.#encoder.encodeRaw(payload, { ...choice, connection: this.name });
    const { delay, dueAt } = encoded.entry;
    const isDistinct = distinct && (delay !== undefined || dueAt !== undefined);
    // A store counts a job of a lane when it ends: one that had never entered it would make room for another.
    const lane = laneOfAny(payload);
    const entry = { ...encoded.entry, ...(isDistinct && { distinct }), ...(lane && { ties: { lane } }) };
    const raw = Object.assign(encoded, { id: id ?? '', entry });
    checkTies([raw], this.#target);
    await send(this.#target(), raw);
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

const ONE_AT_A_TIME = 'name one queue at a time';

export interface PauseOptions {
  /** How long, more than 0: seconds, or `'10m'`. Default: until the queue is resumed. */
  readonly for?: Duration | undefined;
}

/** Options of a cancellation. */
export interface CancelOptions {
  /** The queue that the job must be in. By default all queues of the connection are searched. */
  readonly queue?: string | undefined;
  /**
   * The reason, in one line of up to 255 characters. It is passed on to `signal.reason` of the running job, the `cancelled`
   * hook and the log.
   */
  readonly reason?: string | undefined;
}

export interface RevealOption {
  /** Whether encrypted data are opened, and nothing in the data is masked. The log says so. Default: `false`. */
  readonly reveal?: boolean | undefined;
}

export interface FindOptions {
  /**
   * The queue that the job is in: a store that does not search all jobs searches further there. Default: all queues of the
   * connection.
   */
  readonly queue?: string | undefined;
}

export interface ResultOptions extends FindOptions {
  /** How long to wait, in seconds or as `'1m'`; 0 looks only once. Default: 30 s. */
  readonly within?: Duration | undefined;
}

/** A paused queue. */
export interface QueuePause {
  readonly queue: string;
  /** When the pause ends, by the store's clock. Undefined if only when it is resumed. */
  readonly until: Date | undefined;
}

export class QueueConnection extends QueuePusher {
  readonly #driver: () => Connection;
  readonly #application: Application;

  constructor(settings: ConnectionSettings, manager: Application) {
    const driver = (): Connection => manager.driver(settings.name);
    super(settings, driver, manager.encoder, (encoded, job) => {
      const keep = keepOf(manager, job, settings.name, { keep: Transaction.keep() });
      keep?.(encoded, manager);
      return keep !== undefined;
    });
    this.#driver = driver;
    this.#application = manager;
  }

  /** The absolute path or address of the store, for people. Never contains a password. */
  get address(): string {
    return this.#driver().address;
  }

  /**
   * The same queues within a transaction that you have begun in the same database: jobs pushed there exist once you commit, and
   * never if you do not. Takes a client of pg, a connection of mysql2, a handle of libsql, what Prisma, Drizzle, TypeORM,
   * MikroORM, kysely, knex or postgres.js pass to the function of a transaction, or any object with `query(text, values)`.
   *
   * @throws CapabilityError the store cannot do this
   * @throws E_UNKNOWN_TRANSACTION
   */
  using(transaction: unknown): QueuePusher {
    const within = targetWithin(this.#driver(), transaction);
    return new QueuePusher({ name: this.name, queue: this.defaultQueue }, () => within, this.#application.encoder);
  }

  override async pushRaw(payload: string, queue?: string): Promise<string | undefined> {
    await this.#forgetEnd(payload);
    return super.pushRaw(payload, queue);
  }

  override async laterRaw(delay: Delay, payload: string, queue?: string): Promise<string | undefined> {
    await this.#forgetEnd(payload);
    return super.laterRaw(delay, payload, queue);
  }

  // Only such a text can bring back an id that has been used.
  async #forgetEnd(payload: unknown): Promise<void> {
    const id = typeof payload === 'string' ? idIn(payload) : undefined;
    if (id !== undefined) await forgetCompleted(this.#application, this.#driver(), id);
  }

  /** How many jobs are ready, delayed or reserved. */
  async size(queue?: string): Promise<number> {
    const { ready, delayed, reserved } = await this.counts(queue);
    return ready + delayed + reserved;
  }

  async counts(queue: string = this.defaultQueue): Promise<Counts> {
    return this.#driver().queues.counts(queue);
  }

  /**
   * Finds the job with this id, as `dispatch` or `push` returned it: where it waits or runs, why it failed, or that it has completed
   * within the last hour. State `unknown` if nothing is known of it.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME; CapabilityError the store cannot look for jobs and nothing is kept of it; with
   * `reveal`, E_UNKNOWN_KEY, E_TAMPERED_PAYLOAD
   */
  async find(id: string, { queue, reveal = false }: FindOptions & RevealOption = {}): Promise<FoundJob> {
    checkJob(id, queue, 'find()');
    const found = await findJob(this.#driver(), this.#application, id, queue, reveal);
    if (reveal && found.payload !== undefined) {
      const { name, connection } = found;
      this.#application.logger.warn({ job: name, id, connection }, `The data of ${name} ${id} were revealed`);
    }
    return found;
  }

  /**
   * What happens from now on to the jobs of this connection, in all processes: `for await (const event of connection.events({ ids
   * }))` gives `started`, `progressed`, `completed`, `failed`, `released` and `cancelled`, each at most once. An event is missed if
   * a process dies or a store is away; a reader that is more than 1000 events behind misses the oldest. Of jobs given by `ids` it
   * also looks how they are, and so finds out what has happened to them already.
   *
   * Ends by `break`, by `return()`, when `signal` aborts, and by `Queue.close()`. While somebody listens, the process does not end
   * by itself.
   *
   * @throws E_INVALID_EVENT_FILTER, E_INVALID_QUEUE_NAME; E_NO_RECORDS nothing keeps records for this connection
   */
  events(options: EventsOptions = {}): AsyncIterableIterator<JobEvent, undefined> {
    const { queue, signal } = checkedEvents(options);
    if (queue !== undefined) checkQueueName(queue, 'queue of events()', ONE_AT_A_TIME);
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw invalidEventFilter('signal', signal, 'the signal of an AbortController');
    return new JobEvents(this.#driver(), this.#application, options);
  }

  /**
   * One page of the jobs of a queue that are in a given state.
   *
   * @throws E_INVALID_QUEUE_NAME, E_INVALID_LISTING; CapabilityError the store cannot list them
   */
  async jobs(queue: string = this.defaultQueue, options: ListOptions = {}): Promise<JobPage> {
    checkQueueName(queue, 'queue of jobs()', ONE_AT_A_TIME);
    return listJobs(this.#driver(), this.#application, queue, options);
  }

  /**
   * The workers that keep their records in the same store as this connection and have reported within the last minute, oldest
   * first, at most 1000. Each names the connection it works on.
   *
   * @throws E_NO_RECORDS
   */
  async workers(): Promise<RunningWorker[]> {
    return listWorkers(this.#driver(), this.#application);
  }

  /**
   * The current state of the queues, and the workers on them, as `onqueue monitor` shows it. Takes up to three calls for each of
   * at most 100 queues.
   *
   * @throws E_INVALID_LISTING, E_INVALID_QUEUE_NAME
   */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    const { queues = [] } = options;
    // The letters of a text would be taken for names.
    if (!Array.isArray(queues)) throw invalidListing('queues', queues, 'Give a list of names.');
    for (const queue of queues) checkQueueName(queue, 'queue of snapshot()', ONE_AT_A_TIME);
    return takeSnapshot(this.#driver(), this.#application, this.defaultQueue, options);
  }

  /**
   * What the workers of all processes have done, by queue and by job: how many jobs, how fast, with which outcomes. Up to ten
   * seconds late.
   *
   * @throws E_NO_RECORDS, E_INVALID_SPAN, E_INVALID_DURATION, E_INVALID_QUEUE_NAME
   */
  async figures(options: FigureOptions = {}): Promise<Figures> {
    if (options.queue !== undefined) checkQueueName(options.queue, 'queue of figures()', ONE_AT_A_TIME);
    const operations = this.#application.neededOperationsOf(this.#driver());
    return readFigures(this.name, operations, this.#application.clock, options);
  }

  /**
   * Waits for the end of the job with this id, as `dispatch` or `push` returned it, and resolves to the result of its `handle()`,
   * if its class sets `keepResult`. Undefined if the result is no longer kept, or there never was such a job.
   *
   * @throws JobFailedError the job failed; E_JOB_ENDED_CANCELLED; E_RESULT_NOT_KEPT; E_RESULT_PENDING it has not ended in time;
   * E_NO_RECORDS nothing is kept for jobs of this connection; E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_DURATION;
   * QueueUnavailableError
   */
  async result<T = unknown>(
    id: string,
    { queue, within = '30s' }: ResultOptions = {},
  ): Promise<ResultOf<T> | undefined> {
    checkJob(id, queue, 'result()');
    const seconds = durationSeconds(within, 'within of result()');
    const value = await awaitResult(this.#driver(), this.#application, { id, queue, within: seconds });
    return value as ResultOf<T> | undefined;
  }

  /**
   * Removes all ready, delayed and reserved jobs, and resolves to their number. Failed jobs stay; a running job ends as lost.
   *
   * @throws CapabilityError
   */
  async clear(queue: string = this.defaultQueue): Promise<number> {
    const { name, driver, queues } = this.#driver();
    if (queues.clear === undefined) throw new CapabilityError(name, driver, 'clear');
    return queues.clear(queue);
  }

  /**
   * Forgets a queue without jobs, such as one of a single order: its name, which lists and searches go through, and its pause.
   * False if it has jobs, also failed ones, or is not known. The next push makes it known again. Workers do this for queues
   * that had no jobs for a week.
   *
   * @throws E_INVALID_QUEUE_NAME
   */
  async forget(queue: string): Promise<boolean> {
    checkQueueName(queue, 'queue of forget()', ONE_AT_A_TIME);
    return (await this.#driver().queues.forget?.(queue)) ?? false;
  }

  /**
   * Cancels the job with this id, as `dispatch` or `push` returned it. A waiting job is removed; a running one is told to stop
   * within a second: its `signal` aborts. Failed jobs stay.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_CANCEL_REASON, CapabilityError
   */
  async cancel(id: string, options: CancelOptions = {}): Promise<CancelResult> {
    const { queue, reason } = options;
    checkJob(id, queue, 'cancel()');
    if (reason !== undefined) checkCancelReason(reason);
    const connection = this.#driver();
    let left: { readonly queue: string; readonly payload: Buffer } | undefined;
    const result = await this.#control().cancel(
      id,
      queue,
      reason,
      (own, payload) => void (left = { queue: own, payload }),
    );
    // A job that a worker ends leaves the rest to the worker. One that waits may have run before.
    if (result === 'removed') await dropCheckpoints(this.#application, connection.name, [id]);
    if (left !== undefined) await keepCancelled(this.#application, connection, { id, ...left, reason });
    return result;
  }

  /**
   * Lets a delayed job become ready at another moment: after `delay` from now, or at a date. So it does with one that waits
   * for its next attempt. If the moment has passed, the job is ready at once, as with `promote`.
   *
   * `'ready'` and `'running'`: it does not wait for a moment any more, and stays as it is. `'unknown'`: it has ended or
   * failed, or was never sent here.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_DURATION, E_DEBOUNCED, CapabilityError
   */
  async reschedule(id: string, delay: Delay, { queue }: FindOptions = {}): Promise<RescheduleResult> {
    checkJob(id, queue, 'reschedule()');
    const wanted = checkDelay(delay, 'the delay of reschedule()');
    return this.#move(id, wanted instanceof Date ? { dueAt: wanted.getTime() } : { delay: wanted }, queue);
  }

  /**
   * Makes a delayed job ready, at the tail of its queue, also one that waits for its next attempt. Results as of `reschedule`.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, CapabilityError
   */
  async promote(id: string, { queue }: FindOptions = {}): Promise<Exclude<RescheduleResult, 'rescheduled'>> {
    checkJob(id, queue, 'promote()');
    const result = await this.#move(id, { delay: 0 }, queue);
    return result === 'rescheduled' ? 'ready' : result;
  }

  async #move(id: string, to: Pick<Entry, 'delay' | 'dueAt'>, queue: string | undefined): Promise<RescheduleResult> {
    const connection = this.#driver();
    const { control, name, driver } = connection;
    if (control?.reschedule === undefined) throw new CapabilityError(name, driver, 'reschedule');
    const [entry] = await entriesFor(connection, [{ entry: { ...to, payload: '' } }]);
    const result = await control.reschedule(id, { delay: entry!.delay, dueAt: entry!.dueAt }, queue);
    if (result === 'debounced') throw debouncedJob(id);
    return result;
  }

  /**
   * Pauses a queue: once this resolves, no worker gets a job from it; running jobs go on, and pushed jobs wait. False if it was
   * already paused; its end is then replaced by the one given here.
   *
   * @param options `for`: how long, by the store's clock; default: until it is resumed
   * @throws E_INVALID_QUEUE_NAME, E_INVALID_DURATION, CapabilityError
   */
  async pause(queue: string = this.defaultQueue, options: PauseOptions = {}): Promise<boolean> {
    checkQueueName(queue, 'queue of pause()', ONE_AT_A_TIME);
    return this.#control().pause(queue, secondsOf(options));
  }

  /**
   * Pauses all queues that were ever used, and the default queue; queues that are first used later are not paused. Resolves to
   * their names.
   *
   * @throws E_INVALID_DURATION, CapabilityError
   */
  async pauseAll(options: PauseOptions = {}): Promise<string[]> {
    const [control, seconds] = [this.#control(), secondsOf(options)];
    const queues = [...new Set([this.defaultQueue, ...(await this.#driver().queues.names())])].toSorted();
    for (const queue of queues) await control.pause(queue, seconds);
    return queues;
  }

  /** Resumes all paused queues, and resolves to their names. @throws CapabilityError */
  async resumeAll(): Promise<string[]> {
    const control = this.#control();
    const queues = (await control.paused()).map(({ queue }) => queue);
    for (const queue of queues) await control.resume(queue);
    return queues;
  }

  /** Lets workers take jobs from the queue again. False if it was not paused. @throws E_INVALID_QUEUE_NAME, CapabilityError */
  async resume(queue: string = this.defaultQueue): Promise<boolean> {
    checkQueueName(queue, 'queue of resume()', ONE_AT_A_TIME);
    return this.#control().resume(queue);
  }

  /** Whether the queue is paused. @throws E_INVALID_QUEUE_NAME, CapabilityError */
  async isPaused(queue: string = this.defaultQueue): Promise<boolean> {
    checkQueueName(queue, 'queue of isPaused()', ONE_AT_A_TIME);
    return (await this.pausedQueues()).includes(queue);
  }

  /** The names of the paused queues, sorted. @throws CapabilityError */
  async pausedQueues(): Promise<string[]> {
    return (await this.pauses()).map(({ queue }) => queue);
  }

  /** The paused queues, sorted by name, and until when they are paused. @throws CapabilityError */
  async pauses(): Promise<QueuePause[]> {
    const pauses = await this.#control().paused();
    return pauses.map(({ queue, until }) => ({ queue, until: dateOf(until) }));
  }

  /**
   * One lane of a queue: `Queue.lane('sync', 'tenant-7').limit(10)`. The key is what `by` of the option `lane` returns.
   *
   * @throws E_INVALID_QUEUE_NAME, E_INVALID_LANE_KEY, CapabilityError
   */
  lane(queue: string, key: string | number): QueueLane {
    checkQueueName(queue, 'queue of lane()', ONE_AT_A_TIME);
    return new QueueLane(this.#driver(), queue, key);
  }

  /**
   * One page of the lanes of a queue: how many of their jobs are in (ready or running), held, and may be in.
   *
   * @throws E_INVALID_QUEUE_NAME, CapabilityError
   */
  async lanes(queue: string = this.defaultQueue, options: LaneListOptions = {}): Promise<LaneList> {
    checkQueueName(queue, 'queue of lanes()', ONE_AT_A_TIME);
    const { lanes, next } = await laneStore(this.#driver()).list(queue, options.after);
    return { lanes, next };
  }

  /**
   * Lets at most `running` jobs of a queue run at a time, over all workers of the store; the others wait. Kept in the store until
   * it is changed; `undefined` removes it. It stops no job that runs. How many jobs one worker runs is its `concurrency`.
   *
   * @throws E_INVALID_QUEUE_NAME, E_INVALID_LIMIT, CapabilityError
   */
  async limit(queue: string, limit: { readonly running: number } | undefined): Promise<void> {
    checkQueueName(queue, 'queue of limit()', ONE_AT_A_TIME);
    const running: unknown = limit === undefined ? undefined : (limit as typeof limit | null)?.running;
    if (limit !== undefined && !(Number.isSafeInteger(running) && (running as number) >= 1))
      throw invalidLimit(queue, limit);
    const { control, name, driver } = this.#driver();
    if (control?.limit === undefined) throw new CapabilityError(name, driver, 'limits');
    await control.limit(queue, limit?.running);
  }

  /** The queues with a limit, sorted by name. @throws CapabilityError */
  async limits(): Promise<readonly RunningLimit[]> {
    const { control, name, driver } = this.#driver();
    if (control?.limits === undefined) throw new CapabilityError(name, driver, 'limits');
    return control.limits();
  }

  /**
   * Tells all workers of the store to finish their jobs and exit, so that whatever started them starts them again, with the
   * current code and configuration. Resolves once the order is stored; workers obey at their next reserve.
   *
   * @throws CapabilityError
   */
  async restart(): Promise<void> {
    return this.#control().restart();
  }

  #control(): Control {
    const { control, name, driver } = this.#driver();
    if (control === undefined) throw new CapabilityError(name, driver, 'control');
    return control;
  }
}

function secondsOf({ for: time }: PauseOptions): Seconds | undefined {
  return time === undefined ? undefined : lastingSeconds(time, 'the time of a pause');
}

/** @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME */
function checkJob(id: unknown, queue: string | undefined, call: string): void {
  // In JavaScript, a dispatch that was not awaited would be looked up as [object Promise].
  if (typeof id !== 'string' || id === '') throw invalidJobId(id);
  if (queue !== undefined) checkQueueName(queue, `queue of ${call}`, ONE_AT_A_TIME);
}

/** In characters; databases have a column of that length. */
const LONGEST_REASON = 255;

/** @throws E_INVALID_CANCEL_REASON */
function checkCancelReason(reason: unknown): void {
  const isText = typeof reason === 'string' && reason.trim() !== '' && reason.length <= LONGEST_REASON;
  // One line, because it appears in log lines; and well-formed, because every store must be able to keep it.
  if (!isText || /\p{Cc}/u.test(reason) || !reason.isWellFormed()) throw invalidCancelReason(reason, LONGEST_REASON);
}
