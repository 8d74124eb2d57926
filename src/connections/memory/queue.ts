/** The waiting and running jobs of one queue, and their moves from state to state. */
import type { Seconds } from '../../base/clock';
import {
  afterReclaim,
  afterReserve,
  countersIn,
  hasId,
  readCountersOfAny,
  withCounters,
  withId,
  type Counters,
} from '../../payload/counters';
import { fieldsIn } from '../../payload/values';
import { uuidv7 } from '../../payload/uuid';
import {
  WAITING_STATES,
  type Counts,
  type PeekedJob,
  type PlacedJob,
  type WaitingState,
  type CancelResult,
  type LaneChange,
} from '../contract';
import { keepsPlace, MemoryLanes } from './lanes';
import { bytesOf, SortedTexts, TextList, textOf, type Budget, type Scored, type Text } from './texts';

export interface Taken {
  readonly text: Text;
  readonly counters: Counters;
}

export interface Take {
  readonly limit: number;
  readonly leaseEnd: Seconds;
  readonly budget: Budget;
  /** Called with texts that are not JSON objects. */
  readonly setAside: (payload: Buffer) => void;
}

/** A whole queue, for tests that compare states. Scores are seconds since 1970. */
export interface MemoryQueueState {
  readonly ready: readonly Buffer[];
  readonly delayed: readonly (readonly [payload: Buffer, due: Seconds])[];
  readonly reserved: readonly (readonly [payload: Buffer, leaseEnd: Seconds])[];
  /** Absent if none is. */
  readonly held?: readonly Buffer[];
}

/** Collections of payloads that are as cheap at their ends as those of Redis, and the limit of what one call may move. */
export class MemoryQueue {
  readonly ready = new TextList();
  readonly delayed = new SortedTexts();
  readonly reserved = new SortedTexts();
  /**
   * Jobs cancelled while they ran, by id: true, or the reason. Whoever holds them is told, and so is whoever reserves them
   * next.
   */
  readonly #cancelled = new Map<string, true | string>();
  readonly lanes = new MemoryLanes();
  /** Counts the moves, so that of two jobs due at the same moment the one moved first comes up first. */
  #moves = 0;

  /** At the tail, those whose lane has room; the others are held. */
  enter(text: Text): void {
    this.#appendAll(this.lanes.move([], [text]));
  }

  /** The same for jobs that were delayed. */
  becomeReady(texts: readonly Text[]): void {
    this.#appendAll(this.lanes.isUsed ? this.lanes.move([], texts, true) : texts);
  }

  /** These have ended, or wait elsewhere: others come in for them. */
  leave(texts: readonly Text[]): void {
    if (this.lanes.isUsed) this.#appendAll(this.lanes.move(texts, []));
  }

  changeLane(key: string, change: LaneChange): void {
    this.#appendAll(this.lanes.change(key, change));
  }

