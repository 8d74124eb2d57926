/** Debounced jobs in PostgreSQL: each key is in a row, whose index makes others wait for an open transaction. */
import { eventually } from '../../../support/eventually';
import { payload, reserve } from '../open-database';
import { debounced, describeDebouncedJobs } from '../server/debounced-jobs';
import { completeAll, pushes } from '../server/unique-keys';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests({ sameTables: true });

describeDebouncedJobs(world);

describe('a push to PostgreSQL of debounced jobs', () => {
  it.each([
    ['COMMIT', { replaced: 'a' }],
    ['ROLLBACK', 'queued'],
  ])('waits for a transaction that has taken one of its keys: %s', async (end, expected) => {
    const connection = await world.open();
    const client = await world.client();
    await client.query('BEGIN');
    await pushes(connection.within(client)!, debounced('a'));
    const pushing = pushes(connection, debounced('b'), { payload: payload('c') });
    await eventually(async () => (await world.rows('SELECT pid FROM pg_locks WHERE NOT granted')).length > 0);
    await client.query(end);
    expect(await pushing).toEqual([expected, 'queued']);
    world.offset = 61;
    expect(await completeAll(connection)).toEqual(['c', 'b']);
  });

  it('does not keep the key of a job whose worker died', async () => {
    const connection = await world.open();
    await pushes(connection, debounced('a', 'one', { delay: 1 }));
    world.offset = 2;
    await reserve(connection, { lease: 30 });
    world.offset = 40;
    await reserve(connection, { limit: 0 });
    expect(await world.rows(`SELECT id FROM "${world.table}" WHERE unique_key IS NOT NULL`)).toEqual([]);
  });

  it('does not replace a job that a worker of the previous version, which does not know keys, has reserved', async () => {
    const connection = await world.open();
    await pushes(connection, debounced('a'));
    await world.rows(`UPDATE "${world.table}" SET attempts = 1`);
    expect(await pushes(connection, debounced('b'))).toEqual(['queued']);
    expect(await connection.queues.counts('default')).toMatchObject({ delayed: 2 });
  });

  it('reads only the jobs of its keys, even by plans that were made when the table was short', async () => {
    const connection = await world.open();
    const client = await world.client();
    const push = (id: string) => pushes(connection.within(client)!, debounced(id), debounced('other', 'two'));
    for (let round = 0; round < 7; round += 1) {
      await client.query('BEGIN');
      await push('a');
      await client.query('ROLLBACK');
    }
    await pushes(connection, debounced('holder'));
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO "${world.table}" (queue, payload, attempts, available_at, created_at, due_at, unique_key)
       SELECT 'default', '{}', 0, 2000000000, 0, 2e9, 'key-' || n FROM generate_series(1, 5000) n`,
    );
    const read = async (): Promise<number> => {
      const statement = `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = $1`;
      return Number((await client.query<{ n: string }>(statement, [world.table])).rows[0]!.n);
    };
    const before = await read();
    expect(await push('b')).toEqual([{ replaced: 'holder' }, 'queued']);
    expect((await read()) - before).toBeLessThan(8);
    await client.query('ROLLBACK');
  });
});
