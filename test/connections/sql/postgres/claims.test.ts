/** How many clients claim jobs at once, and at what cost. */
import type { Reservation } from '../../../../src/connections/contract';
import { eventually } from '../../../support/eventually';
import { payload, reserve } from '../open-database';
import { describeClaims, openLimited, takenAfter } from '../server/claims';
import { PostgresWorld } from './open-postgres';
import { settleIn, waitOn } from '../../../support/exchange';

const world = new PostgresWorld().forTests();

describeClaims(world);

describe('a store in PostgreSQL', () => {
  it('reads only the jobs that it settles and reserves, even by plans that were made when the table was short', async () => {
    await world.open();
    const client = await world.client();
    const fill = (count: number) =>
      client.query(
        `insert into "${world.table}" (queue, payload, attempts, available_at, created_at, reserved_at, place)
         select 'default', '{"id":"' || n || '"}', 0, 0, 0, case when n % 2 = 0 then 1 end, n from generate_series(1, ${count}) n`,
      );
    const released = '[{"id":4,"fence":0,"delay":0,"attempts":1,"crashes":0,"exceptions":0,"timeouts":0,"releases":0}]';
    const call = `select "${world.table}_exchange_v10"('{2}', '{0}', '${released}', null, null, null, '{default}', 1, 60, 'c', 1, '{}', 0, null)`;
    await fill(5);
    await client.query(`analyze "${world.table}"`);
    // From the sixth execution on a session keeps its plans.
    for (let round = 0; round < 7; round += 1) await client.query(`begin; ${call}; rollback`);
    await client.query('begin');
    await fill(5000);
    const read = async (): Promise<number> => {
      const { rows } = await client.query(
        'select seq_scan, idx_tup_fetch from pg_stat_xact_user_tables where relname = $1',
        [world.table],
      );
      expect(rows).toMatchObject([{ seq_scan: '0' }]);
      return Number((rows as readonly { idx_tup_fetch: string }[])[0]!.idx_tup_fetch);
    };
    const before = await read();
    const { rows } = await client.query(call);
    expect((await read()) - before).toBeLessThan(10);
    expect(Object.values(rows.at(-1) as object)).toEqual([expect.stringContaining('"settled" : [2,4]')]);
  });

  it('refuses a payload that it cannot store, but none that is sent with it', async () => {
    const connection = await world.open();
    const pushes = ['a', '\0', 'c'].map((text) => connection.push('default', [{ payload: `{"id":"${text}"}` }]));
    const results = await Promise.allSettled(pushes);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'E_INVALID_PAYLOAD' } });
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 2 });
  });

  it('keeps a failed job of another store byte for byte', async () => {
    const connection = await world.open();
    const bytes = Buffer.from([0x7b, 0x00, 0xff, 0x7d]);
    const entry = {
      id: 'a',
      name: 'Probe',
      exception: 'Error: \0',
      connection: 'elsewhere',
      queue: 'default',
      attempts: 1,
    };
    await connection.failed.put({ ...entry, payload: bytes });
    expect(await connection.failed.find('a')).toMatchObject([{ ...entry, payload: bytes, exception: 'Error: \uFFFD' }]);
  });

  it('renews and settles the same jobs without a deadlock, because both lock them in the order of their ids', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
    const [a, b] = await reserve(connection);
    const other = await world.client();
    const lock = (id: unknown) =>
      other.query(`select from "${world.table}" where id = ${String(id)} for update nowait`);
    const idIn = ({ token }: { readonly token: unknown }): unknown => (token as { readonly id: string }).id;
    // Moves behind the other one in the table, and is read last.
    await other.query(`update "${world.table}" set queue = queue where id = ${String(idIn(a!))}`);
    await other.query('begin');
    await lock(idIn(a!));
    const renewing = connection.renew([b!, a!], 60);
    await eventually(async () => (await world.rows('select from pg_locks where not granted')).length > 0);
    await lock(idIn(b!));
    await other.query('rollback');
    expect(await renewing).toEqual(['renewed', 'renewed']);
  });

  it('settles jobs in several ways without a deadlock with a renewal, because it locks them in the order of their ids', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }, { payload: payload('c') }]);
    const held = await reserve(connection);
    const [a, b, c] = held.map(({ token }) => (token as { readonly id: string }).id) as [string, string, string];
    const other = await world.client();
    const lock = (id: string) => other.query(`select from "${world.table}" where id = ${id} for update nowait`);
    await other.query('begin');
    await lock(a);
    const [first, second, third] = held as [Reservation, Reservation, Reservation];
    const failure = { id: 'b', name: 'Probe', exception: 'Error' };
    const settling = settleIn(connection, [
      { outcome: 'completed', reservation: third },
      { outcome: 'failed', reservation: second, counters: second.counters, failure },
      { outcome: 'released', reservation: first, delay: 0, counters: first.counters },
    ]);
    await eventually(async () => (await world.rows('select from pg_locks where not granted')).length > 0);
    await lock(b);
    await lock(c);
    await other.query('rollback');
    expect(await settling).toEqual(['settled', 'settled', 'settled']);
  });

  it('counts the jobs of a limited queue only once those before it have committed what they took', async () => {
    const connection = await openLimited(world);
    const client = await world.client();
    const taking = `select "${world.table}_exchange_v10"('{}', '{}', null, null, null, null, '{default}', 5, 60, 'c', 1, '{}', 0, null)`;
    await client.query('begin');
    expect((await client.query(taking)).rows).toHaveLength(2);
    const taken = await takenAfter(
      connection,
      () => eventually(async () => (await world.rows('select from pg_locks where not granted')).length > 0),
      () => client.query('commit'),
    );
    expect(taken).toEqual([]);
  });

  it('wakes a waiting worker without delay when another process pushes', async () => {
    const [connection, other] = [await world.open(), world.connect()];
    await waitOn(connection, ['default'], 10, new AbortController().signal);
    const wait = waitOn(connection, ['default'], 3600, new AbortController().signal);
    await other.push('elsewhere', [{ payload: payload('a') }]);
    await other.push('default', [{ payload: payload('b') }]);
    await expect(wait).resolves.toMatchObject({ reservations: [] });
  });

  it('sends hints for the jobs that follow an outcome, and none for a lost outcome', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    const [reservation] = await reserve(connection);
    const client = await world.client();
    const hints: unknown[] = [];
    client.on('notification', (hint) => hints.push(hint.payload));
    await client.query(`LISTEN "onqueue_${world.table}"`);
    const end = (queue: string) => {
      const next = [{ queue, entry: { payload: payload(queue) } }];
      return settleIn(connection, [{ outcome: 'completed', reservation: reservation!, next }]);
    };
    expect([await end('next'), await end('lost')]).toEqual([['settled'], ['lost']]);
    await connection.push('last', [{ payload: payload('b') }]);
    await eventually(() => hints.includes('last'));
    expect(hints).toEqual(['next', 'last']);
  });
});
