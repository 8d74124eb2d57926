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

  it('are counted by their stores', async () => {
    const failed = await given(['a', 'b', 'c']);

    expect([await failed.kept(), await failed.kept('mails'), await failed.kept('reports')]).toEqual([3, 3, 0]);
  });
});
