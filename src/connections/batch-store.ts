/**
 * Where a driver keeps batches: how many of their jobs are left, and the jobs that are sent when something becomes of them.
 *
 * A job belongs to a batch by its ties. Whatever ends it counts in the step that does so, and sends in that step what is due by
 * it: nobody has to be told, and no count can be off by a crash.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Cause } from '../payload/chain';

/**
 * When a callback is sent, each once in the life of a batch but `progress`.
 *
 * `catch`: the first job has failed. `finally`: none is left. `then`: none is left, all have completed, and it was not cancelled. `next`: none is left, it was
 * not cancelled, and all have completed unless failures are allowed: what goes on behind it. `progress`: so many more have ended.
 */
export type BatchEvent = 'then' | 'catch' | 'finally' | 'next' | 'progress';

/** A job that is sent by a batch, into a queue that the store reaches in one step. */
export interface BatchCallback {
  readonly on: BatchEvent;
  readonly queue: string;
  /** Seconds from that step. */
  readonly delay?: Seconds | undefined;
  readonly dueAt?: Milliseconds | undefined;
  /**
   * Its payload up to the `"id"`, a comma included: `callbackPayload` says what stands behind it. So a store adds the cause of a
   * failure without reading the text.
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
  /** After so many jobs that have ended `progress` is sent; absent: never. */
  readonly every?: number | undefined;
  /** More jobs come in later calls: it ends only once it was sealed. So many seconds each call may take. Absent: all come with it. */
  readonly openFor?: Seconds | undefined;
}

/** What a batch sends, and what of it is sent no more. */
export interface BatchCallbacks extends Pick<NewBatch, 'callbacks' | 'every'> {
  /** Events that have come, without `progress`, which may come again. */
  readonly sent: readonly BatchEvent[];
}

/** What a store tells of a batch. In it, pending + completed + failed + skipped are all its jobs. */
export interface BatchState {
  readonly id: string;
  /** Where it is kept, in a store that keeps the batches of each queue apart. */
  readonly queue?: string | undefined;
  readonly name: string;
  readonly allowsFailures: boolean;
  /** Jobs that wait or run, and the links behind them. */
  readonly pending: number;
  readonly completed: number;
  readonly failed: number;
  /** Cancelled, cleared, or behind a link that has failed. */
  readonly skipped: number;
  /** Milliseconds since 1970, by the clock of the store. */
  readonly createdAt: Milliseconds;
  readonly cancelledAt?: Milliseconds | undefined;
  /** None was left. It may be taken back by the retry of one that has failed. */
  readonly finishedAt?: Milliseconds | undefined;
  /** Who sends its jobs has not sealed it yet, and is given up then. */
  readonly openUntil?: Milliseconds | undefined;
}

/** Why a store took no more jobs for a batch. */
export type BatchEnd = 'finished' | 'cancelled' | 'unknown';

export interface BatchStore {
  /** @param queue one of its jobs' queues, where the store keeps the batches of each queue apart; absent: all are looked at */
  find(id: string, queue?: string): Promise<BatchState | undefined>;
  /** What it sends. Undefined: it is not known. @param queue as of `find` */
  callbacks(id: string, queue?: string): Promise<BatchCallbacks | undefined>;
  /** Newest first. */
  list(options: { readonly limit: number; readonly offset?: number | undefined }): Promise<readonly BatchState[]>;
  /** One that is open counts as abandoned later, as with each push of its jobs: more are to come. False: it is not open. */
  hold(id: string, queue?: string): Promise<boolean>;
  /**
   * No more jobs come but from its own: it ends when none is left. False: it was sealed before, or is unknown.
   *
   * @param abandoned only where it is open beyond its time: it is cancelled as well, and `catch` is told this cause
   */
  seal(id: string, queue?: string, abandoned?: Cause): Promise<boolean>;
  /** Its jobs that wait are handed out as cancelled from now on; those that run go on. False: it has ended, was cancelled before, or is unknown. */
  cancel(id: string, queue?: string): Promise<boolean>;
  /** Forgets those that finished more than `olderThan` seconds ago; with `unfinished` also those created then that have not. Returns how many. */
  prune(options: { readonly olderThan: Seconds; readonly unfinished?: boolean | undefined }): Promise<number>;
}

/** Finished batches are kept for a day. */
export const BATCH_KEPT: Seconds = 86_400;

/** What stands at the end of a payload that `encodePayload` gave. */
const END = /"id":"([^"\\]+)","attempts":0}$/;

/** Of a payload that `encodePayload` gave. */
export function callbackParts(payload: string): Pick<BatchCallback, 'head' | 'id'> {
  const [end, id] = END.exec(payload)!;
  return { head: payload.slice(0, payload.length - end.length), id: id! };
}

/** The text of a callback. @param number of the progress that it is sent for: each has an id of its own */
export function callbackPayload(
  { head, id }: Pick<BatchCallback, 'head' | 'id'>,
  cause?: Cause,
  number?: number,
): string {
  const told = cause === undefined ? '' : `"cause":${JSON.stringify(cause)},`;
  return `${head}${told}"id":"${id}${number === undefined ? '' : `-${number}`}","attempts":0}`;
}

/** Of the id of a callback: an UUID, and behind it that of the progress. */
export function progressNumber(id: string): number | undefined {
  const number = id.slice(37);
  return number === '' ? undefined : Number(number);
}
