/** Tests of searches among failed jobs for each database. */
import type { FailedSearch } from '../../../src/connections/failed-store';
import { withTies } from '../../../src/payload/ties';
import { payload } from './open-database';
import type { OperationsStore } from './operations';

export function describeSearches(store: OperationsStore): void {
  describe(`a search of failed jobs in ${store.name}`, () => {
    const entry = (id: string, fields: object = {}) => ({
      ...{ id, connection: 'main', queue: 'mail', name: 'Send', exception: 'Error: refused', attempts: 1 },
      payload: Buffer.from(payload(id)),
      ...fields,
    });

    it('reads only those that match, wherever they are among many', async () => {
      const connection = await store.open();
      const { failed } = connection;
      const found = async (search: FailedSearch, queue?: string): Promise<readonly string[]> => {
        const ids: string[] = [];
        for (let after: string | undefined; ;) {
          const page = await failed.list({ queue, limit: 2, after, search });
          ids.push(...page.map(({ id }) => id));
          after = page.at(-1)?.place;
          if (after === undefined) return ids;
        }
      };
      for (let each = 0; each < 450; each += 1) {
        const fields = each % 220 === 0 ? { name: 'Resize', exception: `Error: Ümlaut ${each}` } : {};
        await failed.put(entry(`job-${each}`, { queue: each < 5 ? 'other' : 'mail', ...fields }));
      }
      const tied = withTies(payload('member'), { batch: { id: '0193-nightly', weight: 1 } });
      await failed.put(entry('member', { payload: Buffer.from(tied) }));

      expect(await found({ name: 'Resize' })).toEqual(['job-440', 'job-220', 'job-0']);
      expect(await found({ error: 'Ümlaut' }, 'mail')).toEqual(['job-440', 'job-220']);
      expect(await found({ error: 'Ümlaut 2', connection: 'main', name: 'Resize' })).toEqual(['job-220']);
      expect(await found({ batch: '0193-nightly' })).toEqual(['member']);
      expect(await found({ connection: 'elsewhere' })).toEqual([]);
      expect(await found({ until: 1000 })).toEqual([]);
      expect(await found({ until: (await connection.now()) + 60_000 })).toHaveLength(451);
    });

    it('also reads those whose secrets are masked when they are shown', async () => {
      const { failed } = await store.open();
      await failed.put(entry('a', { exception: 'Error: redis://u:hunter2@host' }));

      expect(await failed.list({ limit: 10, search: { error: 'u:***@host' } })).toHaveLength(1);
    });
  });
}
