/** What the cases of the suite are written with: an open store, short words for common steps, and probes to send. */
import assert from 'node:assert/strict';
import { systemClock } from '../../base/clock';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { FailedEntry, FailedStore } from '../../connections/failed-store';
import type { LockStore } from '../../connections/lock-store';
import type { Counters } from '../../payload/counters';
import type { Control } from '../../connections/control';
import { resultOf } from '../../connections/answer';
import type {
  Answer,
  Connection,
  Counts,
  Entry,
  PeekedJob,
  RenewResult,
  Reservation,
  ReserveReply,
  ReserveRequest,
  SetAside,
  Settlement,
  SettleResult,
  WaitingState,
} from '../../connections/contract';
import type { ConformanceHarness } from './harness';

/** Long enough for a slow machine, shorter than a test runner's patience: what hangs is named by its case. */
const PATIENCE_MS = 4_000;

/** More calls than any case needs to empty a queue in bounded batches. */
const MOST_CALLS = 50;

export const STATES: readonly WaitingState[] = ['ready', 'delayed', 'reserved'];

/** How settlements travel: a driver that can settle and reserve in one round trip has two ways to get them wrong. */
export type Way = 'settle' | 'settleAndReserve';

/** A payload as Onqueue writes it. */
export const probe = (id: string): string =>
  `{"displayName":"Probe","job":"onqueue","data":{"commandName":"Probe","command":{}},"id":"${id}","attempts":0}`;

/** `probe(…)` of `count` numbered ids. */
export const probes = (count: number, prefix = 'probe'): readonly string[] =>
  Array.from({ length: count }, (_, index) => probe(`${prefix}-${index + 1}`));

export const idOf = (job: { readonly payload: Buffer }): unknown =>
  (JSON.parse(job.payload.toString()) as { id?: unknown }).id;

export const idsOf = (jobs: readonly { readonly payload: Buffer }[]): readonly unknown[] => jobs.map(idOf);

/** Grows by exactly 1 with every reservation of a job. */
export const fenceOf = ({ attempts, crashes, releases }: Counters): number => attempts + crashes + releases;

export const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });

export const cancelled = (reservation: Reservation): Settlement => ({ outcome: 'cancelled', reservation });

/** The try stays spent, as after `this.release()`. */
export const released = (reservation: Reservation, delay: Seconds = 0): Settlement => ({
  outcome: 'released',
  reservation,
  delay,
  counters: reservation.counters,
});

/** The try is given back, as by a worker that shuts down. */
export const releasedForFree = (reservation: Reservation, delay: Seconds = 0): Settlement => {
  const { counters } = reservation;
  const back = { ...counters, attempts: counters.attempts - 1, releases: counters.releases + 1 };
  return { outcome: 'released', reservation, delay, counters: back };
};

/** What was not started goes back where it came from. */
export const givenBack = (reservation: Reservation): Settlement => ({
  ...(releasedForFree(reservation) as Extract<Settlement, { outcome: 'released' }>),
  front: true,
});

export const failed = (reservation: Reservation): Settlement => ({
  outcome: 'failed',
  reservation,
  counters: { ...reservation.counters, exceptions: reservation.counters.exceptions + 1 },
  failure: { id: String(idOf(reservation)), name: 'Probe', exception: 'Error: probe\n    at probe.js:1:1' },
});

/** The results, also those that come later. */
export async function answered<Result extends SettleResult | RenewResult>(
  answers: readonly Answer<Result>[] | Promise<readonly Answer<Result>[]>,
): Promise<readonly Result[]> {
  return Promise.all((await answers).map(resultOf));
}

export class World {
  readonly connection: Connection;
  /** Another client of the same store. */
  readonly other: Connection;
  readonly queue = 'probes';
  readonly secondQueue = 'more-probes';
  readonly #harness: ConformanceHarness;

  constructor(harness: ConformanceHarness, other: Connection) {
    this.#harness = harness;
    this.connection = harness.connection;
    this.other = other;
  }

  async advance(seconds: Seconds): Promise<void> {
    await this.#harness.advance(seconds);
  }

  /** By the clock of the store. */
  async now(): Promise<Milliseconds> {
    assert(this.connection.now !== undefined, 'a driver that judges moments tells the time of its store');
    return this.connection.now();
  }

  async push(...payloads: readonly string[]): Promise<void> {
    await this.pushTo(this.queue, payloads);
  }

  async pushTo(queue: string, payloads: readonly string[]): Promise<void> {
    await this.connection.push(
      queue,
      payloads.map((payload) => ({ payload })),
    );
  }

  async pushLater(payload: string, delay: Seconds, more: Partial<Entry> = {}): Promise<void> {
    await this.connection.push(this.queue, [{ payload, delay, ...more }]);
  }

  /** By default one job of the first queue, for ten minutes. */
  async reserve(request: Partial<ReserveRequest> = {}, connection = this.connection): Promise<ReserveReply> {
    return connection.reserve({ queues: [this.queue], limit: 1, lease: 600, ...request });
  }

