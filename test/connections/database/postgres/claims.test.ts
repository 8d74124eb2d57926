/** How jobs are claimed by many at once, and at what cost. */
import type { ServerConnection } from '../../../../src/connections/database/server/server-connection';
import { idOf, payload, PostgresWorld } from './open-postgres';

let world: PostgresWorld;

beforeAll(async () => {
  world = await PostgresWorld.start();
}, 60_000);

beforeEach(() => world.fresh());
afterEach(() => world.closeAll());
afterAll(() => world.stop());

const REQUEST = { queues: ['default'], lease: 60 };

/** Takes and completes jobs until there are none. */
async function work(connection: ServerConnection, limit: number): Promise<readonly unknown[]> {
  const ids: unknown[] = [];
  let { reservations, nextIn } = await connection.reserve({ ...REQUEST, limit });
  while (reservations.length > 0 || nextIn === 0) {
    ids.push(...reservations.map(idOf));
    const settlements = reservations.map((reservation) => ({ outcome: 'completed', reservation }) as const);
    const { results, reply } = await connection.settleAndReserve(settlements, { ...REQUEST, limit });
    expect(new Set(results)).toEqual(new Set(results.length > 0 ? ['settled'] : []));
    ({ reservations, nextIn } = reply);
  }
  return ids;
}

describe('claiming jobs in PostgreSQL', () => {
  it('gives each of 10,000 jobs to one of two workers, and none twice', async () => {
    const [first, second] = [await world.open(), world.connect()];
    const ids = Array.from({ length: 10_000 }, (_, index) => `job-${index}`);
    await first.push(
      'default',
      ids.map((id) => ({ payload: payload(id) })),
    );

    const [a, b] = await Promise.all([work(first, 37), work(second, 100)]);

    expect([...a, ...b].length).toBe(ids.length);
    expect(new Set([...a, ...b])).toEqual(new Set(ids));
    expect(a.length).toBeGreaterThan(0);
    expect(b.length).toBeGreaterThan(0);
    expect(await first.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  }, 30_000);

  it('reads no table from end to end, also by plans that were made when it was short', async () => {
    await world.open();
    const client = await world.client();
    const fill = (count: number) =>
      client.query(
        `insert into "${world.table}" (queue, payload, attempts, available_at, created_at, place)
         select 'default', '{"id":"' || n || '"}', 0, 0, 0, n from generate_series(1, ${count}) n`,
      );
    const call = `select * from "${world.table}_exchange_v1"('{}', '{}', null, null, '{default}', 1, 60, null, false, 'c', 1, '{}', 0)`;
    await fill(3);
    await client.query(`analyze "${world.table}"`);
    // From the sixth on a session keeps its plans.
    for (let round = 0; round < 7; round += 1) await client.query(`begin; ${call}; rollback`);
    await client.query('begin');
    await fill(5000);
    await client.query(call);
    const { rows } = await client.query('select seq_scan from pg_stat_xact_user_tables where relname = $1', [
      world.table,
    ]);
    expect(rows).toEqual([{ seq_scan: '0' }]);
  });

  it('is told apart from a transaction that is still open: it waits for nobody', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('held') }, { payload: payload('free') }]);
    const client = await world.client();
    await client.query('begin');
    await client.query(`select 1 from "${world.table}" where uuid = 'held' for update`);
    const { reservations } = await connection.reserve({ ...REQUEST, limit: 10 });
    expect(reservations.map(idOf)).toEqual(['free']);
    await client.query('rollback');
    expect((await connection.reserve({ ...REQUEST, limit: 10 })).reservations.map(idOf)).toEqual(['held']);
  });

  it('refuses a text that cannot be kept, and none that is sent with it', async () => {
    const connection = await world.open();
    const pushes = ['a', '\0', 'c'].map((text) => connection.push('default', [{ payload: `{"id":"${text}"}` }]));
    const results = await Promise.allSettled(pushes);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'E_INVALID_PAYLOAD' } });
    expect(await connection.counts('default')).toMatchObject({ ready: 2 });
  });

  it('keeps a failed job of another store to the byte, whatever its bytes are', async () => {
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
    expect(await connection.failed.get('a')).toMatchObject({ ...entry, payload: bytes, exception: 'Error: \uFFFD' });
  });

  it('wakes a worker that waits from another process’s push without delay', async () => {
    const [connection, other] = [await world.open(), world.connect()];
    const waiter = connection.waiter(['default']);
    await waiter.wait(10, new AbortController().signal);
    const wait = waiter.wait(30, new AbortController().signal);
    await other.push('elsewhere', [{ payload: payload('a') }]);
    await other.push('default', [{ payload: payload('b') }]);
    await expect(wait).resolves.toBeUndefined();
  });
});
