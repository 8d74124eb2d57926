import * as fc from '../support/properties';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { afterFailedAttempt, afterFreeRelease, afterRetry, withCounters } from '../../src/payload/counters';
import type { Connection, Entry, Reservation, Settlement } from '../../src/connections/contract';
import { givenBack } from '../../src/connections/kit/connection';
import { readTies } from '../../src/payload/ties';
import { TestClock } from '../../src/testing/test-clock';
import { RedisWorld } from '../connections/redis/open-redis';
import {
  BODIES,
  callbacksOf,
  member,
  OLD,
  ONCE,
  OPEN_FOR,
  QUEUES,
  steps,
  type Ending,
  type Following,
  type Step,
} from './model-steps';
import { reserveFrom, settleIn } from '../support/exchange';

/** One store, driven step by step. Its answers and its whole state are compared. */
class Actor {
  readonly #connection: Connection;
  /** Seconds since 1970 by the clock of the store. */
  readonly #start: number;
  readonly #advance: (seconds: number) => Promise<void>;
  readonly #holders: () => Promise<unknown>;
  readonly #reservations: Reservation[] = [];
  readonly #restarts = new Set<string | undefined>();
  #pushed = 0;
  #begun = 0;

  constructor(
    connection: Connection,
    start: number,
    advance: (seconds: number) => Promise<void>,
    holders: () => Promise<unknown>,
  ) {
    this.#connection = connection;
    this.#start = start;
    this.#advance = advance;
    this.#holders = holders;
  }

