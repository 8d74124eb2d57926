/** How many clients claim jobs at once, and at what cost. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { TestClock } from '../../../../src/testing/test-clock';
import { meantToPass } from '../../../support/meant-to-pass';
import { idOf, payload, reserve } from '../open-database';
import { describeClaims, openLimited, takenAfter } from '../server/claims';
import { MysqlWorld } from './open-mysql';
import { settleIn, waitOn } from '../../../support/exchange';

const world = new MysqlWorld().forTests();

describeClaims(world);

/** The number of rows that one call reads, in any table. */
async function rowsRead(connection: SqlConnection, call: () => Promise<unknown>): Promise<number> {
  const read = async (): Promise<number> => {
    const rows = await world.rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'");
    return rows.reduce((sum, row) => sum + Number(row['Value']), 0);
  };
  await connection.queues.counts('default');
  const before = await read();
  await call();
  return (await read()) - before;
}

describe('a store in MariaDB', () => {
  it('reads no more rows of a long queue than of a short one', async () => {
    const connection = await world.open();
    const fill = (count: number) =>
      world.rows(
        `INSERT INTO ${world.table} (queue, payload, attempts, available_at, created_at, place, due_at)
         SELECT 'default', CONCAT('{"id":"', seq, '"}'), 0, 0, 0, IF(seq % 2, seq, NULL), 4e9 FROM seq_1_to_${count}`,
      );
    await fill(100);
    const short = await rowsRead(connection, () => reserve(connection, { limit: 10 }));
    await fill(20_000);
    const long = await rowsRead(connection, () => reserve(connection, { limit: 10 }));
    expect(long).toBeLessThanOrEqual(short + 20);
  });

  it('neither holds up pushes nor is held up by them, even in a transaction with repeatable reads', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    const client = await world.client();
    await client.query(`BEGIN; SELECT COUNT(*) FROM ${world.table}`);
    await connection.within(client)!.push('default', [{ payload: payload('open') }]);
    await connection.push('default', [{ payload: payload('b') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
    await client.query('COMMIT');
    expect((await reserve(connection)).map(idOf)).toEqual(['open']);
  });

  it('counts the jobs of a limited queue only once those before it have committed what they took', async () => {
    const connection = await openLimited(world);
    const client = await world.client();
    const [first] = await world.rows(`SELECT MIN(id) AS id FROM ${world.table} WHERE queue = 'default'`);
    await client.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
    await client.query('BEGIN');
    // Two that only read the limit would not wait for each other.
    await client.query(`SELECT amount FROM ${world.table}_orders WHERE kind = 'running' LOCK IN SHARE MODE`);
    await client.query(
      `UPDATE ${world.table} SET reserved_at = 1, lease_until = 4e9, holder = 'x' WHERE id = ${String(first!['id'])}`,
    );
    const taken = await takenAfter(
      connection,
      () => world.untilSomebodyWaits(client),
      () => client.query('COMMIT'),
    );
    expect(taken).toEqual([]);
  });

  it('reports a row that another client keeps locked for too long, and settles it later', async () => {
    const connection = await world.open({}, { deadline: meantToPass(3) });
    await connection.push('default', [{ payload: payload('a') }]);
    const [reservation] = await reserve(connection);
    const client = await world.client();
    await client.query(`BEGIN; SELECT 1 FROM ${world.table} FOR UPDATE`);
    const settlements = [{ outcome: 'completed', reservation: reservation! }] as const;
    await expect(settleIn(connection, settlements)).rejects.toThrow(/no outcome was recorded.*transaction left open/s);
    await client.query('ROLLBACK');
    expect(await settleIn(connection, settlements)).toEqual(['settled']);
  });

  it.each([
    ['bytes that are not a text', Buffer.from([0x7b, 0x00, 0xff, 0x7d])],
    ['a text with special characters of SQL', Buffer.from(`{"a":"'';--\\\\'\\"\\u0000 %_\`$1 ? :x"}`)],
  ])('keeps a failed job of another store byte for byte: %s', async (_what, bytes) => {
    const connection = await world.open();
    const entry = { id: "a'\\", name: 'Prøbe', exception: 'Error: \0', connection: 'elsewhere', queue: 'default' };
    await connection.failed.put({ ...entry, attempts: 1, payload: bytes });
    expect(await connection.failed.find("a'\\")).toMatchObject([{ ...entry, payload: bytes }]);
  });

  it('distinguishes queues, ids and locks by case, accents and trailing white space', async () => {
    const connection = await world.open();
    for (const queue of ['queue', 'Queue', 'quêue']) await connection.push(queue, [{ payload: payload(queue) }]);
    expect((await reserve(connection, { queues: ['Queue'] })).map(idOf)).toEqual(['Queue']);
    expect(await connection.control.cancel('QUEUE')).toBe('unknown');
    expect(await connection.locks.acquire('lock', 'a', 60)).toBe(true);
    expect(await connection.locks.acquire('lock ', 'b', 60)).toBe(true);
    expect(await connection.locks.acquire('Lock', 'b', 60)).toBe(true);
  });

  it('accepts ids and names of locks of any length, and refuses a queue name of more than 255 characters', async () => {
    const connection = await world.open();
    const id = 'x'.repeat(300);
    await connection.push('default', [{ payload: payload(id) }, { payload: payload(`${id}y`) }]);
    expect(await connection.control.cancel(id)).toBe('removed');
    expect((await reserve(connection)).map(idOf)).toEqual([`${id}y`]);
    expect(await connection.locks.acquire(id, id, 60)).toBe(true);
    expect(await connection.locks.acquire(`${id}y`, id, 60)).toBe(true);
    expect(await connection.locks.release(id, id)).toBe(true);
    const queue = 'q'.repeat(256);
    await expect(connection.push(queue, [{ payload: '{}' }])).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
  });

  it('keeps a job delayed that is due later than its columns can express', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('pushed'), delay: 1e11 }, { payload: payload('released') }]);
    const [reservation] = await reserve(connection);
    const { counters } = reservation!;
    const released = { outcome: 'released', reservation: reservation!, counters, delay: 1e11 } as const;
    expect(await settleIn(connection, [released])).toEqual(['settled']);
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 2, reserved: 0 });
  });

  it('reports a packet that is larger than the server accepts', async () => {
    const connection = await world.open();
    await world.rows('SET GLOBAL max_allowed_packet = 1048576');
    const fresh = world.connect();
    const large = { payload: payload('x'.repeat(600_000)) };
    await expect(fresh.push('default', [large])).rejects.toMatchObject({
      code: 'E_DATABASE_PACKET_TOO_LARGE',
      facts: { limit: 1_048_576 },
    });
    await fresh.push('default', [{ payload: payload('small') }]);
    await world.rows('SET GLOBAL max_allowed_packet = 16777216');
    expect((await reserve(connection)).map(idOf)).toEqual(['small']);
  });

  it('removes the records of calls of an idle worker', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    for (let poll = 0; poll < 3; poll += 1) await reserve(connection);
    expect(await world.rows(`SELECT COUNT(*) AS n FROM ${world.table}_calls`)).toEqual([{ n: 2 }]);
    const [before] = await world.rows("SHOW GLOBAL STATUS LIKE 'Innodb_rows_inserted'");
    await reserve(connection);
    expect(await world.rows("SHOW GLOBAL STATUS LIKE 'Innodb_rows_inserted'")).toEqual([before]);
    await connection.close();
    expect(await world.rows(`SELECT COUNT(*) AS n FROM ${world.table}_calls`)).toEqual([{ n: 0 }]);
  });
});

describe('a worker that waits on MariaDB', () => {
  it('polls after pauses that double, is woken by a push of its own process, and polls soon again after work', async () => {
    const clock = new TestClock();
    const connection = await world.open({}, { clock });
    const never = new AbortController().signal;
    const pause = async (): Promise<number> => {
      let isOver = false;
      void waitOn(connection, ['default', 'other'], 60, never).then(() => (isOver = true));
      await clock.advance(0);
      let milliseconds = 0;
      for (; !isOver; milliseconds += 10) await clock.advance(0.01);
      return milliseconds;
    };

    expect([await pause(), await pause(), await pause()]).toEqual([50, 100, 200]);
    const wait = waitOn(connection, ['default', 'other'], 60, never);
    await connection.push('other', [{ payload: payload('a') }]);
    await wait;
    await connection.push('default', [{ payload: payload('b') }]);
    expect(await pause()).toBe(0);
    expect(await reserve(connection)).toHaveLength(1);
    expect(await pause()).toBe(50);
  });
});
