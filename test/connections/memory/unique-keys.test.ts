/** After any sequence of calls each unique key has one holder, which is in the store. */
import * as fc from '../../support/properties';
import { connectMemory, type MemoryConnection } from '../../../src/connections/memory/connection';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import {
  afterFailedAttempt,
  afterFreeRelease,
  afterRetry,
  readCounters,
  withCounters,
} from '../../../src/payload/counters';
import { readTies, uniqueKey, withTies, type TiedJob, type Ties } from '../../../src/payload/ties';
import { TestClock } from '../../../src/testing/test-clock';
import { reserveFrom, settleIn } from '../../support/exchange';

const queue = 'mail';

/** Two keys of each kind. */
const KINDS = [
  { until: 'end', for: undefined },
  { until: 'start', for: undefined },
  { until: 'end', for: 20 },
  { until: 'start', for: 20 },
] as const;
const TIES = [1, 2].flatMap((n) =>
  KINDS.map((kind, place): Required<Pick<Ties, 'unique'>> => ({
    unique: { ...kind, key: uniqueKey('Probe', `${place}-${n}`) },
  })),
);
/** The keys that their jobs hold from push to end. */
const WHOLE = new Set([TIES[0]!.unique!.key, TIES[4]!.unique!.key]);

class Model {
  readonly clock = new TestClock();
  readonly connection: MemoryConnection = connectMemory({ driver: 'memory' }, { name: 'memory', clock: this.clock });
  readonly reservations: Reservation[] = [];
  jobs = 0;
}

type Step = (model: Model) => Promise<unknown>;

const seconds = fc.integer({ min: 0, max: 40 });

const push = fc
  .record({ delay: seconds, ties: fc.constantFrom(...TIES) })
  .map(({ delay, ties }): Step => async (model) => {
    const plain = `{"displayName":"Probe","job":"onqueue","data":{},"id":"job-${++model.jobs}","attempts":0}`;
    await model.connection.push(queue, [{ payload: withTies(plain, ties), ties, delay: Math.max(delay - 20, 0) }]);
  });

const reserve = fc
  .record({ limit: fc.integer({ min: 1, max: 3 }), lease: seconds })
  .map((request): Step => async ({ connection, reservations }) => {
    reservations.push(...(await reserveFrom(connection, { queues: [queue], ...request })).reservations);
  });

/** Also settles reservations that ended long ago, which must change nothing. */
const settle = fc
  .record({
    index: fc.nat(1000),
    delay: seconds,
    outcome: fc.constantFrom('completed', 'cancelled', 'spent', 'free', 'front', 'failed'),
  })
  .map(({ index, delay, outcome }): Step => async ({ connection, reservations }) => {
    const reservation = reservations[index % Math.max(reservations.length, 1)];
    if (reservation === undefined) return;
    const { counters } = reservation;
    const free = afterFreeRelease(counters);
    const failure = { id: readTies(reservation.payload)!.id, name: 'Probe', exception: 'Error' };
    const settlements: { readonly [K in typeof outcome]: Settlement } = {
      completed: { outcome: 'completed', reservation },
      cancelled: { outcome: 'cancelled', reservation },
      spent: { outcome: 'released', reservation, delay, counters: afterFailedAttempt(counters) },
      free: { outcome: 'released', reservation, delay, counters: free },
      front: { outcome: 'released', reservation, delay: 0, front: true, counters: free },
      failed: { outcome: 'failed', reservation, counters, failure },
    };
    await settleIn(connection, [settlements[outcome]]);
  });

const advance = seconds.map(
  (by): Step =>
    ({ clock }) =>
      clock.advance(by),
);

const cancel = fc.nat(1000).map((index): Step => async ({ connection, jobs }) => {
  await connection.control.cancel(`job-${1 + (index % Math.max(jobs, 1))}`, undefined, undefined);
});

const clear = fc.constant<Step>(({ connection }) => connection.queues.clear(queue));

const retry = fc.constant<Step>(async ({ connection }) => {
  for (const entry of await connection.failed.list({ limit: 2 })) {
    const { counters } = readCounters(entry.payload)!;
    await connection.failed.retry(entry, withCounters(entry.payload, afterRetry(counters)));
  }
});

const forget = fc.constant<Step>(({ connection }) => connection.failed.flush());

const steps = fc.array(
  fc.oneof(push, push, push, reserve, reserve, settle, settle, settle, advance, cancel, retry, forget, clear),
  { maxLength: 60 },
);

function check({ connection }: Model): void {
  const { queues, unique } = connection.snapshot();
  const { ready = [], delayed = [], reserved = [] } = queues.get(queue) ?? {};
  const tiesOf = (payload: Buffer): TiedJob => readTies(payload)!;
  const waiting = [...ready, ...delayed.map(([payload]) => payload)].map(tiesOf);
  const running = reserved.map(([payload]) => tiesOf(payload));
  for (const [key, { id }] of unique) {
    const holders = [...waiting, ...running.filter((job) => job.unique?.until === 'end')];
    expect(holders.filter((job) => job.id === id && job.unique?.key === key)).toHaveLength(1);
  }
  const whole = [...waiting, ...running].filter((job) => WHOLE.has(job.unique!.key));
  const held = [...unique].filter(([key]) => WHOLE.has(key)).map(([key, { id }]) => `${key} ${id}`);
  expect(held.toSorted()).toEqual(whole.map((job) => `${job.unique!.key} ${job.id}`).toSorted());
}

it('has one holder of each unique key, which is in the store, after any sequence of calls', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const model = new Model();
      for (const step of all) {
        await step(model);
        check(model);
      }
    }),
    { numRuns: 300 },
  );
});

it('forgets ten thousand keys whose jobs have ended', async () => {
  const { connection, clock } = new Model();
  for (let page = 0; page < 100; page += 1) {
    const entries = Array.from({ length: 100 }, (_, index) => {
      const ties: Ties = { unique: { key: uniqueKey('Probe', `${page}-${index}`), until: 'end' } };
      const plain = `{"displayName":"Probe","job":"onqueue","data":{},"id":"${page}-${index}","attempts":0}`;
      return { payload: withTies(plain, ties), ties };
    });
    expect(await connection.push(queue, entries)).toBeUndefined();
    const { reservations } = await reserveFrom(connection, { queues: [queue], limit: 100, lease: 60 });
    await settleIn(
      connection,
      reservations.map((reservation) => ({ outcome: 'completed', reservation })),
    );
  }
  await clock.advance(0);
  expect(connection.snapshot().unique.size).toBe(0);
});
