/** Unique keys in MariaDB: a table of its own has the last holder of each key, which may be gone by now. */
import { eventually } from '../../../support/eventually';
import { idOf, payload, reserve } from '../open-database';
import { back, completeAll, describeUniqueKeys, pushes, START, tied } from '../server/unique-keys';
import { MysqlWorld } from './open-mysql';
import { settleIn } from '../../../support/exchange';

const world = new MysqlWorld().forTests({ sameTables: true });

describeUniqueKeys(world);

const rowsLeft = async () =>
  Number((await world.rows(`SELECT COUNT(*) AS n FROM ${world.table}_unique_keys`))[0]!['n']);

describe('a push to MariaDB of jobs with unique keys', () => {
  it('keeps the order of its jobs, even of those with the same due time', async () => {
    const connection = await world.open();
    const ids = Array.from({ length: 20 }, (_, at) => `job-${at}`);
    await pushes(connection, ...ids.map((id, at) => (at % 3 === 0 ? { payload: payload(id) } : tied(id, id))));
    expect(await completeAll(connection)).toEqual(ids);
    await pushes(connection, ...ids.map((id) => tied(id, id, { delay: 5 })));
    world.offset = 6;
    expect(await completeAll(connection)).toEqual(ids);
  });

  it('whose connection is killed while it waits for a key is repeated, and its job is pushed once', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a'));
    await completeAll(connection);
    const client = await world.client();
    await client.query(`BEGIN; SELECT 1 FROM ${world.table}_unique_keys FOR UPDATE`);
    const pushing = pushes(connection, tied('b'), tied('c', 'two'));
    const waiting = async () => {
      const found = await world.rows(
        `SELECT id FROM information_schema.processlist WHERE info LIKE 'INSERT INTO \`${world.table}\\_unique%'`,
      );
      return found.map(({ id }) => Number(id));
    };
    await eventually(async () => (await waiting()).length > 0);
    for (const id of await waiting()) await world.rows('KILL CONNECTION ?', [id]);
    await client.query('COMMIT');
    expect(await pushing).toEqual(['queued', 'queued']);
    expect(await completeAll(connection)).toEqual(['b', 'c']);
  });
});

describe('a unique key in MariaDB', () => {
  it('that was never taken is not held by a job without an id', async () => {
    const connection = await world.open();
    await pushes(connection, { payload: '{"job":"probe","attempts":0}' });
    expect(await pushes(connection, tied('a'))).toEqual(['queued']);
  });

  it('does not leave its row behind for long, because other pushes remove the rows of gone jobs', async () => {
    const connection = await world.open();
    await pushes(connection, tied('stays', 'stays'));
    await pushes(connection, ...Array.from({ length: 90 }, (_, at) => tied(`job-${at}`, `key-${at}`)));
    const reservations = await reserve(connection);
    const ended = reservations.filter((reservation) => idOf(reservation) !== 'stays');
    await settleIn(
      connection,
      ended.map((reservation) => ({ outcome: 'completed', reservation })),
    );
    expect(await rowsLeft()).toBe(91);
    for (let at = 0; at < 150; at += 1) {
      await pushes(connection, tied(`again-${at}`, `again-${at}`));
      await completeAll(connection);
    }
    expect(await rowsLeft()).toBeLessThan(20);
    expect(await pushes(connection, tied('other', 'stays'))).toEqual([{ duplicate: 'stays' }]);
  });

  it('held until the start is taken again, for a new time, by a job that goes back unstarted', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a', 'one', { ...START, for: 60 }));
    world.offset = 50;
    const [reservation] = await reserve(connection);
    await settleIn(connection, [back(reservation!)]);
    world.offset = 100;
    expect(await pushes(connection, tied('b', 'one', { ...START, for: 60 }))).toEqual([{ duplicate: 'a' }]);
    world.offset = 111;
    expect(await pushes(connection, tied('c', 'one', { ...START, for: 60 }))).toEqual(['queued']);
  });
});

describe('a user transaction on MariaDB', () => {
  it('uses the current state, not that of its beginning', async () => {
    const connection = await world.open();
    await pushes(connection, tied('a'));
    const client = await world.client();
    await client.query(`BEGIN; SELECT COUNT(*) FROM ${world.table}`);
    await completeAll(connection);
    await pushes(connection, tied('b', 'two'));
    const within = connection.within(client)!;
    expect(await pushes(within, tied('c'), tied('d', 'two'))).toEqual(['queued', { duplicate: 'b' }]);
    await client.query('COMMIT');
    expect(await pushes(connection, tied('e'))).toEqual([{ duplicate: 'c' }]);
  });

  it('takes a key again when the time of its own earlier job is over', async () => {
    const connection = await world.open();
    const client = await world.client();
    await client.query('BEGIN');
    const within = connection.within(client)!;
    expect(await pushes(within, tied('a', 'one', { for: 60 }), tied('b', 'two'))).toEqual(['queued', 'queued']);
    world.offset = 61;
    expect(await pushes(within, tied('c'), tied('d', 'two'))).toEqual(['queued', { duplicate: 'b' }]);
    await client.query('ROLLBACK');
  });

  it('that has taken a key makes other pushes of the key wait', async () => {
    const connection = await world.open();
    const client = await world.client();
    await client.query('BEGIN');
    await pushes(connection.within(client)!, tied('a'));
    const pushing = pushes(connection, tied('b'));
    await world.untilSomebodyWaits(client);
    await client.query('COMMIT');
    expect(await pushing).toEqual([{ duplicate: 'a' }]);
  });
});
