/** The tools of the cases: an open store, names for common steps, and probes to push. */
import assert from 'node:assert/strict';
import { type Milliseconds, type Seconds, Silence, systemClock, within } from '../../base/clock';
import type { BatchStore, NewBatch } from '../../connections/batch-store';
import {
  type Connection,
  type Control,
  type Counts,
  type Entry,
  type PeekedJob,
  type Pushed,
  type Reservation,
  type ReserveReply,
  type SetAside,
  type Settled,
  type Settlement,
  type SettleResult,
  WAITING_STATES,
  type Wanted,
} from '../../connections/contract';
import type { FailedEntry, FailedStore } from '../../connections/failed-store';
import type { LockStore } from '../../connections/lock-store';
import type { RecordStore } from '../../connections/record-store';
import {
  afterFailedAttempt,
  afterFreeRelease,
  afterRetry,
  type Counters,
  noCounters,
  readCounters,
  withCounters,
} from '../../payload/counters';
import type { ConformanceHarness } from './harness';

/** Long enough for a slow machine, and shorter than the limit of a test runner, so that a case can report what hangs. */
const LONGEST_WAIT_MS = 4_000;

/** Seconds. Longer than a case may take, so that a wait that nobody ends fails it. */
const LONG = 30;

/** More calls than any case needs to empty a queue. */
const MOST_CALLS = 50;

/** What a call does besides settling. A driver has two ways to get wrong. */
export type Way = 'alone' | 'with a reserve';

type Job = Pick<Reservation, 'payload'>;

/** One reservation for each id. */
export type Reserved<Ids extends readonly string[]> = { [Index in keyof Ids]: Reservation };

/** A job payload as Onqueue writes it. */
export const probe = (id: string): string =>
  `{"displayName":"Probe","job":"onqueue","data":{"commandName":"Probe","command":{}},"id":"${id}","attempts":0}`;

/** The same with these counters, as they stand in the text. */
export const probeWith = (counters: string, id = 'a'): string => probe(id).replace('"attempts":0', counters);

/** `count` ids: probe-1, probe-2, … */
export const numbered = (count: number, prefix = 'probe'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);

export const idOf = (job: Job): unknown => (JSON.parse(job.payload.toString()) as { id?: unknown }).id;

export const idsOf = (jobs: readonly Job[]): readonly unknown[] => jobs.map(idOf);

export const completed = (reservation: Reservation) => ({ outcome: 'completed', reservation }) as const;

export const cancelled = (reservation: Reservation): Settlement => ({ outcome: 'cancelled', reservation });

const releasedWith = (reservation: Reservation, delay: Seconds, counters: Counters) =>
  ({ outcome: 'released', reservation, delay, counters }) as const;

/** Costs a try, as `this.release()` does. */
export const released = (reservation: Reservation, delay: Seconds = 0) =>
  releasedWith(reservation, delay, reservation.counters);

/** Tried again, after an attempt that has failed. */
export const triedAgain = (reservation: Reservation, delay: Seconds = 0) =>
  releasedWith(reservation, delay, afterFailedAttempt(reservation.counters));

/** Costs no try, as when a worker shuts down. */
export const releasedForFree = (reservation: Reservation) =>
  releasedWith(reservation, 0, afterFreeRelease(reservation.counters));

/** Gives back a job that was not started: it goes to the head of its queue. */
export const givenBack = (reservation: Reservation): Settlement => ({ ...releasedForFree(reservation), front: true });

export const failed = (reservation: Reservation) =>
  ({
    outcome: 'failed',
    reservation,
    counters: afterFailedAttempt(reservation.counters),
    failure: { id: String(idOf(reservation)), name: 'Probe', exception: 'Error: probe\n    at probe.js:1:1' },
  }) as const;

export const isToRun = (reservation: Reservation): boolean => (reservation.cancelled ?? false) === false;

/** Asserts that a job has the counters of a first attempt, except for these. */
export function counted(job: Reservation | undefined, counters: Partial<Counters>): void {
  assert.deepEqual(job?.counters, { ...noCounters, attempts: 1, ...counters });
}

/** Checks the code of an error, because programs match on it. */
export async function rejectsWithCode(action: () => unknown, code: string, what: string): Promise<void> {
  const isRightCode = (error: unknown): boolean => {
    assert.equal((error as { code?: unknown }).code, code, `${what} is refused with its code`);
    return true;
  };
  await assert.rejects(async () => action(), isRightCode, `${what} is refused`);
}

export class World {
  readonly connection: Connection;
  /** Another client of the same store. */
  readonly other: Connection;
  readonly queue = 'probes';
  readonly secondQueue = 'more-probes';
  readonly queues = [this.queue, this.secondQueue];
  /** A queue that a batch of `queue` can push jobs to. */
  readonly neighbour: string;
  /** Parts of the two connections. A case uses only those that its capabilities promise. */
  readonly failedStore: FailedStore;
  readonly lockStore: LockStore;
  readonly batches: BatchStore;
  readonly records: RecordStore;
  readonly otherRecords: RecordStore;
  readonly control: Control;
  readonly otherControl: Control;
  readonly #harness: ConformanceHarness;

