/** What the statements read. A plan that the server chooses by itself may read all rows of a queue or a kind for each page. */
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests();

const ROWS = 20_000;

async function reads(): Promise<number> {
  const rows = await world.rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'");
  return rows.reduce((sum, { Value: value }) => sum + Number(value), 0);
}

describe('failed jobs of a queue', () => {
  it('are counted and skipped along the index, not from its start for each step', async () => {
    const { failed } = await world.open();
    await world.rows(
      `INSERT INTO failed_${world.table} (uuid, connection, queue, payload, exception, failed_ms)
        SELECT seq, 'database', 'mail', '{}', 'Error', 4e12 FROM seq_1_to_${ROWS}`,
    );
    const calls = {
      list: () => failed.list({ queue: 'mail', limit: 10, offset: ROWS - 100 }),
      'list behind a place': async () => {
        const [entry] = await failed.list({ queue: 'mail', limit: 1, offset: 100 });
        return failed.list({ queue: 'mail', limit: 10, after: entry!.place });
      },
      search: () => failed.list({ queue: 'mail', limit: 10, search: { error: 'nothing' } }),
      count: () => failed.count('mail'),
      prune: () => failed.prune({ queue: 'mail', keep: ROWS - 100 }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const before = await reads();
      await call();
      expect([name, (await reads()) - before < 3 * ROWS]).toEqual([name, true]);
    }
    expect(await failed.count('mail')).toBe(ROWS - 100);
  });
});

describe('records of a kind beyond its bound', () => {
  it('are found along the index, not among all of the kind', async () => {
    const { records } = await world.open();
    const put = (page: number): Promise<void> =>
      records.put(
        Array.from({ length: 100 }, (_, index) => ({
          kind: 'probe',
          id: `01930000-0000-7000-8000-${page * 100 + index}`,
          value: 'x'.repeat(400),
        })),
        100 + page,
        10_000,
      );
    for (let page = 1; page <= 110; page += 1) await put(page);
    const before = await reads();
    for (let page = 111; page <= 120; page += 1) await put(page);
    expect((await reads()) - before).toBeLessThan(110_000);
    expect(await records.list('probe', { limit: 20_000 })).toHaveLength(10_000);
  });
});
