/** After any sequence of calls each job is in one place, and its fence counts its reservations. */
import * as fc from '../../support/properties';
import { connectMemory, type MemoryConnection } from '../../../src/connections/memory/connection';
import {
  afterFailedAttempt,
  afterFreeRelease,
  afterRetry,
  fenceOf,
  readCounters,
  withCounters,
} from '../../../src/payload/counters';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import { TestClock } from '../../../src/testing/test-clock';
import { reserveFrom, settleIn } from '../../support/exchange';

class Model {
  readonly clock = new TestClock();
  readonly connection: MemoryConnection = connectMemory({ driver: 'memory' }, { name: 'memory', clock: this.clock });
  readonly reservations: Reservation[] = [];
  /** How often each job was handed out. */
  readonly runs = new Map<string, number>();
  readonly completed = new Set<string>();
}

const idOf = ({ payload }: { payload: Buffer }): string => (JSON.parse(payload.toString()) as { id: string }).id;

/** Every payload in the store, in any state. */
function keptBy(connection: MemoryConnection): readonly Buffer[] {
  const { queues, failed } = connection.snapshot();
  const waiting = [...queues.values()].flatMap(({ ready, delayed, reserved }) => [
    ...ready,
    ...[...delayed, ...reserved].map(([payload]) => payload),
  ]);
  return [...waiting, ...failed.map(({ payload }) => payload)];
}

type Step = (model: Model) => Promise<void>;

const queue = 'mail';
const seconds = fc.integer({ min: 0, max: 100 });

const push = seconds.map((delay): Step => async ({ connection, runs }) => {
  const id = `job-${runs.size}`;
  runs.set(id, 0);
  await connection.push(queue, [{ payload: `{"id":"${id}","attempts":0}`, delay: Math.max(delay - 50, 0) }]);
});

const reserve = fc
  .record({ limit: fc.integer({ min: 1, max: 4 }), lease: seconds })
  .map((request): Step => async ({ connection, reservations, runs }) => {
    const reply = await reserveFrom(connection, { queues: [queue], ...request });
    reservations.push(...reply.reservations);
    for (const id of reply.reservations.map(idOf)) runs.set(id, runs.get(id)! + 1);
  });

/** Also settles reservations that ended long ago, which must change nothing. */
const settle = fc
  .record({ index: fc.nat(1000), delay: seconds, outcome: fc.constantFrom('completed', 'spent', 'free', 'failed') })
  .map(({ index, delay, outcome }): Step => async ({ connection, reservations, completed }) => {
    const reservation = reservations[index % Math.max(reservations.length, 1)];
    if (reservation === undefined) return;
    const { counters } = reservation;
    const failure = { id: idOf(reservation), name: 'Probe', exception: 'Error' };
    const settlements: { readonly [K in typeof outcome]: Settlement } = {
      completed: { outcome: 'completed', reservation },
      spent: { outcome: 'released', reservation, delay, counters: afterFailedAttempt(counters) },
      free: { outcome: 'released', reservation, delay: 0, counters: afterFreeRelease(counters) },
      failed: { outcome: 'failed', reservation, counters, failure },
    };
    const [result] = await settleIn(connection, [settlements[outcome]]);
    if (result === 'settled' && outcome === 'completed') completed.add(failure.id);
  });

const renew = fc
  .record({ index: fc.nat(1000), lease: seconds })
  .map(({ index, lease }): Step => async ({ connection, reservations }) => {
    await connection.renew(reservations.slice(index % Math.max(reservations.length, 1)).slice(0, 1), lease);
  });

const advance = seconds.map(
  (by): Step =>
    ({ clock }) =>
      clock.advance(by),
);

const retry = fc.constant<Step>(async ({ connection }) => {
  for (const entry of await connection.failed.list({ limit: 1 })) {
    const counters = readCounters(entry.payload)!.counters;
    await connection.failed.retry(entry, withCounters(entry.payload, afterRetry(counters)));
  }
});

const steps = fc.array(fc.oneof(push, reserve, reserve, settle, settle, renew, advance, retry), { maxLength: 60 });

describe('a memory store', () => {
  it('has each job in one place, with a fence that counts its reservations, after any sequence of calls', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const step of all) await step(model);
        const kept = keptBy(model.connection);
        const ids = kept.map((payload) => idOf({ payload }));
        expect([...ids, ...model.completed].toSorted()).toEqual([...model.runs.keys()].toSorted());
        expect(kept.map((payload) => fenceOf(readCounters(payload)!.counters))).toEqual(
          ids.map((id) => model.runs.get(id)),
        );
      }),
      { numRuns: 150 },
    );
  });

  it('never hands out the same payload twice', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const step of all) await step(model);
        const texts = model.reservations.map(({ payload }) => payload.toString());
        expect(new Set(texts).size).toBe(texts.length);
      }),
      { numRuns: 150 },
    );
  });
});