  constructor(harness: ConformanceHarness, other: Connection) {
    const { connection } = harness;
    this.failedStore = connection.failed!;
    this.lockStore = connection.locks!;
    this.batches = connection.batches!;
    [this.records, this.otherRecords] = [connection.records!, other.records!];
    [this.control, this.otherControl] = [connection.control!, other.control!];
    this.#harness = harness;
    this.connection = connection;
    this.neighbour = harness.neighbour?.(this.queue) ?? this.secondQueue;
    this.other = other;
  }

  async advance(seconds: Seconds): Promise<void> {
    await this.#harness.advance(seconds);
  }

  /** The time by the clock of the store. */
  async now(): Promise<Milliseconds> {
    assert(this.connection.now !== undefined, 'a driver with due times tells the time of its store');
    return this.connection.now();
  }

  /** Lets both clients act at the same time, `count` times in all, each time with another id: those of `numbered(count)`. */
  async atOnce<Result>(
    count: number,
    act: (client: Connection, id: string) => Promise<Result>,
  ): Promise<readonly Result[]> {
    const clients = [this.connection, this.other];
    return Promise.all(numbered(count).map((id, index) => act(clients[index % 2]!, id)));
  }

  /** Pushes probes with these ids. */
  async push(...ids: readonly string[]): Promise<void> {
    await this.pushTo(this.queue, ...ids);
  }

  async pushTo(queue: string, ...ids: readonly string[]): Promise<void> {
    const entries = ids.map((id) => ({ payload: probe(id) }));
    await this.pushEntries(entries, queue);
  }

  async otherPushes(...ids: readonly string[]): Promise<void> {
    const entries = ids.map((id) => ({ payload: probe(id) }));
    await this.other.push(this.queue, entries);
  }

  async pushText(...texts: readonly string[]): Promise<void> {
    await this.pushEntries(texts.map((payload) => ({ payload })));
  }

  async pushEntries(entries: readonly Entry[], queue: string = this.queue): Promise<void> {
    await this.connection.push(queue, entries);
  }

  /** What became of each entry of a push. */
  async pushed(entries: readonly Entry[], queue = this.queue, begins?: NewBatch): Promise<readonly Pushed[]> {
    return (await this.connection.push(queue, entries, begins)) ?? entries.map(() => 'queued');
  }

  async pushLater(id: string, delay: Seconds, queue: string = this.queue): Promise<void> {
    await this.pushEntries([{ payload: probe(id), delay }], queue);
  }

  /** Reserves, by default one job of the first queue for ten minutes. */
  async reserve(request: Partial<Wanted> = {}, connection = this.connection): Promise<ReserveReply> {
    const wanted = { queues: [this.queue], limit: 1, lease: 600, ...request };
    return (await connection.exchange([], wanted)).reply;
  }

  async reserveOne(request: Partial<Wanted> = {}): Promise<Reservation> {
    const { reservations } = await this.reserve(request);
    assert.equal(reservations.length, 1, `one job can be reserved, not ${reservations.length}`);
    return reservations[0]!;
  }

  /** Reserves until nothing is left for now. One call may hand out less than its limit. */
  async takeAll(request: Partial<Wanted> = {}) {
    const reservations: Reservation[] = [];
    const setAside: SetAside[] = [];
    for (let calls = 0; calls < MOST_CALLS; calls += 1) {
      const reply = await this.reserve({ limit: 100, ...request });
      reservations.push(...reply.reservations);
      setAside.push(...reply.setAside);
      if (reply.nextIn > 0) break;
    }
    return { reservations, setAside };
  }

  async reserveAll(request: Partial<Wanted> = {}): Promise<readonly Reservation[]> {
    return (await this.takeAll(request)).reservations;
  }

  /** Pushes a probe and reserves it. */
  async hold(id: string, lease = 600): Promise<Reservation> {
    await this.push(id);
    return this.reserveOne({ lease });
  }

  /** Pushes probes with these ids and reserves them together. */
  async holdAll<const Ids extends readonly string[]>(ids: Ids, lease = 600): Promise<Reserved<Ids>> {
    await this.push(...ids);
    return this.reserveEach(ids, lease);
  }

  /** Reserves these jobs, which are all that there are. */
  async reserveEach<const Ids extends readonly string[]>(ids: Ids, lease = 600): Promise<Reserved<Ids>> {
    const reservations = await this.reserveAll({ lease });
    assert.equal(reservations.length, ids.length, 'all of them are handed out');
    return reservations as Reserved<Ids>;
  }

