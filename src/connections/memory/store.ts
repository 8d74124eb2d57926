/** One memory store, shared by its connections. Every method is one step, like a script in Redis. */
import type { Clock, Milliseconds, Seconds } from '../../base/clock';
import type { FailedEntry } from '../failed-store';
import { withCounters, NOT_AN_OBJECT, UNREADABLE_NAME } from '../../payload/counters';
import { isPutOff, readTies, type DebounceTie, type TiedJob, type Ties } from '../../payload/ties';
import { uuidv7 } from '../../payload/uuid';
import type { NewBatch } from '../batch-store';
import {
  pauseOf,
  type Entry,
  type LaneChange,
  type FollowUp,
  type Once,
  type PageToPush,
  type PlacedJob,
  type Pushed,
  type PushedOnce,
  type RenewResult,
  type RescheduleResult,
  type Reservation,
  type ReserveReply,
  type SetAside,
  type Settlement,
  type SettleResult,
  type Wanted,
  type CancelResult,
  type Pause,
  type RunningLimit,
} from '../contract';
import { Recent } from '../../base/collections';
import { batchEnded, DuplicatePayloadError } from '../errors';
import { joined, skipped } from '../kit/batch-counts';
import { FailedLog, MemoryLockStore, MemoryRecordStore } from './kept';
import { Batches, UniqueKeys } from './ties';
import { keepsPlace } from './lanes';
import { MemoryQueue } from './queue';
import { Budget, bytesOf, textOf, type Text } from './texts';

/** An entry in stored form, as bytes. */
export interface MemoryEntry extends Omit<Entry, 'payload'> {
  readonly payload: Buffer;
}

/** As precise as Redis's scores; unrounded, a rounding error could delay a job. */
const toMicroseconds = (seconds: Seconds): Seconds => Math.round(seconds * 1e6) / 1e6;

export function entryOf(entry: Entry): MemoryEntry {
  return { ...entry, payload: Buffer.from(entry.payload) };
}

/** The kind of the records that hold the keys of `pushOnce`. */
const ONCE = 'once';

/** How many names of empty queues are remembered for `queues()`. */
const MOST_EMPTY = 1000;

function append(queue: MemoryQueue, text: Text, ties: Ties | undefined): void {
  if (ties?.lane === undefined) queue.ready.append(text);
  else queue.enter(text);
}

export class MemoryStore {
  readonly clock: Clock;
  readonly failed = new FailedLog();
  readonly locks: MemoryLockStore;
  readonly unique = new UniqueKeys();
  readonly batches: Batches;
  readonly records: MemoryRecordStore;
  /** When the pause of each queue ends; Infinity: when it is resumed. */
  readonly #pauses = new Map<string, Milliseconds>();
  /** How many jobs of a queue may be reserved at a time. */
  readonly #limits = new Map<string, number>();
  readonly #name: string;
  readonly #queues = new Recent<string, MemoryQueue>(MOST_EMPTY, (queue) => queue.mayBeForgotten);
  #restart: string | undefined;
  readonly #watchers = new Set<() => void>();

  /** @param kept the locks and records of another store, to share with it */
  constructor(name: string, clock: Clock, kept?: Pick<MemoryStore, 'locks' | 'records'>) {
    this.#name = name;
    this.clock = clock;
    this.batches = new Batches(clock, (followUp) => this.follow(followUp));
    this.locks = kept?.locks ?? new MemoryLockStore(clock);
    this.records = kept?.records ?? new MemoryRecordStore(() => clock.now());
  }

