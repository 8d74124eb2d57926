/** The number of failed jobs over all connections. */
import { watchedApplication } from '../../support/watched-application';

function given() {
  const { manager, watched } = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' }, none: { driver: 'null' } },
  });
  const put = (store: string, id: string, connection = store, exception = 'Error: refused') =>
    watched(store).failed.put({
      ...{ id, connection, exception, queue: 'mails', name: 'Mail', attempts: 1 },
      payload: Buffer.from(`{"job":"Mail@send","id":"${id}"}`),
    });
  return { failed: manager.failed, watched, put };
}

describe('failed jobs are counted', () => {
  it('over all connections and pages, but once if two connections share a store', async () => {
    const { failed, put } = given();
    for (let each = 0; each < 250; each += 1) await put('main', String(each));
    await put('other', '0', 'main');
    await put('other', '0');

    expect(await failed.count({ name: 'Mail' })).toBe(251);
    expect(await failed.count({ connection: 'other' })).toBe(1);
  });

  it('without being read, all of them or those of a queue', async () => {
    const { failed, put, watched } = given();
    for (const id of ['a', 'b', 'c']) await put('main', id);
    await put('other', 'd');
    const list = jest.spyOn(watched('main').failed, 'list');

    expect([await failed.count(), await failed.count({ queue: 'mails' })]).toEqual([4, 4]);
    expect(await failed.prune({ keep: 1, dryRun: true })).toBe(2);
    expect(list).not.toHaveBeenCalled();
  });

  it('as two connections to one address show them, only once', async () => {
    const { failed, put, watched } = given();
    for (const store of ['main', 'other']) Object.defineProperty(watched(store), 'threadAccess', { value: undefined });
    for (const store of ['main', 'other']) await put(store, 'a');

    expect(await failed.count()).toBe(1);
  });

  it('by a filter', async () => {
    const { failed, put } = given();
    await put('main', 'a');
    await put('main', 'b', 'main', 'Error: broken');

    expect(await failed.count({ error: 'broken' })).toBe(1);
    await expect(failed.count({ error: 5 } as never)).rejects.toMatchObject({ code: 'E_FAILED_FILTER' });
  });

  it('on the connections that answer, and the error contains their number', async () => {
    const { failed, put, watched } = given();
    await put('other', 'a');
    jest.spyOn(watched('main').failed, 'count').mockRejectedValue(new Error('no answer'));

    await expect(failed.count()).rejects.toThrow(
      "1 failed job was found, but those of connection 'main' could not be read. Try again later",
    );
  });
});
