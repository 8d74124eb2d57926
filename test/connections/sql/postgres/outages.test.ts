/** Outages of PostgreSQL, and lost answers. */
import { createServer, type AddressInfo } from 'node:net';
import { Client, Pool } from 'pg';
import { systemClock } from '../../../../src/base/clock';
import { connectPostgres } from '../../../../src/connections/sql/postgres/connection';
import { meantToPass } from '../../../support/meant-to-pass';
import { postgresErrors } from '../../../../src/connections/sql/postgres/errors';
import { FaultyProxy } from '../../../faults/kit/faulty-proxy';
import { eventually } from '../../../support/eventually';
import { payload, reserve, silent } from '../open-database';
import { describeLostAnswers, describeOutages } from '../server/outages';
import { PostgresWorld } from './open-postgres';
import { waitOn } from '../../../support/exchange';

const world = new PostgresWorld({ durable: true }).forTests();

describeLostAnswers(world, { reserveAgain: reserve, releases: 1 });

describeOutages(world, 'PostgreSQL', [
  [
    'an unknown user',
    'postgres://nobody:hunter2@127.0.0.1',
    /refused \(role "nobody" does not exist\).*Check the user/,
  ],
  [
    'an unknown database',
    'postgres://onqueue:hunter2@127.0.0.1',
    /database "nowhere" does not exist.*Create the database/,
  ],
]);

/** A call with which a worker reserves jobs. */
const exchanged = ({ number, unheard, limit = 1, offset = 0 }: Exchanged): string =>
  `select * from "${world.table}_exchange_v10"(
     '{}', '{}', null, null, null, null, '{default}', ${limit}, 60, 'other', ${number}, '${unheard}', ${offset}, null)`;

interface Exchanged {
  readonly number: number;
  readonly unheard: string;
  readonly limit?: number;
  readonly offset?: number;
}

it('a session that is ended in the packet in which it began does not end the process', async () => {
  const begun = ['R\0\0\0\x08\0\0\0\0', 'Z\0\0\0\x05I', 'E\0\0\0\x13SFATAL\0C57P01\0\0'].join('');
  let sessions = 0;
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        sessions += 1;
        socket.end(begun, 'latin1');
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `postgres://onqueue@127.0.0.1:${port}/app`;
  const pools = [undefined, new Pool({ connectionString: url })] as const;
  for (const pool of pools) {
    const config =
      pool === undefined ? ({ driver: 'database', url } as const) : ({ driver: 'database', pool } as const);
    const connection = connectPostgres(config, {
      name: 'main',
      clock: systemClock,
      logger: silent,
      deadline: meantToPass(1),
      table: 'jobs',
    });
    await expect(connection.push('default', [{ payload: payload('a') }])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
    });
    await connection.close();
    await pool?.end();
  }

  expect(sessions).toBeGreaterThan(1);
  await new Promise((resolve) => server.close(resolve));
});

describe('a lost answer of PostgreSQL', () => {
  it('to a call that arrives late, after its repeat, changes nothing', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    const push = `"${world.table}_push_v10"`;
    const jobs = `'[{"queue":"default","payload":"{}","uuid":"","delay":0,"attempts":0,"crashes":0,"exceptions":0,"timeouts":0,"releases":0}]'`;
    await world.rows(`select ${push}(null, null, ${jobs}, '{default}', false, 'client', 2, '{1}', 0, null)`);
    await world.rows(`select ${push}(null, null, ${jobs}, '{default}', false, 'client', 1, '{}', 0, null)`);
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 2 });
    expect(await world.rows(exchanged({ number: 2, unheard: '{1}' }))).toHaveLength(2);
    expect(await world.rows(exchanged({ number: 1, unheard: '{}' }))).toEqual([]);
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 1, reserved: 1 });
  });

  it('to a call whose client disconnected halfway is undone by the next call', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b'), delay: 5 }]);
    // The server blocks while it promotes due jobs, and does not check its client meanwhile.
    await world.rows(
      `create function "${world.table}_gate"() returns trigger language plpgsql as
         'begin perform pg_advisory_xact_lock(1); return new; end';
       create trigger gate before update on "${world.table}" for each row execute function "${world.table}_gate"()`,
    );
    const gate = await world.client();
    await gate.query('select pg_advisory_lock(1)');
    const proxy = await FaultyProxy.start(world.server.port);
    const cut = new Client({ connectionString: world.urlOf(proxy.port) });
    cut.on('error', () => undefined);
    await cut.connect();
    const unheard = cut.query(exchanged({ number: 1, unheard: '{}', limit: 2, offset: 10 }));
    unheard.catch(() => undefined);
    const sessions = () => world.rows(`select pid, wait_event from pg_stat_activity`);
    const held = await eventually(async () => (await sessions()).find((row) => row['wait_event'] === 'advisory'));
    await proxy.stop();
    await expect(unheard).rejects.toThrow('Connection terminated');
    await gate.query('select pg_advisory_unlock(1)');
    await eventually(async () => (await sessions()).every(({ pid }) => pid !== held?.['pid']));
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 2 });

    const taken = await world.rows(exchanged({ number: 2, unheard: '{1}', limit: 2, offset: 10 }));
    // The id, and the counters: one attempt, no crash, one release.
    const job = expect.stringMatching(/^\d+ 1 0 0 0 1 f 1 {/);
    expect(taken.flatMap((row) => Object.values(row))).toEqual([job, job, expect.stringContaining('"settled"')]);
  });
});

describe('a PostgreSQL that is away or in trouble', () => {
  it.each([
    ['one of its processes crashed', '57P02'],
    ['the connection was ended by an administrator, or by a shutdown', '57P01'],
  ])('may have carried out a call when %s', (_what, code) => {
    expect(postgresErrors.trouble({ code, severity: 'FATAL' })).toBe('gone');
  });

  it('wakes a listener for records although its connection has ended, and tells it of the end', async () => {
    const connection = await world.open();
    const heard: boolean[] = [];
    const { wake } = connection.records;
    const listening = wake!.listen('results', 'a', () => heard.push(listening.isHeard));
    await eventually(() => listening.isHeard);
    await world.rows(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN %'`);
    await eventually(() => heard.length > 1);
    await eventually(() => listening.isHeard);

    await wake!.put({ kind: 'results', id: 'a', value: '' }, 60);

    await eventually(() => heard.length > 3);
    expect(heard).toEqual([true, false, true, true]);
    listening.stop();
  });

  it('wakes a worker although its connection for hints has ended', async () => {
    const connection = await world.open();
    await waitOn(connection, ['default'], 10, new AbortController().signal);
    const wait = waitOn(connection, ['default'], 3600, new AbortController().signal);
    await world.rows(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN %'`);
    await expect(wait).resolves.toMatchObject({ reservations: [] });
    await eventually(async () => {
      const [row] = await world.rows(`select count(*)::int as n from pg_stat_activity where query like 'LISTEN %'`);
      return row!['n'] === 1;
    });
  });
});