  async reserveOne(request: Partial<ReserveRequest> = {}): Promise<Reservation> {
    const { reservations } = await this.reserve(request);
    const [reservation] = reservations;
    assert(
      reservation !== undefined && reservations.length === 1,
      `one job can be reserved, not ${reservations.length}`,
    );
    return reservation;
  }

  async reserveAll(request: Partial<ReserveRequest> = {}): Promise<readonly Reservation[]> {
    return (await this.takeAll(request)).reservations;
  }

  /** Reserves until nothing more can be had now: a call moves no more than so much. */
  async takeAll(request: Partial<ReserveRequest> = {}) {
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

  async settle(settlements: readonly Settlement[], way: Way = 'settle'): Promise<readonly SettleResult[]> {
    const { connection } = this;
    const elsewhere = { queues: ['never-pushed-to'], limit: 1, lease: 600 };
    if (way === 'settle' || connection.settleAndReserve === undefined) return answered(connection.settle(settlements));
    return (await this.settleAndReserve(settlements, elsewhere)).results;
  }

  async settleAndReserve(settlements: readonly Settlement[], of: number | ReserveRequest) {
    const request = typeof of === 'number' ? { queues: [this.queue], limit: of, lease: 600 } : of;
    const { connection } = this;
    const combined = await connection.settleAndReserve?.(settlements, request);
    const results = combined?.results ?? (await connection.settle(settlements));
    return { results: await answered(results), reply: combined?.reply ?? (await connection.reserve(request)) };
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    return answered(this.connection.renew(reservations, lease));
  }

  /** Reserves a pushed probe and fails it; what the failed store then holds of it. */
  async failProbe(id: string, queue = this.queue): Promise<FailedEntry> {
    await this.pushTo(queue, [probe(id)]);
    assert.deepEqual(await this.settle([failed(await this.reserveOne({ queues: [queue] }))]), ['settled']);
    return this.failedEntry(id);
  }

  async failedEntry(id: string): Promise<FailedEntry> {
    const [entry] = await this.failedStore.find(id);
    assert(entry !== undefined, `the failed store holds '${id}'`);
    return entry;
  }

  get failedStore(): FailedStore {
    assert(this.connection.failed !== undefined, 'a driver with the capability has a failed store');
    return this.connection.failed;
  }

  get lockStore(): LockStore {
    assert(this.connection.locks !== undefined, 'a driver with the capability has a lock store');
    return this.connection.locks;
  }

  get control(): Control {
    assert(this.connection.control !== undefined, 'a driver with the capability has a control');
    return this.connection.control;
  }

  get otherControl(): Control {
    assert(this.other.control !== undefined, 'a driver with the capability has a control');
    return this.other.control;
  }

  /** These jobs were handed out, in this order where the driver keeps one. */
  handedOut(jobs: readonly { readonly payload: Buffer }[], ids: readonly string[]): void {
    assert.equal(jobs.length, ids.length);
    if (this.connection.capabilities.order) assert.deepEqual(idsOf(jobs), ids);
    else assert.deepEqual(new Set(idsOf(jobs)), new Set(ids));
  }

  /** The first queue as far as the driver can show it: to be compared with what it is later. */
  async state(): Promise<object> {
    const { capabilities } = this.connection;
    const counts: Counts | undefined = capabilities.exactCounts ? await this.connection.counts(this.queue) : undefined;
    const jobs: PeekedJob[] = [];
    for (const state of capabilities.peek ? STATES : []) {
      jobs.push(...(await this.connection.peek(this.queue, state, 100)));
    }
    const entries = capabilities.failed ? await this.failedStore.list({ limit: 100 }) : [];
    return { counts, jobs, entries };
  }

  /** For what a store may end by real time alone. */
  async eventually(holds: () => Promise<boolean>, what: string): Promise<void> {
    const end = systemClock.monotonic() + PATIENCE_MS;
    while (!(await holds())) {
      assert(systemClock.monotonic() < end, `${what}: nothing happened in ${PATIENCE_MS} ms`);
      await new Promise<void>((resolve) => void systemClock.after(20, resolve, true));
    }
  }

  /** What hangs is a failure of its own, with a name. */
  async soon<T>(promise: Promise<T>, what: string): Promise<T> {
    let give: () => void = () => undefined;
    const late = new Promise<never>((_, reject) => {
      give = (): void =>
        reject(new assert.AssertionError({ message: `${what}: nothing happened in ${PATIENCE_MS} ms` }));
    });
    const timer = systemClock.after(PATIENCE_MS, give, true);
    try {
      return await Promise.race([promise, late]);
    } finally {
      timer.cancel();
    }
  }
}

/** The error's stable code is what programs match on. */
export async function rejectsWithCode(action: () => unknown, code: string, what: string): Promise<void> {
  await assert.rejects(
    async () => action(),
    (error: unknown) => {
      assert.equal((error as { code?: unknown }).code, code, `${what} says so by its code`);
      return true;
    },
    `${what} is refused`,
  );
}
