/** Unique keys in PostgreSQL: held by the rows of jobs, whose index makes others wait for an open transaction. */
import type { Reservation } from '../../../../src/connections/contract';
import { uniqueKey } from '../../../../src/payload/ties';
import { eventually } from '../../../support/eventually';
import { idOf, payload, reserve } from '../open-database';
import { back, completeAll, describeUniqueKeys, pushes, START, tied } from '../server/unique-keys';
import { PostgresWorld } from './open-postgres';
import { settleIn } from '../../../support/exchange';

const world = new PostgresWorld().forTests({ sameTables: true });

describeUniqueKeys(world);

/** The process ids of sessions that wait for a lock. */
async function waiting(): Promise<readonly unknown[]> {
  return (await world.rows('SELECT pid FROM pg_locks WHERE NOT granted')).map(({ pid }) => pid);
}

/** An open transaction that has pushed these jobs. */
async function open(connection: Awaited<ReturnType<typeof world.open>>, ...entries: Parameters<typeof pushes>[1][]) {
  const client = await world.client();
  await client.query('BEGIN');
  await pushes(connection.within(client)!, ...entries);
  return client;
}

describe('a push to PostgreSQL of jobs with unique keys', () => {
  it('keeps the order of its jobs, even of those with the same due time', async () => {
    const connection = await world.open();
    const ids = Array.from({ length: 20 }, (_, at) => `job-${at}`);
    await pushes(connection, ...ids.map((id, at) => (at % 3 === 0 ? { payload: payload(id) } : tied(id, id))));
    expect(await completeAll(connection)).toEqual(ids);
    await pushes(connection, ...ids.map((id) => tied(id, id, { delay: 5 })));
    world.offset = 6;
    expect(await completeAll(connection)).toEqual(ids);
  });

  it.each([
    ['COMMIT', { duplicate: 'a' }, ['a', 'c', 'd']],
    ['ROLLBACK', 'queued', ['b', 'c', 'd']],
  ])('waits for a transaction that has taken one of its keys: %s', async (end, expected, inside) => {
    const connection = await world.open();
    const client = await open(connection, tied('a'));
    const pushing = pushes(connection, tied('b'), tied('c', 'two'), { payload: payload('d') });
    await eventually(async () => (await waiting()).length > 0);
    await client.query(end);
    expect(await pushing).toEqual([expected, 'queued', 'queued']);
    expect(await completeAll(connection)).toEqual(inside);
  });

  it('locks its keys in a fixed order, so that two pushes with opposite orders do not wait for each other', async () => {
    const connection = await world.open();
    const others = [world.connect(), world.connect()];
    const client = await open(connection, tied('a', 'two'));
    const keys = ['one', 'two', 'three'];
    const pushing = others.map((other, at) =>
      pushes(other, ...(at === 0 ? keys : keys.toReversed()).map((key) => tied(`${key}-${at}`, key))),
    );
    await eventually(async () => (await waiting()).length === 2);
    await client.query('ROLLBACK');
    const results = (await Promise.all(pushing)).flat();
    expect(results.filter((result) => result === 'queued')).toHaveLength(3);
    const [row] = await world.rows('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
    expect(row).toEqual({ deadlocks: '0' });
  });

  it('takes expired keys in the order in which a worker locks their jobs', async () => {
    const connection = await world.open();
    const keys = ['one', 'two'].toSorted((a, b) => (uniqueKey('Probe', a) < uniqueKey('Probe', b) ? 1 : -1));
    await pushes(connection, ...keys.map((key) => tied(key, key, { for: 10 })));
    world.offset = 11;
    // The first job has the key that sorts last.
    const rows = await world.rows(`SELECT id FROM "${world.table}" ORDER BY id`);
    const client = await world.client();
    const lock = (row: number) =>
      client.query(`SELECT FROM "${world.table}" WHERE id = ${String(rows[row]!['id'])} FOR UPDATE NOWAIT`);
    await client.query('BEGIN');
    await lock(0);
    const pushing = pushes(connection, ...keys.map((key) => tied(`${key}-2`, key)));
    await eventually(async () => (await waiting()).length > 0);
    await lock(1);
    await client.query('ROLLBACK');
    expect(await pushing).toEqual(['queued', 'queued']);
  });

  it('is done once if an administrator ends its connection while it waits', async () => {
    const connection = await world.open();
    const client = await open(connection, tied('a'));
    const pushing = pushes(connection, tied('b'), tied('c', 'two'), { payload: payload('d') });
    const pid = await eventually(async () => (await waiting())[0]);
    await world.rows('SELECT pg_terminate_backend(?)', [pid]);
    await eventually(async () => (await waiting()).some((other) => other !== pid));
    await client.query('ROLLBACK');
    expect(await pushing).toEqual(['queued', 'queued', 'queued']);
    expect(await completeAll(connection)).toEqual(['b', 'c', 'd']);
  });

  it('reads only the holders of its keys, even by plans that were made when the table was short', async () => {
    const connection = await world.open();
    const client = await world.client();
    const push = (id: string) => pushes(connection.within(client)!, tied(id), tied('other', 'two'));
    for (let round = 0; round < 7; round += 1) {
      await client.query('BEGIN');
      await push('a');
      await client.query('ROLLBACK');
    }
    await pushes(connection, tied('holder'));
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO "${world.table}" (queue, payload, attempts, available_at, created_at, place, unique_key)
       SELECT 'default', '{}', 0, 0, 0, n, 'key-' || n FROM generate_series(1, 5000) n`,
    );
    const read = async (): Promise<number> => {
      const statement = `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = $1`;
      return Number((await client.query<{ n: string }>(statement, [world.table])).rows[0]!.n);
    };
    const before = await read();
    expect(await push('b')).toEqual([{ duplicate: 'holder' }, 'queued']);
    expect((await read()) - before).toBeLessThan(5);
    await client.query('ROLLBACK');
  });
});

describe('a worker on PostgreSQL', () => {
  it('does not wait for a transaction that has taken the key of a job that goes back unstarted', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a', 'one', START), tied('b', 'two', START));
    const [a, b] = (await reserve(connection)) as [Reservation, Reservation];
    const client = await open(connection, tied('c', 'one', START));
    expect(await settleIn(connection, [back(a), back(b)])).toEqual(['settled', 'settled']);
    await client.query('COMMIT');
    const asked = [tied('d', 'one', START), tied('e', 'two', START)];
    expect(await pushes(connection, ...asked)).toEqual([{ duplicate: 'c' }, { duplicate: 'b' }]);
    expect((await reserve(connection)).map(idOf).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('takes a key again, for a new time, from a job whose time for it is over', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a', 'one', { ...START, for: 60 }));
    const [a] = (await reserve(connection)) as [Reservation];
    await pushes(connection, tied('b', 'one', { for: 10 }));
    world.offset = 11;
    await settleIn(connection, [back(a)]);
    world.offset = 70;
    expect(await pushes(connection, tied('c'))).toEqual([{ duplicate: 'a' }]);
    world.offset = 72;
    expect(await pushes(connection, tied('d'))).toEqual(['queued']);
  });

  it('of the previous version frees a key with the row of its job', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a'), tied('b', 'two', START));
    // As the functions of that version do, which do not know keys.
    await world.rows(`UPDATE "${world.table}" SET reserved_at = 1, attempts = 1, lease_until = 1e10`);
    expect(await pushes(connection, tied('c'), tied('d', 'two', START))).toEqual([
      { duplicate: 'a' },
      { duplicate: 'b' },
    ]);
    await world.rows(`DELETE FROM "${world.table}" WHERE reserved_at IS NOT NULL`);
    expect(await pushes(connection, tied('e'), tied('f', 'two', START))).toEqual(['queued', 'queued']);
  });
});

describe('a user transaction on PostgreSQL', () => {
  it('continues after a refused job and commits the others', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a'));
    const client = await open(connection, tied('b'), tied('c', 'two'));
    expect(await pushes(connection.within(client)!, tied('d', 'two'))).toEqual([{ duplicate: 'c' }]);
    await client.query('COMMIT');
    expect(await completeAll(connection)).toEqual(['a', 'c']);
  });

  it('with a snapshot has a conflict if a key was taken since its beginning, and can be repeated', async () => {
    const connection = await world.open();
    const client = await world.client();
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM "${world.table}"`);
    await pushes(connection, tied('a'));
    const pushing = pushes(connection.within(client)!, tied('b'));
    await expect(pushing).rejects.toMatchObject({ code: '40001' });
    await client.query('ROLLBACK');
  });
});
