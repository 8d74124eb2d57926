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
