/**
 * Where a driver keeps batches: how many of their jobs are left, and the jobs that they send at their events.
 *
 * A job belongs to a batch by its ties. Whatever ends the job updates the batch in the same step, and sends what is then
 * due: nobody has to be notified, and no count can be wrong after a crash.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import { withMembers } from '../payload/payload-text';
import type { FailedLink } from '../job/job-context';

/**
 * When a callback is sent, each event once in the life of a batch, except `progress`.
 *
 * `catch`: the first job failed. `finally`: no job is left. `then`: no job is left, all have completed, and the batch was
 * not cancelled. `next`: no job is left, the batch was not cancelled, and all jobs have completed, unless failures are
 * allowed: sends what follows the batch. `progress`: another `every` jobs have ended.
 */
export type BatchEvent = 'then' | 'catch' | 'finally' | 'next' | 'progress';

/** A job that a batch sends, into a queue that the store reaches in one step. */
export interface BatchCallback {
  readonly on: BatchEvent;
  readonly queue: string;
  /** Seconds from that step. */
  readonly delay?: Seconds | undefined;
  readonly dueAt?: Milliseconds | undefined;
  /**
   * Its payload up to the `"id"`, including the comma; `callbackPayload` says what follows. So a store can add the cause of
   * a failure without parsing the text.
   */
  readonly head: string;
  readonly id: string;
}

export interface NewBatch {
  readonly id: string;
  readonly name: string;
  /** Otherwise the first failure cancels it. */
  readonly allowsFailures: boolean;
  readonly callbacks: readonly BatchCallback[];
  /** `progress` is sent each time this many jobs have ended. Absent: never. */
  readonly every?: number | undefined;
  /**
   * More jobs will come in later calls, so the batch ends only once it is sealed. Seconds that may pass until the next call.
   * Absent: all jobs come with it.
   */
  readonly openFor?: Seconds | undefined;
}

/** The jobs that a batch sends, and the events that are over. */
export interface BatchCallbacks extends Pick<NewBatch, 'callbacks' | 'every'> {
  /** Events that have happened, except `progress`, which may happen again. */
  readonly sent: readonly BatchEvent[];
}

/** The state of a batch in its store. pending + completed + failed + skipped are all its jobs. */
export interface BatchState {
  readonly id: string;
  /** Where it is kept, if the store keeps the batches of each queue apart. */
  readonly queue?: string | undefined;
  readonly name: string;
  readonly allowsFailures: boolean;
  /** Jobs that wait or run, and the links behind them. */
  readonly pending: number;
  readonly completed: number;
  readonly failed: number;
  /** Cancelled, cleared, or behind a link that has failed. */
  readonly skipped: number;
  /** Milliseconds since 1970, by the store's clock. */
  readonly createdAt: Milliseconds;
  readonly cancelledAt?: Milliseconds | undefined;
  /** When no job was left. The retry of a failed job may remove it again. */
  readonly finishedAt?: Milliseconds | undefined;
  /** It is not sealed yet, and counts as abandoned after this moment, unless somebody is sure to go on. */
  readonly openUntil?: Milliseconds | undefined;
}

/** Why a store took no more jobs for a batch. */
export type BatchEnd = 'finished' | 'cancelled' | 'unknown';

/**
 * Batches are counted in the step that pushes their jobs and in the step that ends them in any way; jobs that follow a job of a
 * batch join before that job leaves. All are in one queue if `follows` reaches no other. Jobs of a cancelled batch are handed
 * out as cancelled. The retry of a failed job withdraws the cancellation. A store of batches needs `keys`.
 */
export interface BatchStore {
  /**
   * @param queue the queue of one of its jobs, for stores that keep the batches of each queue apart; absent: all queues are
   *   searched
   */
  find(id: string, queue?: string): Promise<BatchState | undefined>;
  /** The jobs that it sends. Undefined if it is not known. @param queue as in `find` */
  callbacks(id: string, queue?: string): Promise<BatchCallbacks | undefined>;
  /** Newest first. */
  list(options: { readonly limit: number; readonly offset?: number | undefined }): Promise<readonly BatchState[]>;
  /**
   * Postpones the moment when an open batch counts as abandoned, as each push of its jobs does: more will come. False if it
   * is not open.
   */
  hold(id: string, queue?: string): Promise<boolean>;
  /**
   * From now on only its own jobs add more: it ends when none is left. False if it was sealed before, or is unknown.
   *
   * @param abandoned seal it only if it is open beyond its time; then it is also cancelled, and `catch` is sent with this
   *   cause
   */
  seal(id: string, queue?: string, abandoned?: FailedLink): Promise<boolean>;
  /**
   * From now on its waiting jobs are handed out as cancelled; running jobs go on. False if it has ended, was cancelled
   * before, or is unknown.
   */
  cancel(id: string, queue?: string): Promise<boolean>;
  /**
   * Forgets batches that finished more than `olderThan` seconds ago; with `unfinished` also those created before that and
   * not finished. Returns how many.
   */
  prune(options: { readonly olderThan: Seconds; readonly unfinished?: boolean | undefined }): Promise<number>;
}

/** Finished batches are kept for a day. */
export const BATCH_KEPT: Seconds = 86_400;

/** The end of a payload made by `encodePayload`. */
const END = /"id":"([^"\\]+)","attempts":0}$/;

/** The parts of a payload made by `encodePayload`. */
export function callbackParts(payload: string): Pick<BatchCallback, 'head' | 'id'> {
  const [end, id] = END.exec(payload)!;
  return { head: payload.slice(0, payload.length - end.length), id: id! };
}

/** The text of a callback. @param number the number of a progress: each has an id of its own */
export function callbackPayload(
  { head, id }: Pick<BatchCallback, 'head' | 'id'>,
  cause?: FailedLink,
  number?: number,
): string {
  const told = cause === undefined ? '' : `"cause":${JSON.stringify(cause)},`;
  const payload = `${head}"id":"${id}${number === undefined ? '' : `-${number}`}","attempts":0}`;
  return told === '' ? payload : withMembers(payload, told);
}

/** The number of a progress from a callback's id, which is a UUID followed by that number. */
export function progressNumber(id: string): number | undefined {
  const number = id.slice(37);
  return number === '' ? undefined : Number(number);
}
