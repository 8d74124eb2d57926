/** After any sequence of calls the last job of each debounce key waits, and for as long as it has to. */
import * as fc from '../../support/properties';
import { connectMemory } from '../../../src/connections/memory/connection';
import type { Reservation } from '../../../src/connections/contract';
import { afterFailedAttempt, afterFreeRelease } from '../../../src/payload/counters';
import { debounceKey, readTies, withTies } from '../../../src/payload/ties';
import { TestClock } from '../../../src/testing/test-clock';
import { reserveFrom, settleIn } from '../../support/exchange';

const queue = 'mail';
const KEYS = ['one', 'two'].map((key) => debounceKey('Probe', key, queue));

/** The job that should wait under a key. Times in milliseconds. */
interface Waiting {
  readonly id: string;
  readonly due: number;
  readonly end: number;
}

class Model {
  readonly clock = new TestClock();
  readonly connection = connectMemory({ driver: 'memory' }, { name: 'memory', clock: this.clock });
  readonly reservations: Reservation[] = [];
  readonly waiting = new Map<string, Waiting>();
  jobs = 0;

  async push(key: string, delay: number, longest: number | undefined): Promise<void> {
    const id = `job-${++this.jobs}`;
    const ties = { debounce: { key, longest } };
    const plain = `{"displayName":"Probe","job":"onqueue","data":{},"id":"${id}","attempts":0}`;
    const now = this.clock.now();
    const before = this.waiting.get(key);
    const last = before !== undefined && before.due > now ? before : undefined;
    const end = last?.end ?? now + (longest ?? Infinity) * 1000;
    this.waiting.set(key, { id, due: Math.min(now + delay * 1000, end), end });
    const result = await this.connection.push(queue, [{ payload: withTies(plain, ties), ties, delay }]);
    expect(result ?? ['queued']).toEqual([last === undefined ? 'queued' : { replaced: last.id }]);
  }

  check(): void {
    const { queues, unique } = this.connection.snapshot();
    const { ready = [], delayed = [], reserved = [] } = queues.get(queue) ?? {};
    const idOf = (payload: Buffer): string => readTies(payload)!.id;
    const handedOut = new Set(this.reservations.map(({ payload }) => idOf(payload)));
    const now = this.clock.now();
    const waiting = delayed
      .map(([payload, due]) => `${idOf(payload)} ${Math.round(due * 1000)}`)
      .filter((line) => !handedOut.has(line.split(' ')[0]!) && Number(line.split(' ')[1]) > now);
    const expected = [...this.waiting.values()].filter(({ due }) => due > now);
    expect(waiting.toSorted()).toEqual(expected.map(({ id, due }) => `${id} ${due}`).toSorted());
    // Every job that holds a key is in the store and was never handed out: no key is left behind.
    const there = new Set([...ready, ...delayed.map(([payload]) => payload)].map(idOf));
    for (const { id } of unique.values()) expect(there.has(id) && !handedOut.has(id)).toBe(true);
    expect(reserved.length).toBeLessThanOrEqual(handedOut.size);
  }
}

type Step = (model: Model) => Promise<unknown>;

const seconds = fc.integer({ min: 0, max: 40 });

const push = fc
  .record({
    key: fc.constantFrom(...KEYS),
    delay: seconds,
    longest: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
  })
  .map(
    ({ key, delay, longest }): Step =>
      async (model) =>
        model.push(key, delay, longest),
  );

const reserve = fc
  .record({ limit: fc.integer({ min: 1, max: 3 }), lease: seconds })
  .map((request): Step => async ({ connection, reservations }) => {
    reservations.push(...(await reserveFrom(connection, { queues: [queue], ...request })).reservations);
  });

const settle = fc
  .record({ index: fc.nat(1000), delay: seconds, outcome: fc.constantFrom('completed', 'released', 'free', 'front') })
  .map(({ index, delay, outcome }): Step => async ({ connection, reservations }) => {
    const reservation = reservations[index % Math.max(reservations.length, 1)];
    if (reservation === undefined) return;
    const { counters } = reservation;
    const free = afterFreeRelease(counters);
    await settleIn(connection, [
      {
        completed: { outcome: 'completed', reservation } as const,
        released: { outcome: 'released', reservation, delay, counters: afterFailedAttempt(counters) } as const,
        free: { outcome: 'released', reservation, delay, counters: free } as const,
        front: { outcome: 'released', reservation, delay: 0, front: true, counters: free } as const,
      }[outcome],
    ]);
  });

const advance = seconds.map(
  (by): Step =>
    ({ clock }) =>
      clock.advance(by),
);

const cancel = fc.nat(1000).map((index): Step => async ({ connection, jobs, waiting }) => {
  const id = `job-${1 + (index % Math.max(jobs, 1))}`;
  await connection.control.cancel(id, undefined, undefined);
  for (const [key, one] of waiting) if (one.id === id) waiting.delete(key);
});

const clear = fc.constant<Step>(({ connection, waiting }) => {
  waiting.clear();
  return connection.queues.clear(queue);
});

const steps = fc.array(fc.oneof(push, push, push, push, reserve, settle, settle, advance, advance, cancel, clear), {
  maxLength: 60,
});

it('has the last job of each key waiting, for no longer than its longest delay', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const model = new Model();
      for (const step of all) {
        await step(model);
        model.check();
      }
    }),
    { numRuns: 300 },
  );
});

it('forgets ten thousand keys whose jobs have ended', async () => {
  const { connection, clock } = new Model();
  for (let page = 0; page < 100; page += 1) {
    const entries = Array.from({ length: 100 }, (_, index) => {
      const ties = { debounce: { key: debounceKey('Probe', `${page}-${index}`, queue) } };
      const plain = `{"displayName":"Probe","job":"onqueue","data":{},"id":"${page}-${index}","attempts":0}`;
      return { payload: withTies(plain, ties), ties, delay: 1 };
    });
    expect(await connection.push(queue, entries)).toBeUndefined();
    await clock.advance(2);
    const { reservations } = await reserveFrom(connection, { queues: [queue], limit: 100, lease: 60 });
    await settleIn(
      connection,
      reservations.map((reservation) => ({ outcome: 'completed', reservation })),
    );
  }
  expect(connection.snapshot().unique.size).toBe(0);
});