  #appendAll(texts: readonly Text[]): void {
    for (const text of texts) this.ready.append(text);
  }

  /** A job that already waits as delayed gets the new moment. */
  delay(text: Text, due: Seconds): void {
    this.delayed.set(text, due, ++this.#moves);
  }

  /** The delayed job with this id. Looks at every one. */
  delayedJob(id: string): Text | undefined {
    return this.delayed.firstOf(Infinity).find(({ text }) => idOf(text) === id)?.text;
  }

  /** A waiting job with the same text would swallow it, so it gets another id. */
  delayBeside(text: Text, due: Seconds): void {
    this.delay(unlike(this.delayed, text), due);
  }

  /** Due jobs go to the tail, in the order of their moments. */
  promote(now: Seconds, budget: Budget): void {
    this.becomeReady(due(this.delayed, now, budget));
  }

  /**
   * Jobs whose lease has ended go to the head, in the order of the ends. Counts a crash instead of a try, and returns the
   * new texts.
   */
  reclaim(now: Seconds, budget: Budget): readonly Text[] {
    const reclaimed = due(this.reserved, now, budget).map((text) => {
      const payload = bytesOf(text);
      return textOf(withCounters(payload, afterReclaim(countersIn(payload)!)));
    });
    if (reclaimed.length > 0) this.ready.prepend(reclaimed);
    return reclaimed;
  }

  take({ limit, leaseEnd, budget, setAside }: Take): readonly Taken[] {
    const taken: Taken[] = [];
    const rank = ++this.#moves;
    while (taken.length < limit) {
      const text = this.ready.first();
      if (text === undefined || !budget.charge(text)) break;
      this.ready.take();
      const payload = bytesOf(text);
      const waiting = countersIn(payload);
      const identified = hasId(payload);
      // Our counters after a text that is not JSON: there is no id to be found.
      if (waiting === undefined || (!identified && readCountersOfAny(payload) === undefined)) {
        setAside(payload);
        continue;
      }
      const counters = afterReserve(waiting);
      const reserved = withCounters(payload, counters);
      const unique = unlike(this.reserved, textOf(identified ? reserved : withId(reserved, uuidv7())));
      this.reserved.set(unique, leaseEnd, rank);
      taken.push({ text: unique, counters });
    }
    return taken;
  }

  /** The job has ended: its cancellation is not meant for a later job with its id. */
  forgetCancelled(reserved: Text): void {
    if (this.#cancelled.size > 0) this.#cancelled.delete(String(idOf(reserved)));
  }

  /**
   * Looks at every job of the queue.
   *
   * @param left called with the removed job
   */
  cancel(id: string, reason: string | undefined, left: (text: Text) => void): CancelResult {
    const isMeant = (text: Text): boolean => idOf(text) === id;
    const running = this.reserved.firstOf(Infinity).find(({ text }) => isMeant(text));
    if (running !== undefined) {
      this.#cancelled.set(id, reason ?? true);
      return 'signalled';
    }
    // The job may have been given back after it was told to end; a later job with its id was not.
    this.#cancelled.delete(id);
    const delayed = this.delayedJob(id);
    if (delayed !== undefined) this.delayed.delete(delayed);
    const ready = delayed === undefined ? this.ready.remove(isMeant) : undefined;
    const removed = delayed ?? ready ?? this.lanes.remove(isMeant);
    if (removed === undefined) return 'unknown';
    left(removed);
    if (removed === ready || (removed === delayed && keepsPlace(removed))) this.leave([removed]);
    return 'removed';
  }

  /** Whether it was cancelled, or the reason. */
  cancelled(reserved: Text): boolean | string {
    return this.#cancelled.size > 0 && (this.#cancelled.get(String(idOf(reserved))) ?? false);
  }

  /** False if nobody holds this reservation any more. */
  renew(reserved: Text, leaseEnd: Seconds): boolean {
    if (!this.reserved.has(reserved)) return false;
    this.reserved.set(reserved, leaseEnd, ++this.#moves);
    return true;
  }

  /** The moment when another look is worthwhile. −Infinity: there are ready jobs now. @param isFull they may not run yet */
  nextAt(isFull: boolean): Seconds {
    if (!isFull && this.ready.size > 0) return -Infinity;
    return Math.min(this.delayed.first()?.score ?? Infinity, this.reserved.first()?.score ?? Infinity);
  }

  get isEmpty(): boolean {
    return this.ready.size + this.delayed.size + this.reserved.size + this.lanes.heldCount === 0;
  }

  /** Whether nothing is lost with it: no job, and nothing that was set by hand for a lane. */
  get mayBeForgotten(): boolean {
    return this.isEmpty && this.lanes.areEmpty;
  }

  get counts(): Counts {
    return {
      ready: this.ready.size + this.lanes.heldCount,
      delayed: this.delayed.size,
      reserved: this.reserved.size,
    };
  }

  /** @param after how many jobs of the state to skip */
  peek(state: WaitingState, limit: number, after = 0): readonly PeekedJob[] {
    return this.#all(state, after + limit)
      .slice(after)
      .map((job, index) => ({ ...shown(job), place: String(after + index + 1) }));
  }

  /** Looks at every job. */
  find(id: string): Pick<PlacedJob, 'state' | 'payload' | 'at'> | undefined {
    for (const state of WAITING_STATES) {
      const found = this.#all(state, Infinity).find(({ text }) => idOf(text) === id);
      if (found !== undefined) return { state, ...shown(found) };
    }
    return undefined;
  }

  #all(state: WaitingState, limit: number): readonly (Pick<Scored, 'text'> & Partial<Scored>)[] {
    if (state === 'ready') {
      const texts = this.ready.firstOf(limit);
      const held = texts.length < limit ? [...this.lanes.held()].slice(0, limit - texts.length) : [];
      return [...texts, ...held].map((text) => ({ text }));
    }
    return (state === 'delayed' ? this.delayed : this.reserved).firstOf(limit);
  }

  *texts(): Iterable<Text> {
    yield* this.ready.firstOf(Infinity);
    yield* this.lanes.held();
    for (const texts of [this.delayed, this.reserved]) for (const { text } of texts.firstOf(Infinity)) yield text;
  }

  clear(): void {
    this.ready.clear();
    this.delayed.clear();
    this.reserved.clear();
    this.#cancelled.clear();
    this.lanes.clear();
  }

  snapshot(): MemoryQueueState {
    const scored = (texts: SortedTexts): [Buffer, Seconds][] =>
      texts.firstOf(Infinity).map(({ text, score }) => [bytesOf(text), score]);
    return {
      ready: this.ready.firstOf(Infinity).map(bytesOf),
      delayed: scored(this.delayed),
      reserved: scored(this.reserved),
      ...(this.lanes.heldCount > 0 && { held: [...this.lanes.held()].map(bytesOf) }),
    };
  }
}

function shown({ text, score }: Pick<Scored, 'text'> & Partial<Scored>): PeekedJob {
  return { payload: bytesOf(text), ...(score !== undefined && { at: Math.round(score * 1000) }) };
}

function idOf(text: Text): unknown {
  return fieldsIn(bytesOf(text).toString())?.['id'];
}

/** Removes and returns the due texts, as long as the budget lasts. */
function due(texts: SortedTexts, now: Seconds, budget: Budget): readonly Text[] {
  const taken: Text[] = [];
  for (let next = texts.first(); next !== undefined && next.score <= now; next = texts.first()) {
    if (!budget.charge(next.text)) break;
    texts.delete(next.text);
    taken.push(next.text);
  }
  return taken;
}

/** The text itself or, if there is an equal one, the same job under another id. */
function unlike(texts: SortedTexts, text: Text): Text {
  return texts.has(text) ? textOf(withId(bytesOf(text), uuidv7())) : text;
}
