/** The jobs of a batch in chunks: a list at once, an iterable by the thousand as it comes. */
import { type Clock, endOfTurn, type Timer } from '../../base/clock';
import type { BatchMember, BatchSource } from '../../job/batch';
import { invalidBatch } from '../../job/errors';
import { ENCODED_AT_ONCE } from '../bulk';
import type { EncodedJob } from '../encoded-job';
import type { Members } from './members';

export interface Chunk {
  /** May be empty if the source is slow. */
  readonly jobs: readonly EncodedJob[];
  readonly isLast: boolean;
}

const JOBS = 1000;
const BYTES = 8 * 1024 * 1024;
/** Milliseconds for which jobs wait for more before they are sent. */
const PATIENCE = 10_000;

const LATE = Symbol('late');

type Came = IteratorResult<BatchMember>;

export class Chunks {
  /** A list is encoded completely before its first job is sent. */
  readonly isList: boolean;
  readonly #members: Members;
  readonly #source: Iterator<BatchMember> | AsyncIterator<BatchMember>;
  readonly #clock: Clock;
  #coming: Promise<Came> | undefined;
  #isClosed = false;

  /** @throws E_INVALID_BATCH */
  constructor(source: BatchSource, members: Members, clock: Clock) {
    this.isList = Array.isArray(source) || source instanceof Set;
    this.#members = members;
    this.#source = iteratorOf(source);
    this.#clock = clock;
  }

  /** @throws what the source throws, and any error of a job */
  async next(): Promise<Chunk> {
    const jobs: EncodedJob[] = [];
    const most = this.isList ? Infinity : JOBS;
    const start = this.#clock.monotonic();
    let bytes = 0;
    let timer: Timer | undefined;
    const late = new Promise<typeof LATE>((resolve) => {
      if (!this.isList) timer = this.#clock.after(PATIENCE, () => resolve(LATE), true);
    });
    try {
      for (let turn = 1; jobs.length < most && (this.isList || bytes < BYTES); turn += 1) {
        // Also counts members that are left out: a source may leave out nearly all.
        if (turn % ENCODED_AT_ONCE === 0) {
          await endOfTurn();
          if (!this.isList && this.#clock.monotonic() > start + PATIENCE) break;
        }
        const coming = (this.#coming ?? this.#source.next()) as Came | PromiseLike<Came>;
        // Database cursors return promises of their own class, and so does Node.js to code in a vm context.
        const came = isPromise(coming) ? await Promise.race([(this.#coming = Promise.resolve(coming)), late]) : coming;
        if (came === LATE) break;
        this.#coming = undefined;
        if (typeof came !== 'object' || came === null)
          throw invalidBatch(came, 'the next() of its source must return { done, value }.');
        if (came.done === true) return { jobs, isLast: true };
        const job = this.#members.encode(came.value);
        if (job === undefined) continue;
        jobs.push(job);
        bytes += job.entry.payload.length;
      }
      return { jobs, isLast: false };
    } catch (error) {
      this.close();
      throw error;
    } finally {
      timer?.cancel();
    }
  }

  /** Asks the source for no more, so that it frees its resources. Does not wait for that: it may hang. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const ignore = (): void => undefined;
    this.#coming?.catch(ignore);
    void (async () => this.#source.return?.())().catch(ignore);
  }
}

const isPromise = (coming: Came | PromiseLike<Came>): coming is PromiseLike<Came> =>
  typeof (coming as Partial<PromiseLike<Came>> | undefined)?.then === 'function';

function iteratorOf(source: BatchSource): Iterator<BatchMember> | AsyncIterator<BatchMember> {
  if (typeof source === 'object' && source !== null) {
    if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
    if (Symbol.iterator in source) return source[Symbol.iterator]();
  }
  if (typeof source === 'function')
    throw invalidBatch(
      source,
      'it takes an iterable, not a generator function: call it, as in Queue.batch(everybody()).',
    );
  throw invalidBatch(source, 'it takes a list of jobs, or an iterable of them.');
}
