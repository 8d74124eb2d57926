/** Batches in PostgreSQL: rows that pushes and settles lock until their transaction ends. */
import type { Reservation } from '../../../../src/connections/contract';
import { uniqueKey, withTies } from '../../../../src/payload/ties';
import { eventually } from '../../../support/eventually';
import { idOf, payload, reserve } from '../open-database';
import { begin, completed, counted, describeBatches, failed, member, newBatch, sent } from '../server/batches';
import { PostgresWorld } from './open-postgres';
import { settleIn } from '../../../support/exchange';

// Two transactions that wait for each other would do so beyond all deadlines.
const world = new PostgresWorld({ args: ['-c', 'deadlock_timeout=60s'] }).forTests({ sameTables: true });

describeBatches(world);

/** The process ids of sessions that wait for a lock. */
async function waiting(): Promise<readonly unknown[]> {
  return (await world.rows('SELECT pid FROM pg_locks WHERE NOT granted')).map(({ pid }) => pid);
}

/** A client that has locked the row of a batch and can lock that of another. */
async function holder(id: string) {
  const client = await world.client();
  const lock = (other: string) =>
    client.query(`SELECT FROM "${world.table}_batches" WHERE id = '${other}' FOR UPDATE NOWAIT`);
  await client.query('BEGIN');
  await lock(id);
  return { lock, release: () => client.query('ROLLBACK') };
}

describe('batches in PostgreSQL', () => {
  it('are locked in the order of their ids, in whatever order their jobs end', async () => {
    const connection = await world.open();
    for (const id of ['y', 'x']) await begin(connection, [`${id}-a`], newBatch(id));
    const held = await reserve(connection);
    const { lock, release } = await holder('x');
    const settling = settleIn(connection, held.map(completed));
    await eventually(async () => (await waiting()).length > 0);
    await lock('y');
    await release();
    expect(await settling).toEqual(['settled', 'settled']);
    expect([await counted(connection, 'x'), await counted(connection, 'y')]).toEqual([
      [0, 1, 0, 0],
      [0, 1, 0, 0],
    ]);
  });

  it.each(['COMMIT', 'ROLLBACK'])('count once if an administrator ends the session of a worker: %s', async (end) => {
    const connection = await world.open();
    await begin(connection, ['a', 'b']);
    const [a] = (await reserve(connection)) as [Reservation];
    const client = await world.client();
    await client.query('BEGIN');
    await connection.within(client)!.push('default', [member('c')]);
    const settling = settleIn(connection, [failed(a)]);
    const pid = await eventually(async () => (await waiting())[0]);
    await world.rows('SELECT pg_terminate_backend(?)', [pid]);
    await eventually(async () => (await waiting()).some((other) => other !== pid));
    await client.query(end);
    expect(await settling).toEqual(['settled']);
    expect(await counted(connection)).toEqual([end === 'COMMIT' ? 2 : 1, 0, 1, 0]);
    expect(await sent(connection)).toEqual(['catch-batch']);
  });

  it('count pushed jobs once if an administrator ends the session of the push', async () => {
    const connection = await world.open();
    await begin(connection, ['a']);
    const { release } = await holder('batch');
    const pushing = connection.push('default', [member('b')]);
    const pid = await eventually(async () => (await waiting())[0]);
    await world.rows('SELECT pg_terminate_backend(?)', [pid]);
    await eventually(async () => (await waiting()).some((other) => other !== pid));
    await release();
    await pushing;
    expect(await counted(connection)).toEqual([2, 0, 0, 0]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
  });

  it('do not hold up the settling of other jobs', async () => {
    const connection = await world.open();
    await begin(connection, ['a']);
    await connection.push('default', [{ payload: payload('b') }]);
    const [, b] = (await reserve(connection)) as [Reservation, Reservation];
    const { release } = await holder('batch');
    expect(await settleIn(connection, [completed(b)])).toEqual(['settled']);
    await release();
  });

  it('and unique keys are locked in the same order by pushes and retries', async () => {
    const connection = await world.open();
    const ties = {
      unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const },
      batch: { id: 'batch', weight: 1 },
    };
    const entry = (id: string) => ({ payload: withTies(payload(id), ties), ties });
    await begin(connection, ['open']);
    await connection.push('default', [entry('a')]);
    const [, a] = (await reserve(connection)) as [Reservation, Reservation];
    await settleIn(connection, [failed(a)]);
    const [failure] = await connection.failed.find('a');
    const { release } = await holder('batch');
    const pushing = connection.push('default', [entry('b')]);
    await eventually(async () => (await waiting()).length === 1);
    const retrying = connection.failed.retry(failure!, failure!.payload);
    await eventually(async () => (await waiting()).length === 2);
    await release();
    expect([(await pushing) ?? [], await retrying]).toEqual([[], { held: 'b' }]);
    expect(await counted(connection)).toEqual([2, 0, 1, 0]);
  });

  it('make jobs cancelled only while they are cancelled themselves', async () => {
    const connection = await world.open();
    await begin(connection, ['a', 'b', 'c'], newBatch('batch', { allowsFailures: false }));
    const [a] = await reserve(connection, { limit: 1 });
    await settleIn(connection, [failed(a!)]);
    const [b] = await reserve(connection, { limit: 1 });
    expect(b!.cancelled).toBe(true);
    await settleIn(connection, [{ outcome: 'released', reservation: b!, delay: 0, counters: b!.counters }]);
    const [failure] = await connection.failed.find('a');
    await connection.failed.retry(failure!, failure!.payload);
    expect((await reserve(connection)).map(({ cancelled }) => cancelled)).toEqual([undefined, undefined, undefined]);
  });

  it('are read only if they change, even by plans that were made when there were few', async () => {
    const connection = await world.open();
    await begin(connection, ['a']);
    const client = await world.client();
    const change = () =>
      client.query(
        `SELECT "${world.table}_change_batches_v6"('[{"batch":"batch","pending":-1,"failed":1}]', '{}', 0),
          "${world.table}_push_batch_v10"('batch', NULL, 0, '{}', '[]', '{}', '{}', false, '', 0, '{}', 0, null)`,
      );
    for (let round = 0; round < 7; round += 1) {
      await client.query('BEGIN');
      await change();
      await client.query('ROLLBACK');
    }
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO "${world.table}_batches" (id, name, allows_failures, created_at, callbacks)
       SELECT n, '', false, 0, '[]' FROM generate_series(1, 5000) n`,
    );
    const read = async (): Promise<number> => {
      const statement = `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = $1`;
      return Number((await client.query<{ n: string }>(statement, [`${world.table}_batches`])).rows[0]!.n);
    };
    const before = await read();
    await change();
    expect((await read()) - before).toBeLessThan(10);
    await client.query('ROLLBACK');
  });
});