  get queueNames(): readonly string[] {
    return [...this.#queues.keys()];
  }

  /** A queue that nothing was pushed to is empty, and not remembered. */
  queue(name: string): MemoryQueue {
    return this.#queues.get(name) ?? new MemoryQueue();
  }

  /** All entries go in except refused ones; the error names the first of these. Undefined if all were queued. */
  push(name: string, entries: readonly MemoryEntry[], begins?: NewBatch): readonly Pushed[] | undefined {
    const batch = begins?.id ?? entries[0]?.ties?.batch?.id;
    const end = batch === undefined ? undefined : this.batches.begin(batch, begins);
    if (end !== undefined) throw batchEnded(this.#name, batch!, end);
    const { refused, others } = this.#push(name, entries);
    if (batch !== undefined) {
      const inside = others === undefined ? entries : entries.filter((entry) => !others.has(entry));
      this.batches.change(batch, joined(inside.map(({ ties }) => ties?.batch)));
    }
    this.changed();
    if (refused !== undefined) throw new DuplicatePayloadError(this.#name, name, refused.toString());
    return others && entries.map((entry) => others.get(entry) ?? 'queued');
  }

  pushOnce({ queue, entries, begins }: PageToPush, { key, until }: Once): PushedOnce {
    const left = (until - this.clock.now()) / 1000;
    if (until > 0 && left <= 0) return 'late';
    if (this.records.valueIn(ONCE, key) !== undefined) return 'before';
    if (until === 0) return 'late';
    const ties = entries.map((entry) => entry.ties?.batch);
    const isSkipped = begins === undefined && this.batches.change(ties[0]?.id, skipped(ties)) !== undefined;
    const pushed = isSkipped ? 'skipped' : this.push(queue, entries.map(entryOf), begins);
    this.records.set({ kind: ONCE, id: key, value: '' }, left);
    return pushed ?? entries.map(() => 'queued');
  }

  /** Looks at every job. */
  find(id: string, queues: readonly string[]): PlacedJob | undefined {
    for (const queue of queues) {
      const found = this.queue(queue).find(id);
      if (found !== undefined) return { queue, ...found };
    }
    return undefined;
  }

  /** `refused`: the first refused text. `others`: what happened to entries that are not simply queued. */
  #push(name: string, entries: readonly MemoryEntry[]) {
    const queue = this.#known(name);
    let refused: Buffer | undefined;
    let others: Map<MemoryEntry, Pushed> | undefined;
    const note = (entry: MemoryEntry, pushed: Pushed): void => void (others ??= new Map()).set(entry, pushed);
    for (const entry of entries) {
      const { payload, distinct = false, ties, ...when } = entry;
      const tied = ties && readTies(payload);
      if (ties?.lane !== undefined) queue.lanes.isUsed = true;
      if (tied?.debounce !== undefined) {
        const replaced = this.#debounce(queue, tied, tied.debounce, entry);
        if (replaced !== undefined) note(entry, { replaced });
        continue;
      }
      const holder = tied && this.unique.take(tied, this.clock.now());
      if (holder !== undefined) {
        note(entry, { duplicate: holder });
        continue;
      }
      const text = textOf(payload);
      const due = this.#due(when);
      if (due === undefined) append(queue, text, ties);
      else if (distinct && queue.delayed.has(text)) refused ??= payload;
      else queue.delay(text, due);
    }
    return { refused, others };
  }

  /** The id of the job that it replaces. Undefined if there is none. */
  #debounce(
    queue: MemoryQueue,
    { id }: TiedJob,
    { key, longest = Infinity }: DebounceTie,
    { payload, ties, ...when }: MemoryEntry,
  ): string | undefined {
    const last = this.unique.get(key);
    const waits = last?.waits !== undefined && last.waits.due > this.#in(0) && queue.delayed.delete(last.waits.text);
    const until = waits ? last.until : this.clock.now() + longest * 1000;
    const text = textOf(payload);
    const own = this.#due(when);
    const due = own && Math.min(own, toMicroseconds(until / 1000));
    if (due === undefined) append(queue, text, ties);
    else queue.delay(text, due);
    if (due === undefined) this.unique.delete(key);
    else this.unique.set(key, { id, until, waits: { text, due } });
    return waits && last.id !== id ? last.id : undefined;
  }

  reserve({ queues, limit, lease }: Wanted): ReserveReply {
    const now = this.#in(0);
    const [promoted, reclaimed, moved] = [new Budget(), new Budget(), new Budget()];
    const reservations: Reservation[] = [];
    const setAside: SetAside[] = [];
    for (const name of queues) {
      const queue = this.queue(name);
      queue.promote(now, promoted);
      for (const text of queue.reclaim(now, reclaimed)) this.unique.retake(text, this.clock.now());
      if (this.#isPaused(name)) continue;
      const taken = queue.take({
        limit: Math.min(limit - reservations.length, this.#room(name)),
        leaseEnd: this.#in(lease),
        budget: moved,
        setAside: (payload) => void setAside.push(this.#setAside(name, payload)),
      });
      for (const { text, counters } of taken) {
        const cancelled = queue.cancelled(text) || this.batches.isCancelled(text);
        this.unique.start(text);
        if (counters.releases > 0) this.unique.takeBack(text, this.clock.now());
        reservations.push({
          queue: name,
          payload: bytesOf(text),
          counters,
          token: text,
          ...(cancelled !== false && { cancelled }),
        });
      }
    }
    this.changed();
    const paused = queues.filter((name) => this.#isPaused(name));
    return {
      reservations,
      setAside,
      nextIn: this.nextIn(queues),
      now: this.clock.now(),
      ...(paused.length > 0 && { paused }),
      ...(this.#restart !== undefined && { restart: this.#restart }),
    };
  }

  settle(settlements: readonly Settlement[]): readonly SettleResult[] {
    // The texts that go back to the head of their queue, in their order.
    const front = new Map<MemoryQueue, Text[]>();
    const left = new Map<MemoryQueue, Text[]>();
    const results = settlements.map((settlement): SettleResult => {
      const { reservation, outcome } = settlement;
      const queue = this.queue(reservation.queue);
      const reserved = reservation.token as Text;
      if (!queue.reserved.delete(reserved)) return 'lost';
      const leaves = outcome !== 'released' || (this.#due(settlement) !== undefined && !keepsPlace(reserved));
      if (leaves && queue.lanes.isUsed) left.set(queue, [...(left.get(queue) ?? []), reserved]);
      if (outcome !== 'released') {
        queue.forgetCancelled(reserved);
        this.unique.leave(reserved);
        this.batches.leave([reserved], settlement);
      }
      if (outcome === 'failed') this.#fail(settlement);
      if (outcome === 'completed' || outcome === 'failed') {
        for (const next of settlement.next ?? []) this.follow(next);
      }
      if (outcome !== 'released') return 'settled';
      const text = textOf(withCounters(reservation.payload, settlement.counters));
      const isFree = settlement.counters.releases > reservation.counters.releases;
      if (settlement.frees) this.unique.leave(text);
      else if (isFree) this.unique.retake(text, this.clock.now());
      const due = this.#due(settlement);
      if (settlement.front) front.set(queue, [...(front.get(queue) ?? []), text]);
      else if (due === undefined) queue.ready.append(text);
      else queue.delayBeside(text, due);
      return 'settled';
    });
    for (const [queue, texts] of front) queue.ready.prepend(texts);
    for (const [queue, texts] of left) queue.leave(texts);
    this.changed();
    return results;
  }

  renew(reservation: Reservation, lease: Seconds): RenewResult {
    const queue = this.queue(reservation.queue);
    const text = reservation.token as Text;
    if (!queue.renew(text, this.#in(lease))) return 'lost';
    return queue.cancelled(text) === false ? 'renewed' : 'cancelled';
  }

  /** Looks at every job. */
  cancel(
    id: string,
    queues: readonly string[],
    reason: string | undefined,
    left?: (queue: string, payload: Buffer) => void,
  ): CancelResult {
    for (const name of queues) {
      const result = this.queue(name).cancel(id, reason, (text) => {
        this.#leave([text]);
        left?.(name, bytesOf(text));
      });
      if (result !== 'unknown') return result;
    }
    return 'unknown';
  }

  /** Looks at every job. */
  reschedule(
    id: string,
    to: Pick<Entry, 'delay' | 'dueAt'>,
    queues: readonly string[],
  ): RescheduleResult | 'debounced' {
    for (const name of queues) {
      const queue = this.queue(name);
      const text = queue.delayedJob(id);
      if (text === undefined) continue;
      const due = this.#due(to);
      if (due === undefined) {
        queue.delayed.delete(text);
        queue.becomeReady([text]);
      } else {
        if (isPutOff(bytesOf(text))) return 'debounced';
        queue.delay(text, due);
      }
      this.changed();
      return due === undefined ? 'ready' : 'rescheduled';
    }
    const state = this.find(id, queues)?.state;
    return state === 'reserved' ? 'running' : state === 'ready' ? 'ready' : 'unknown';
  }

  changeLane(queue: string, lane: string, change: LaneChange): void {
    this.#known(queue).changeLane(lane, change);
    this.changed();
  }

  /** False if it was paused already. */
  pause(queue: string, seconds: Seconds = Infinity): boolean {
    const wasPaused = this.#isPaused(queue);
    this.#pauses.set(queue, this.clock.now() + seconds * 1000);
    return !wasPaused;
  }

  /** False if it was not paused. */
  resume(queue: string): boolean {
    const wasPaused = this.#isPaused(queue);
    this.#pauses.delete(queue);
    this.changed();
    return wasPaused;
  }

  /** False if it has jobs, or is not known. */
  forget(queue: string): boolean {
    const isKept = !this.queue(queue).isEmpty || [...this.failed.values()].some((entry) => entry.queue === queue);
    if (isKept || !this.#queues.has(queue)) return false;
    this.#queues.delete(queue);
    this.#pauses.delete(queue);
    return true;
  }

  get paused(): readonly Pause[] {
    for (const name of this.#pauses.keys()) if (!this.#isPaused(name)) this.#pauses.delete(name);
    return [...this.#pauses.keys()].toSorted().map((queue) => pauseOf(queue, this.#pauses.get(queue)!));
  }

  limit(queue: string, running: number | undefined): void {
    if (running === undefined) this.#limits.delete(queue);
    else this.#limits.set(queue, running);
    this.changed();
  }

  get limits(): readonly RunningLimit[] {
    return [...this.#limits.keys()].toSorted().map((queue) => ({ queue, running: this.#limits.get(queue)! }));
  }

  /** How many more jobs of the queue may be handed out. */
  #room(queue: string): number {
    const most = this.#limits.get(queue);
    return most === undefined ? Infinity : most - this.queue(queue).counts.reserved;
  }

  restart(): void {
    this.#restart = uuidv7();
  }

  /** An entry with the same id replaces the older one, and counts as the newest. */
  putFailed(entry: Omit<FailedEntry, 'failedAt'>): void {
    this.failed.put({ ...entry, failedAt: this.clock.now() });
  }

  /** Returns how many were removed. */
  clear(name: string): number {
    const { ready, delayed, reserved } = this.queue(name).counts;
    const texts = [...this.queue(name).texts()];
    this.queue(name).clear();
    this.#leave(texts);
    this.changed();
    return ready + delayed + reserved;
  }

  /** Seconds until one of the queues has a job; 0: now. */
  nextIn(queues: readonly string[]): Seconds {
    const moments = queues.map((name) =>
      this.#isPaused(name) ? this.#pauses.get(name)! / 1000 : this.queue(name).nextAt(this.#room(name) <= 0),
    );
    const next = Math.min(...moments, Infinity);
    return Math.max(toMicroseconds(next - this.#in(0)), 0);
  }

  /** Calls back after each change that may bring work, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Pushes a job that follows another one, or the end of a batch. */
  protected follow({ queue: name, entry }: FollowUp): void {
    const queue = this.#known(name);
    const { payload, ties, ...when } = entryOf(entry);
    if (ties?.lane !== undefined) queue.lanes.isUsed = true;
    const due = this.#due(when);
    if (due === undefined) append(queue, textOf(payload), ties);
    else queue.delayBeside(textOf(payload), due);
  }

  /** These were removed without a worker ending them. */
  #leave(texts: readonly Text[]): void {
    for (const text of texts) this.unique.leave(text);
    this.batches.leave(texts);
  }

  /** A queue that is remembered from now on. */
  #known(name: string): MemoryQueue {
    const queue = this.queue(name);
    this.#queues.set(name, queue);
    return queue;
  }

  #fail({ reservation, counters, failure }: Extract<Settlement, { outcome: 'failed' }>): void {
    const { queue, payload } = reservation;
    this.putFailed({
      ...failure,
      id: this.failed.get(failure.id) === undefined ? failure.id : uuidv7(),
      connection: this.#name,
      queue,
      payload: withCounters(payload, counters),
      attempts: counters.attempts,
    });
  }

  #isPaused(queue: string): boolean {
    return (this.#pauses.get(queue) ?? -Infinity) > this.clock.now();
  }

  /** Undefined if it is ready at once. */
  #due({ delay = 0, dueAt }: Pick<MemoryEntry, 'delay' | 'dueAt'>): Seconds | undefined {
    if (dueAt === undefined) return delay > 0 ? this.#in(delay) : undefined;
    return dueAt > this.clock.now() ? toMicroseconds(dueAt / 1000) : undefined;
  }

  /** The moment `seconds` from now. */
  #in(seconds: Seconds): Seconds {
    return toMicroseconds(this.clock.now() / 1000 + seconds);
  }

  #setAside(queue: string, payload: Buffer): SetAside {
    this.unique.leave(textOf(payload));
    const id = uuidv7();
    const why = { name: UNREADABLE_NAME, exception: NOT_AN_OBJECT };
    this.putFailed({ ...why, id, connection: this.#name, queue, payload, attempts: 0 });
    return { queue, id, reason: NOT_AN_OBJECT };
  }

  /** Notifies those who wait for work. */
  changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
