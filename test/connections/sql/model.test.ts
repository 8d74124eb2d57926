/** A SQLite file must behave like a memory store, which serves as the executable model, after any sequence of calls. */
import * as fc from '../../support/properties';
import { connectMemory } from '../../../src/connections/memory/connection';
import type { Connection, Reservation, Settlement } from '../../../src/connections/contract';
import { TestClock } from '../../../src/testing/test-clock';
import { idOf, payload, TemporaryDatabase } from './open-database';
import { reserveFrom, settleIn } from '../../support/exchange';

const QUEUES = ['high', 'low'];

type Step =
  | { readonly do: 'push'; readonly queue: string; readonly delays: readonly number[] }
  | {
      readonly do: 'reserve';
      readonly queues: readonly string[];
      readonly lease: number;
    }
  | { readonly do: 'settle'; readonly outcome: Settlement['outcome']; readonly delay: number }
  | { readonly do: 'renew'; readonly lease: number }
  | { readonly do: 'clear'; readonly queue: string }
  /** Cancels the job pushed `age` jobs before the last. */
  | { readonly do: 'cancel'; readonly age: number; readonly queue: string | undefined }
  | { readonly do: 'reschedule'; readonly age: number; readonly delay: number }
  | { readonly do: 'limit'; readonly queue: string; readonly running: number | undefined }
  | { readonly do: 'pause' | 'resume'; readonly queue: string };

const queue = fc.constantFrom(...QUEUES);
const seconds = fc.integer({ min: 1, max: 40 });
const delay = fc.oneof(fc.constant(0), seconds);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('push'), queue, delays: fc.array(delay, { maxLength: 4 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('reserve'),
      queues: fc.shuffledSubarray(QUEUES, { minLength: 1 }),
      lease: seconds,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('settle'),
      outcome: fc.constantFrom('completed', 'released', 'failed', 'cancelled'),
      delay,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('renew'), lease: seconds }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear'), queue }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('cancel'),
      age: fc.nat({ max: 6 }),
      queue: fc.option(queue, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reschedule'), age: fc.nat({ max: 6 }), delay }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('limit'), queue, running: fc.constantFrom(1, 2, 3, undefined) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('pause', 'resume'), queue }) },
);

/** Takes the steps on one store and returns its answers. */
class Subject {
  readonly #connection: Connection;
  readonly #held: Reservation[] = [];
  #pushed = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async take(step: Step): Promise<unknown> {
    const connection = this.#connection;
    if (step.do === 'push') {
      const entries = step.delays.map((delay) => ({ payload: payload(`job-${(this.#pushed += 1)}`), delay }));
      return connection.push(step.queue, entries);
    }
    if (step.do === 'reserve') {
      const { reservations, ...reply } = await reserveFrom(connection, { ...step, limit: 1 });
      this.#held.push(...reservations);
      return { reply, jobs: reservations.map(({ payload: text, cancelled }) => [String(text), cancelled]) };
    }
    if (step.do === 'settle') {
      return settleIn(connection, this.#settlement(step.outcome, step.delay));
    }
    if (step.do === 'renew') return connection.renew!(this.#held.slice(-1), step.lease);
    if (step.do === 'clear') return connection.queues.clear!(step.queue);
    if (step.do === 'cancel') return connection.control!.cancel(`job-${this.#pushed - step.age}`, step.queue);
    if (step.do === 'reschedule')
      return connection.control!.reschedule!(`job-${this.#pushed - step.age}`, { delay: step.delay });
    if (step.do === 'limit') return connection.control!.limit!(step.queue, step.running);
    return connection.control![step.do](step.queue);
  }

  /** Settles the oldest held reservation, whose lease may have ended long ago. */
  #settlement(outcome: Settlement['outcome'], delay: number): Settlement[] {
    const reservation = this.#held.shift();
    if (reservation === undefined) return [];
    const { counters } = reservation;
    if (outcome === 'released') return [{ outcome, reservation, delay, counters }];
    const failure = { id: String(idOf(reservation)), name: 'probe', exception: 'Error' };
    return [outcome === 'failed' ? { outcome, reservation, counters, failure } : { outcome, reservation }];
  }

  async state(): Promise<unknown> {
    const jobs: unknown[] = [];
    for (const name of QUEUES) {
      jobs.push(await this.#connection.queues.counts(name));
      for (const state of ['ready', 'delayed', 'reserved'] as const) {
        const peeked = await this.#connection.queues.peek!(name, state, 100);
        jobs.push(peeked.map(({ payload: text, at }) => [String(text), at]));
      }
    }
    const failed = await this.#connection.failed!.list({ limit: 1000 });
    const orders = [await this.#connection.control!.paused(), await this.#connection.control!.limits!()];
    return {
      jobs,
      orders,
      failed: failed.map((entry) => ({ ...entry, connection: '', payload: String(entry.payload) })),
    };
  }
}

it('random steps lead to the same answers and the same state as in memory', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, delay), { minLength: 10, maxLength: 40 }), async (steps) => {
      const clock = new TestClock();
      const database = new TemporaryDatabase();
      const [file, memory] = [
        new Subject(database.connect({}, { clock })),
        new Subject(connectMemory({ driver: 'memory' }, { name: 'memory', clock })),
      ];
      try {
        for (const [next, pause] of steps) {
          expect(await file.take(next)).toEqual(await memory.take(next));
          // Keeps all times different, because a sorted set has an order of its own for equal ones. So each step moves one job.
          await clock.advance(pause + 0.001);
        }
        expect(await file.state()).toEqual(await memory.state());
      } finally {
        await database.dispose();
      }
    }),
    { numRuns: 25 },
  );
});
