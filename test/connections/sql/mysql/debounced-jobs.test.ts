/** Debounced jobs in MariaDB: the row of a key names the job that waits under it. */
import { payload } from '../open-database';
import { debounced, describeDebouncedJobs } from '../server/debounced-jobs';
import { pushes } from '../server/unique-keys';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests({ sameTables: true });

describeDebouncedJobs(world);

describe('a user transaction on MariaDB', () => {
  it.each([
    ['COMMIT', { replaced: 'a' }],
    ['ROLLBACK', 'queued'],
  ])('that has taken the key of a debounced job makes others wait for its end: %s', async (end, expected) => {
    const connection = await world.open();
    const client = await world.client();
    await client.query('BEGIN');
    await pushes(connection.within(client)!, debounced('a'));
    const pushing = pushes(connection, debounced('b'));
    await world.untilSomebodyWaits(client);
    await client.query(end);
    expect(await pushing).toEqual([expected]);
  });

  it('uses the current state, not that of its beginning, and does not hold up other jobs', async () => {
    const connection = await world.open();
    const client = await world.client();
    await client.query(`BEGIN; SELECT COUNT(*) FROM ${world.table}`);
    await pushes(connection, debounced('a'));
    expect(await pushes(connection.within(client)!, debounced('b'))).toEqual([{ replaced: 'a' }]);
    expect(await pushes(connection, { payload: payload('c') }, debounced('d', 'two'))).toEqual(['queued', 'queued']);
    await client.query('COMMIT');
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 1, delayed: 2 });
  });
});
