/** Outages of MariaDB, and lost answers. */
import { createConnection } from 'mysql2';
import { newJob } from '../../../../src/connections/sql/dialect';
import { mysqlNames } from '../../../../src/connections/sql/mysql/rows';
import { type MysqlConnection, mysqlDialect } from '../../../../src/connections/sql/mysql/connection';
import { MysqlPool } from '../../../../src/connections/sql/mysql/pool';
import { perform, raw } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/address';
import { FaultyProxy } from '../../../faults/kit/faulty-proxy';
import { eventually } from '../../../support/eventually';
import { payload, reserve } from '../open-database';
import { describeLostAnswers, describeOutages } from '../server/outages';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld({ durable: true }).forTests();

describeLostAnswers(world, {
  // The answer may have been lost before the transaction ended, and is then undone only a moment later.
  reserveAgain: async (connection) => {
    let reservations = await reserve(connection);
    while (reservations.length === 0) reservations = await reserve(connection);
    return reservations;
  },
  releases: expect.any(Number) as unknown,
});

describeOutages(world, 'MySQL', [
  ['an unknown user', 'mysql://nobody:hunter2@127.0.0.1', /refused \(Access denied for user 'nobody'.*Check the user/],
  ['an unknown database', 'mysql://onqueue:secret@127.0.0.1', /Unknown database 'nowhere'.*Create the database/],
]);

function poolOf({ server }: MysqlWorld, most: number, uri = server.url): MysqlPool {
  const connect = () => createConnection({ uri, multipleStatements: true });
  return new MysqlPool({ connect: connect as unknown as () => MysqlConnection, most, deadline: 60 });
}

describe('a new connection to MariaDB', () => {
  it('takes only one more round trip than a plain one, because little of the deadline may be left after an outage', async () => {
    const proxy = await FaultyProxy.start(world.server.port);
    const uri = world.urlOf(proxy.port);
    const untold = createConnection({ uri });
    await new Promise<void>((resolve) => untold.connect(() => resolve()));
    const { requests } = proxy;
    untold.destroy();
    const pool = poolOf(world, 1, uri);

    const session = await pool.acquire();
    const taken = proxy.requests - requests;
    const told = await session.run([raw('SELECT @@tx_isolation, @@innodb_lock_wait_timeout')]);
    session.release(false);
    await pool.close();
    await proxy.stop();

    expect(taken).toBe(requests + 1);
    expect(told[0]!.rows).toEqual([['READ-COMMITTED', 20]]);
    expect(session.limit).toBeGreaterThan(1_000_000);
  });
});

describe('a lost answer of MariaDB', () => {
  it('to a call that arrives late, after its repeat, changes nothing', async () => {
    const connection = await world.open();
    const { jobs } = mysqlDialect(mysqlNames(tableNames(world.table, 'database')));
    const pool = poolOf(world, 1);
    const session = await pool.acquire();
    const job = { ...newJob(payload('a'), 0), queue: 'default', unique: false };
    const tooLate = { errno: 1690 };

    await perform(session, jobs.push([job], { client: 'a', number: 2, unheard: [1] }));
    await expect(perform(session, jobs.push([job], { client: 'a', number: 1, unheard: [] }))).rejects.toMatchObject(
      tooLate,
    );
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 1 });
    const request = { queues: ['default'], limit: 1, lease: 60 };
    const first = { endings: [], request, mark: { client: 'b', number: 1, unheard: [] } };
    await perform(session, jobs.exchange(first));
    const second = { ...first, mark: { client: 'b', number: 2, unheard: [1] } };
    const { taken } = await perform(session, jobs.exchange(second));
    expect(taken.map(({ counters }) => counters)).toMatchObject([{ attempts: 1, crashes: 0, releases: 1 }]);
    await connection.push('default', [{ payload: payload('b') }]);
    await expect(perform(session, jobs.exchange(first))).rejects.toMatchObject(tooLate);
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 1, reserved: 1 });
    session.release(true);
    await pool.close();
  });

  it('to a transaction whose client disconnected halfway is undone by the next call', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b'), delay: 5 }]);
    // The server blocks while it promotes due jobs. Its next write to the client fails, which it ignores.
    const trigger = `CREATE TRIGGER ${world.table}_gate BEFORE UPDATE ON ${world.table} FOR EACH ROW`;
    await world.rows(`${trigger} SET @gate = GET_LOCK('${world.table}', 10)`);
    const gate = await world.client();
    await gate.query(`DO GET_LOCK('${world.table}', 10)`);
    const { jobs } = mysqlDialect(mysqlNames(tableNames(world.table, 'database'), () => 10));
    const pool = poolOf(world, 2);
    const cut = await pool.acquire();
    const request = { queues: ['default'], limit: 10, lease: 60 };
    const mark = { client: 'a', number: 1, unheard: [] };
    const unheard = perform(cut, jobs.exchange({ endings: [], request, mark }));
    unheard.catch(() => undefined);
    const threads = () => world.rows('SHOW PROCESSLIST');
    const thread = await eventually(async () => (await threads()).find(({ State }) => State === 'User lock'));
    cut.release(true);
    await expect(unheard).rejects.toThrow('Connection lost');
    await gate.query(`DO RELEASE_LOCK('${world.table}')`);
    await eventually(async () => (await threads()).every(({ Id }) => Id !== thread?.['Id']));
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 2 });

    const session = await pool.acquire();
    const { taken } = await perform(
      session,
      jobs.exchange({ endings: [], request, mark: { ...mark, number: 2, unheard: [1] } }),
    );
    expect(taken.map(({ counters }) => counters)).toMatchObject([
      { attempts: 1, crashes: 0, releases: 1 },
      { attempts: 1, crashes: 0, releases: 1 },
    ]);
    session.release(false);
    await pool.close();
  });
});
