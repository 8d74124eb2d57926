import { failedPage, type FailedPlaces } from '../../../src/application/failed/failed-stores';
import { watchedApplication } from '../../support/watched-application';

/** A connection that keeps failed jobs with these ids, the last one being the newest. */
async function given(ids: readonly string[], more: { readonly queue?: string; readonly exception?: string } = {}) {
  const { manager, watched } = watchedApplication({ connections: { main: { driver: 'memory' } } });
  for (const id of ids) {
    const payload = Buffer.from(`{"job":"Mail@send","data":{"to":"${id}"},"id":"${id}","attempts":1}`);
    const entry = { id, connection: 'main', queue: 'mails', name: 'Mail', exception: `Error: ${id}`, attempts: 1 };
    await watched('main').failed.put({ ...entry, ...more, payload });
  }
  return manager.failed;
}

describe('failed jobs', () => {
  it('are shown without secrets that another program stored, which a filter cannot reveal either', async () => {
    const failed = await given(['a'], { exception: 'Error: connect redis://app:hunter2@cache failed' });

    expect((await failed.get('a'))?.exception).toBe('Error: connect redis://app:***@cache failed');
    expect(await failed.list({ error: 'hunter' })).toEqual([]);
    expect(await failed.count({ error: 'cache failed' })).toBe(1);
  });

  it('can be listed from any offset', async () => {
    const failed = await given(['a', 'b', 'c', 'd', 'e']);
    const idsOf = async (offset: number, limit: number) => (await failed.list({ offset, limit })).map(({ id }) => id);

    expect([await idsOf(1, 2), await idsOf(3, 5), await idsOf(9, 1)]).toEqual([['d', 'c'], ['b', 'a'], []]);
  });

  it('of several connections come page by page, each once, however deep, also if two lead to one store', async () => {
    const connections = {
      main: { driver: 'memory' },
      other: { driver: 'memory' },
      away: { driver: 'memory' },
    } as const;
    const { manager, watched, clock } = watchedApplication({ default: 'main', connections });
    const stores = [['main', 'other'], ['main'], ['other'], ['main', 'other']] as const;
    for (const name of ['main', 'other']) Object.defineProperty(watched(name), 'threadAccess', { value: undefined });
    jest.spyOn(watched('away').failed, 'list').mockRejectedValue(new Error('no answer'));
    for (let at = 0; at < 40; at += 1) {
      const payload = Buffer.from(`{"job":"Mail@send","id":"${at}"}`);
      const entry = { id: String(at), connection: 'main', queue: 'mails', name: 'Mail', exception: '', attempts: 1 };
      // What two connections show is in one store.
      for (const name of stores[at % stores.length]!) await watched(name).failed.put({ ...entry, payload });
      await clock.advance('1s');
    }
    const lists = [jest.spyOn(watched('main').failed, 'list'), jest.spyOn(watched('other').failed, 'list')];
    const seen: string[] = [];
    for (let after: FailedPlaces = new Map(); ;) {
      const page = await failedPage(manager, { queue: 'mails', limit: 3, after });
      expect(page.away).toEqual([{ connection: 'away', error: expect.any(Error) }]);
      seen.push(...page.jobs.map(({ job }) => job.id));
      after = page.jobs.at(-1)?.places ?? after;
      if (page.jobs.length === 0) break;
    }

    expect(seen.map(Number)).toEqual(Array.from({ length: 40 }, (_, at) => 39 - at));
    const read = await Promise.all(
      lists.flatMap(({ mock }) => mock.results.map(({ value }) => value as Promise<unknown[]>)),
    );
    expect(Math.max(...read.map(({ length }) => length))).toBe(3);
  });

  it('are counted by their stores', async () => {
    const failed = await given(['a', 'b', 'c']);

    expect([await failed.kept(), await failed.kept('mails'), await failed.kept('reports')]).toEqual([3, 3, 0]);
  });
});