  /** Asserts that exactly these jobs can be reserved now, in this order. */
  async handsOut(...ids: readonly string[]): Promise<void> {
    assert.deepEqual(idsOf(await this.reserveAll()), ids);
  }

  /** Asserts that these jobs were handed out, in this order if the driver keeps the order. */
  handedOut(jobs: readonly Job[], ids: readonly string[]): void {
    assert.equal(jobs.length, ids.length);
    if (this.connection.capabilities.order) assert.deepEqual(idsOf(jobs), ids);
    else assert.deepEqual(new Set(idsOf(jobs)), new Set(ids));
  }

  /** Reserves one job and asserts that it was not cancelled. */
  async handsOutToRun(): Promise<Reservation> {
    const reservation = await this.reserveOne();
    assert(isToRun(reservation), 'the job was not cancelled');
    return reservation;
  }

  async settle(
    settlements: readonly Settlement[],
    way: Way = 'alone',
    connection = this.connection,
  ): Promise<readonly SettleResult[]> {
    const elsewhere = { queues: ['never-pushed-to'], limit: 1, lease: 600 };
    return (await connection.exchange(settlements, way === 'alone' ? undefined : elsewhere)).results;
  }

  /** Settles, and reserves jobs of the first queue in the same call. */
  exchange(settlements: readonly Settlement[], limit: number): Promise<Settled> {
    return this.connection.exchange(settlements, { queues: [this.queue], limit, lease: 600 });
  }

  /** Waits in the store, by default until there may be something on the first queue. */
  async wait(wanted: Partial<Wanted> = {}): Promise<ReserveReply> {
    return this.reserve({ limit: 0, within: LONG, ...wanted });
  }

  async settles(...settlements: readonly Settlement[]): Promise<void> {
    const results = await this.settle(settlements);
    assert.deepEqual(results, Array<string>(settlements.length).fill('settled'));
  }

  async loses(settlement: Settlement): Promise<void> {
    assert.deepEqual(await this.settle([settlement]), ['lost']);
  }

  /** Asserts the number of jobs in each state of a queue, 0 by default. */
  async holds(counts: Partial<Counts>, queue: string = this.queue, connection = this.connection): Promise<void> {
    assert.deepEqual(await connection.queues.counts(queue), { ready: 0, delayed: 0, reserved: 0, ...counts });
  }

  /** Pushes and fails a probe. Returns its entry in the failed store. */
  async failProbe(id: string, queue: string = this.queue): Promise<FailedEntry> {
    await this.pushTo(queue, id);
    await this.settles(failed(await this.reserveOne({ queues: [queue] })));
    return this.failedEntry(id);
  }

  async failedEntry(id: string): Promise<FailedEntry> {
    const [entry] = await this.failedStore.find(id);
    assert(entry !== undefined, `the failed store holds '${id}'`);
    return entry;
  }

  /** Sends a failed job back as the framework does, with all its tries. */
  async retry(entry: FailedEntry): ReturnType<FailedStore['retry']> {
    const { counters } = readCounters(entry.payload)!;
    return this.failedStore.retry(entry, withCounters(entry.payload, afterRetry(counters)));
  }

  async retries(id: string): Promise<void> {
    assert.equal(await this.retry(await this.failedEntry(id)), true);
  }

  /** Asserts that the failed store has exactly these jobs, newest first. */
  async hasFailed(...ids: readonly string[]): Promise<void> {
    assert.deepEqual(idsOf(await this.failedStore.list({ limit: 10 })), ids);
  }

  /** Everything that the driver can show of the first queue, for comparing. */
  async state(): Promise<object> {
    const { capabilities, queues, failed } = this.connection;
    const counts = capabilities.exactCounts ? await queues.counts(this.queue) : undefined;
    const jobs: PeekedJob[] = [];
    for (const state of WAITING_STATES) jobs.push(...((await queues.peek?.(this.queue, state, 100)) ?? []));
    const entries = await failed?.list({ limit: 100 });
    return { counts, jobs, entries };
  }

  /** Polls for a condition that only real time may bring about. */
  async eventually(holds: () => Promise<boolean>, what: string): Promise<void> {
    const end = systemClock.monotonic() + LONGEST_WAIT_MS;
    while (!(await holds())) {
      assert(systemClock.monotonic() < end, `${what}: nothing happened in ${LONGEST_WAIT_MS} ms`);
      await new Promise<void>((resolve) => void systemClock.after(20, resolve, true));
    }
  }

  /** Fails the case if the promise hangs, and says what hangs. */
  async soon<T>(promise: Promise<T>, what: string): Promise<T> {
    return within(systemClock, LONGEST_WAIT_MS, promise).catch((error: unknown) => {
      if (!(error instanceof Silence)) throw error;
      return assert.fail(`${what}: nothing happened in ${LONGEST_WAIT_MS} ms`);
    });
  }
}