  async take(step: Step): Promise<unknown> {
    const connection = this.#connection;
    switch (step.do) {
      case 'push': {
        const payload = BODIES[step.body](++this.#pushed);
        const ties = readTies(Buffer.from(payload));
        return (await connection.push(step.queue, [{ payload, delay: step.delay, ties }])) ?? ['queued'];
      }
      case 'push once': {
        const payload = BODIES[step.body](++this.#pushed);
        const entry = { payload, delay: step.delay, ties: readTies(Buffer.from(payload)) };
        const until = (this.#start + ONCE[step.key]) * 1000;
        return connection.keys!.pushOnce({ queue: step.queue, entries: [entry] }, { key: step.key, until });
      }
      case 'reserve': {
        const { queues, limit, lease } = step;
        const before = await this.#reserved();
        const reply = await reserveFrom(connection, { queues, limit, lease });
        const after = await this.#reserved();
        for (const { queue, running } of await connection.control!.limits!())
          expect(after.get(queue) ?? 0).toBeLessThanOrEqual(Math.max(running, before.get(queue) ?? 0));
        const { reservations, setAside, nextIn, paused, restart } = reply;
        this.#reservations.push(...reservations);
        const shown = reservations.map(({ queue, payload, counters, cancelled = false }) => [
          queue,
          anonymous(payload),
          counters,
          cancelled,
        ]);
        const aside = setAside.map(({ queue, reason }) => [queue, reason]);
        return [shown, aside, rounded(nextIn), paused, this.#restarts.add(restart).size];
      }
      case 'begin': {
        const { weights, delay, allowsFailures, every, isOpen } = step;
        const id = `batch-${++this.#begun}`;
        const entries = weights.map((weight) => ({ ...member(++this.#pushed, id, weight), delay }));
        const openFor = isOpen ? OPEN_FOR : undefined;
        const begins = { id, name: `name ${id}`, allowsFailures, callbacks: callbacksOf(id), every, openFor };
        return (await connection.push(step.queue, entries, begins)) ?? 'all';
      }
      case 'add':
      case 'add once': {
        const entries = step.weights.map((weight) => member(++this.#pushed, `batch-${step.batch}`, weight));
        if (entries.length === 0) return 'none';
        const once = { key: `page ${this.#pushed}`, until: (this.#start + 1e6) * 1000 };
        const adding: Promise<unknown> =
          step.do === 'add'
            ? connection.push(step.queue, entries)
            : connection.keys!.pushOnce({ queue: step.queue, entries }, once);
        return adding.then(
          (pushed) => pushed ?? 'all',
          (error: { code?: string; facts?: unknown }) => [error.code, error.facts],
        );
      }
      case 'hold':
        return connection.batches!.hold(`batch-${step.batch}`);
      case 'seal':
        return connection.batches!.seal(`batch-${step.batch}`);
      case 'abandon':
        return connection.batches!.seal(`batch-${step.batch}`, undefined, { id: 'x', name: 'y', message: '"gone"' });
      case 'stop':
        return connection.batches!.cancel(`batch-${step.batch}`);
      case 'prune':
        return connection.batches!.prune({ olderThan: OLD, unfinished: step.unfinished });
      case 'cancel':
        // Only if one job has the id: of equal jobs a store may choose either.
        return connection.control!.cancel(`job-${step.job}`, step.queue);
      case 'reschedule':
        return connection.control!.reschedule!(`job-${step.job}`, { delay: step.delay }, step.queue);
      case 'limit':
        return connection.control!.limit!(step.queue, step.running);
      case 'pause':
      case 'resume':
        return connection.control![step.do](step.queue);
      case 'restart':
        return connection.control!.restart();
      case 'settle':
        return this.#held(step.which, (reservation) =>
          settleIn(connection, [this.#withNext(settlementOf(reservation, step.outcome, step.delay), step.next)]),
        );
      case 'renew':
        return this.#held(step.which, (reservation) => connection.renew!([reservation], step.lease));
      case 'advance':
        await this.#advance(step.seconds);
        return 'advanced';
      case 'retry':
      case 'forget': {
        const entries = await connection.failed!.list({ limit: 100 });
        const entry = entries[step.which % (entries.length || 1)];
        if (entry === undefined) return 'none';
        if (step.do === 'forget') return connection.failed!.forget(entry);
        return connection.failed!.retry(
          entry,
          withCounters(
            readTies(entry.payload) === undefined ? Buffer.from(BODIES.ours(0)) : entry.payload,
            afterRetry({ attempts: entry.attempts, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 }),
          ),
        );
      }
      default:
        return connection.queues.clear!(step.queue);
    }
  }

  /** How many jobs of each queue run. */
  async #reserved(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const queue of QUEUES) counts.set(queue, (await this.#connection.queues.counts(queue)).reserved);
    return counts;
  }

  async state(): Promise<unknown> {
    const moment = this.#start;
    const states: unknown[] = [];
    for (const name of [...QUEUES, 'told', 'later']) {
      for (const state of ['ready', 'delayed', 'reserved'] as const) {
        const jobs = await this.#connection.queues.peek!(name, state, 100);
        const shown = jobs.map(({ payload, at }) => [anonymous(payload), at && rounded(at / 1000 - moment)]);
        states.push([name, state, name === 'later' ? shown.toSorted() : shown]);
      }
    }
    const entries = await this.#connection.failed!.list({ limit: 100 });
    const failed = entries.map(({ queue, name, exception, payload, attempts }) => [
      queue,
      name,
      exception,
      anonymous(payload),
      attempts,
    ]);
    const kept = await this.#connection.batches!.list({ limit: 100 });
    const since = (at: number | undefined): number | undefined => at && rounded(at / 1000 - moment);
    const batches = kept.map(({ createdAt, cancelledAt, finishedAt, openUntil, ...counts }) => [
      counts,
      [createdAt, cancelledAt, finishedAt, openUntil].map(since),
    ]);
    const { control } = this.#connection;
    return [states, failed, await control!.paused(), await control!.limits!(), await this.#holders(), batches];
  }

  #withNext(settlement: Settlement, next: readonly Following[]): Settlement {
    if (settlement.outcome !== 'completed' && settlement.outcome !== 'failed') return settlement;
    const batch = readTies(settlement.reservation.payload)?.batch?.id;
    const entries = next.map(({ queue, body, delay }) => {
      const number = ++this.#pushed;
      const kind = body === 'link' ? 'ours' : body;
      const entry: Entry =
        body === 'link' && batch !== undefined ? member(number, batch, 1) : { payload: BODIES[kind](number) };
      return { queue, entry: { ...entry, delay } };
    });
    return { ...settlement, next: entries };
  }

  #held<T>(which: number, act: (reservation: Reservation) => Promise<T>): Promise<T | 'none'> {
    const reservation = this.#reservations[which % (this.#reservations.length || 1)];
    return reservation === undefined ? Promise.resolve('none') : act(reservation);
  }
}

function settlementOf(reservation: Reservation, outcome: Ending, delay: number): Settlement {
  const { counters } = reservation;
  if (outcome === 'completed' || outcome === 'cancelled') return { outcome, reservation };
  if (outcome === 'not started') return givenBack(reservation);
  if (outcome === 'released') return { outcome, reservation, delay, counters: afterFreeRelease(counters) };
  const id =
    /"id" ?: ?"([^"]*)"[^"]*"(?:crashes|exceptions|releases|attempts)/.exec(reservation.payload.toString())?.[1] ?? '?';
  return {
    outcome,
    reservation,
    counters: afterFailedAttempt(counters),
    failure: { id: anonymous(Buffer.from(id)), name: 'probe', exception: 'no' },
    cause: { id, name: 'probe', message: 'no' },
  };
}

/** Replaces ids that a store generated, because these differ. */
function anonymous(payload: Buffer): string {
  return payload
    .toString('latin1')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, 'given')
    .replaceAll(/[\da-f]{16}-\d+-\d+/g, 'given');
}

const rounded = (seconds: number): number => Math.round(seconds / 10) * 10;

describe('the scripts and the memory connection', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  afterAll(() => world.stop());

  it('give the same answers and have the same state after any sequence of steps', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        world.fresh();
        const [clock, scripts] = [new TestClock(), world.connect()];
        const redis = new Actor(
          scripts,
          Date.now() / 1000,
          (seconds) => world.advance(seconds),
          async () => {
            const holders = Object.entries(await world.client.hgetall(`${world.prefix}:unique`));
            return holders.map(([key, holder]) => [key, holder.replace(/^[\d:]+ /, '')]).toSorted();
          },
        );
        const connection = new MemoryConnection('redis', new MemoryStore('redis', clock));
        const memory = new Actor(
          connection,
          clock.now() / 1000,
          (seconds) => clock.advance(seconds),
          async () => [...connection.snapshot().unique].map(([key, { id }]) => [key, id]).toSorted(),
        );
        for (const step of sequence) {
          expect(await redis.take(step)).toEqual(await memory.take(step));
          expect(await redis.state()).toEqual(await memory.state());
          expect(await scripts.keys.recount({ repair: false })).toEqual([]);
        }
        await world.closeConnections();
      }),
      { numRuns: 60 },
    );
  });
});
