/** What the statements read: a plan that the server makes by itself may go through all rows of a queue or a kind for each page. */
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests();

const ROWS = 20_000;

async function reads(): Promise<number> {
  const rows = await world.rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'");
  return rows.reduce((sum, { Value: value }) => sum + Number(value), 0);
}

describe('failed jobs of a queue', () => {
  it('are counted and skipped along the index, and not from its start for each step', async () => {
    const { failed } = await world.open();
    await world.rows(
      `INSERT INTO failed_${world.table} (uuid, connection, queue, payload, exception, failed_ms)
        SELECT seq, 'database', 'mail', '{}', 'Error', 4e12 FROM seq_1_to_${ROWS}`,
    );
    const calls = {
      list: () => failed.list({ queue: 'mail', limit: 10, offset: ROWS - 100 }),
      count: () => failed.count('mail'),
      prune: () => failed.prune({ queue: 'mail', keep: ROWS - 100 }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const before = await reads();
      await call();
      expect([name, (await reads()) - before < 2 * ROWS]).toEqual([name, true]);
    }
    expect(await failed.count('mail')).toBe(ROWS - 100);
  });
});

describe('records of a kind beyond its bound', () => {
  it('are found along the index, and not among all of the kind', async () => {
    const { records } = await world.open();
    await world.rows(
      `INSERT INTO ${world.table}_records (kind, id, value, ends_at) SELECT 'probe', seq, '', 5e9 + seq FROM seq_1_to_10000`,
    );
    const before = await reads();
    await records.put(
      Array.from({ length: 100 }, (_, index) => ({ kind: 'probe', id: `put-${index}`, value: '' })),
      6e9,
      10_000,
    );
    expect((await reads()) - before).toBeLessThan(11_000);
    expect(await records.list('probe', { limit: 1, offset: 9999 })).toMatchObject([{ id: '101' }]);
    expect(await records.list('probe', { limit: 1, offset: 10_000 })).toEqual([]);
  });
});
