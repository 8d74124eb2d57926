/** Tests of many clients that claim jobs at once, for each database server. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';
import { soakSize } from '../../../support/soak-size';
import { reserveFrom } from '../../../support/exchange';

const REQUEST = { queues: ['default'], lease: 60 };

/** Reserves and completes jobs until there are none. */
async function work(connection: SqlConnection, limit: number): Promise<readonly unknown[]> {
  const ids: unknown[] = [];
  let { reservations, nextIn } = await reserveFrom(connection, { ...REQUEST, limit });
  while (reservations.length > 0 || nextIn === 0) {
    ids.push(...reservations.map(idOf));
    const settlements = reservations.map((reservation) => ({ outcome: 'completed', reservation }) as const);
    const { results, reply } = await connection.exchange(settlements, { ...REQUEST, limit });
    expect(new Set(results)).toEqual(new Set(results.length > 0 ? ['settled'] : []));
    ({ reservations, nextIn } = reply);
  }
  return ids;
}

/** A queue of two jobs that may run one at a time, and another with the job `c`. */
export async function openLimited(world: ServerWorld): Promise<SqlConnection> {
  const connection = await world.open();
  await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
  await connection.push('free', [{ payload: payload('c') }]);
  await connection.control.limit('default', 1);
  return connection;
}

/** What a reserve from that queue takes: it waits for whoever has just taken a job, until `commit`. Another queue waits for nobody. */
export async function takenAfter(
  connection: SqlConnection,
  waits: () => Promise<unknown>,
  commit: () => Promise<unknown>,
): Promise<readonly unknown[]> {
  const reserving = reserve(connection);
  await waits();
  expect((await reserve(connection, { queues: ['free'] })).map(idOf)).toEqual(['c']);
  await commit();
  return reserving;
}

export function describeClaims(world: ServerWorld): void {
  describe(`claiming jobs in ${world.name}`, () => {
    it('gives each of many jobs to exactly one of four workers while others push', async () => {
      const first = await world.open();
      const others = [world.connect(), world.connect(), world.connect()];
      const ids = Array.from({ length: soakSize(2000) }, (_, index) => `job-${index}`);
      const entries = ids.map((id) => ({ payload: payload(id) }));
      await first.push('default', entries.slice(0, ids.length - 400));
      for (const connection of others) await connection.queues.names();

      const pushing = Promise.all(entries.slice(ids.length - 400).map((entry) => first.push('default', [entry])));
      const taken = await Promise.all([first, ...others].map((connection, index) => work(connection, 10 + 30 * index)));
      await pushing;
      taken.push(await work(first, 100));

      expect(taken.flat()).toHaveLength(ids.length);
      expect(new Set(taken.flat())).toEqual(new Set(ids));
      expect(taken.slice(0, 4).every((some) => some.length > 0)).toBe(true);
      expect(await first.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
    });

    it('does not wait for open transactions', async () => {
      const connection = await world.open();
      await connection.push('default', [{ payload: payload('held') }, { payload: payload('free') }]);
      const client = await world.client();
      await client.query('BEGIN');
      await client.query(`SELECT 1 FROM ${world.table} WHERE uuid = 'held' FOR UPDATE`);
      expect((await reserve(connection)).map(idOf)).toEqual(['free']);
      await client.query('ROLLBACK');
      expect((await reserve(connection)).map(idOf)).toEqual(['held']);
    });
  });
}
