import { failedStoreOf } from '../../../src/connections/application';
import { failedJobsOutOfReach } from '../../../src/application/failed/errors';
import type { FailedFilter } from '../../../src/application/failed/failed-filter';
import type { FailedEntry } from '../../../src/connections/failed-store';
import { Worker } from '../../../src/worker/worker';
import { watchedApplication } from '../../support/watched-application';

type Put = Omit<FailedEntry, 'failedAt'>;

function entry(id: string, more: Partial<Put> = {}): Put {
  const payload = Buffer.from(`{"job":"Mail@send","data":{"to":"${id}"},"id":"${id}","exceptions":1,"attempts":1}`);
  return {
    id,
    connection: 'main',
    queue: 'mails',
    name: 'Mail',
    payload,
    exception: `Error: ${id}`,
    attempts: 1,
    ...more,
  };
}

/** Three connections: two keep failed jobs, one does not. */
function given() {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' }, none: { driver: 'null' } },
  });
  const store = (name: string) => app.watched(name).failed;
  const { failed } = app.manager;
  const ids = async () => (await failed.list({ limit: 1000 })).map(({ id }) => id);
  return { ...app, failed, store, ids };
}

describe('failed jobs', () => {
  it('are listed over all connections, newest first, in readable form', async () => {
    const { clock, failed, store } = given();
    await store('main').put(entry('a'));
    await clock.advance('1s');
    await store('other').put(entry('b', { connection: 'other', queue: 'reports' }));
    await clock.advance('1s');
    await store('main').put(entry('c'));

    expect((await failed.list()).map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    expect((await failed.list({ queue: 'reports' })).map(({ id }) => id)).toEqual(['b']);
    await expect(failed.list({ limit: -1 })).rejects.toThrow(
      "failed.list() was given { limit: -1, offset: 0 }, and 'limit' must be a whole number, 0 or more.",
    );
    expect((await failed.list({ limit: 1, offset: 1 })).map(({ id }) => id)).toEqual(['b']);
    expect(await failed.get('b')).toEqual({
      ...entry('b', { connection: 'other', queue: 'reports' }),
      payload: '{"job":"Mail@send","data":{"to":"b"},"id":"b","exceptions":1,"attempts":1}',
      failedAt: new Date(clock.now() - 1000),
      chain: [],
      cause: undefined,
    });
    expect(await failed.get('x')).toBeUndefined();
  });

  it('are ambiguous if two connections have the same id, and nothing happens until one connection is named', async () => {
    const { failed, store } = given();
    const twin = entry('a').payload;
    await store('main').put(entry('a'));
    await store('other').put(entry('a', { connection: 'other', payload: twin }));

    expect((await failed.list()).map(({ id, connection }) => [id, connection])).toEqual([
      ['a', 'main'],
      ['a', 'other'],
    ]);
    const ambiguous = {
      code: 'E_AMBIGUOUS_FAILED_JOB',
      facts: { places: ['main', 'other'].map((connection) => ({ connection, queue: 'mails' })) },
    };
    for (const look of [failed.get('a'), failed.retry('a'), failed.forget('a')]) {
      await expect(look).rejects.toMatchObject(ambiguous);
    }
    expect(await failed.get('a', { connection: 'other' })).toMatchObject({ connection: 'other' });
    expect(await failed.get('a', { queue: 'elsewhere' })).toBeUndefined();
    expect(await failed.forget('a', { connection: 'other' })).toBe(true);
    expect((await failed.list()).map(({ connection }) => connection)).toEqual(['main']);
    expect(await failed.retry('a')).toBe(true);
  });

  it('are retried once, with all their tries', async () => {
    const { failed, ids, store, watched } = given();
    await store('main').put(entry('a'));

    expect(await failed.retry('a')).toBe(true);
    expect(await failed.retry('a')).toBe(false);

    expect(await ids()).toEqual([]);
    expect(await watched('main').payloads('mails')).toEqual([
      { job: 'Mail@send', data: { to: 'a' }, fenceAtRetry: 1, id: 'a', releases: 1, attempts: 0 },
    ]);
  });

  it('are retried on the connection they came from if another one keeps them', async () => {
    const { failed, ids, store, watched } = given();
    await store('main').put(entry('a', { connection: 'other' }));

    expect(await failed.retry('a')).toBe(true);

    expect(await ids()).toEqual([]);
    expect(await watched('other').payloads('mails')).toMatchObject([{ id: 'a', attempts: 0 }]);
    expect(await watched('main').payloads('mails')).toEqual([]);
  });

  it('are kept if the connection they came from cannot take them', async () => {
    const { failed, ids, store, watched } = given();
    await store('main').put(entry('a', { connection: 'other' }));
    watched('other').beforePush = () => Promise.reject(new Error('away'));

    await expect(failed.retry('a')).rejects.toThrow('away');

    expect(await ids()).toEqual(['a']);
  });

  it('are retried, with a warning, on the connection that keeps them if their own is no longer configured', async () => {
    const { failed, log, store, watched } = given();
    await store('main').put(entry('a', { connection: 'gone' }));

    expect(await failed.retry('a')).toBe(true);

    expect(await watched('main').payloads('mails')).toMatchObject([{ id: 'a' }]);
    expect(log.texts).toEqual([expect.stringMatching(/^warn: Failed job a came from the connection 'gone'/)]);
  });

  it('are all retried, page by page', async () => {
    const { failed, ids, store, watched } = given();
    for (let n = 0; n < 250; n += 1) await store('main').put(entry(`job ${n}`));
    await store('other').put(entry('other', { connection: 'other' }));

    expect(await failed.retry('all')).toBe(251);

    expect(await ids()).toEqual([]);
    expect(new Set((await watched('main').payloads('mails')).map(({ id }) => id)).size).toBe(250);
    expect(await failed.retry('all')).toBe(0);
  });

  it('are retried once if two processes retry all of them', async () => {
    const { failed, store, watched } = given();
    for (let n = 0; n < 150; n += 1) await store('main').put(entry(`job ${n}`));
    for (let n = 0; n < 150; n += 1) await store('main').put(entry(`foreign ${n}`, { connection: 'other' }));

    const [one, two] = await Promise.all([failed.retry('all'), failed.retry('all')]);

    expect(one + two).toBe(300);
    const sent = [...(await watched('main').payloads('mails')), ...(await watched('other').payloads('mails'))];
    expect(new Set(sent.map(({ id }) => id)).size).toBe(300);
    expect(sent).toHaveLength(300);
  });

  it('are not retried twice if they fail again meanwhile', async () => {
    const { clock, failed, ids, store, watched } = given();
    for (let n = 0; n < 150; n += 1) await store('main').put(entry(`job ${n}`));
    const retry = store('main').retry.bind(store('main'));
    jest.spyOn(store('main'), 'retry').mockImplementation(async (kept, payload) => {
      const done = await retry(kept, payload);
      await clock.advance('1s');
      await store('main').put(entry(kept.id));
      return done;
    });

    expect(await failed.retry('all')).toBe(150);

    expect(await ids()).toHaveLength(150);
    expect(await watched('main').payloads('mails')).toHaveLength(150);
  });

  it('are reported if they cannot be retried, and do not hold up others', async () => {
    const { failed, ids, store, watched } = given();
    for (let n = 0; n < 120; n += 1) await store('main').put(entry(`stuck ${n}`, { connection: 'other' }));
    for (let n = 0; n < 120; n += 1) await store('main').put(entry(`free ${n}`));
    const away = jest.fn(() => Promise.reject(new Error('away')));
    watched('other').beforePush = away;

    const error = await failed.retry('all').catch((error: unknown) => error);

    expect(error).toMatchObject({ code: 'E_RETRY_INCOMPLETE', facts: { retried: 120 }, cause: { message: 'away' } });
    expect((error as { facts: { left: unknown[] } }).facts.left).toHaveLength(120);
    expect(away).toHaveBeenCalledTimes(120);
    expect((await ids()).every((id) => id.startsWith('stuck'))).toBe(true);
  });

  it('can be forgotten one by one, by queue, and all at once', async () => {
    const { failed, ids, store } = given();
    for (const id of ['a', 'b', 'c']) await store('main').put(entry(id));
    for (const id of ['d', 'e']) await store('other').put(entry(id, { queue: 'reports' }));

    expect([await failed.forget('a'), await failed.forget('a')]).toEqual([true, false]);
    expect(await failed.flush('reports')).toBe(2);
    expect((await ids()).toSorted()).toEqual(['b', 'c']);
    expect(await failed.flush()).toBe(2);
  });

  it('are found only by a string', async () => {
    const { failed } = given();
    const nothing = undefined as unknown as string;

    for (const look of [failed.get(nothing), failed.retry(nothing), failed.forget(nothing)]) {
      await expect(look).rejects.toMatchObject({ code: 'E_INVALID_JOB_ID' });
    }
  });

  it('are pruned by age and by number', async () => {
    const { clock, failed, ids, store } = given();
    for (const id of ['a', 'b', 'c', 'd']) {
      await store('main').put(entry(id));
      await clock.advance('1h');
    }

    expect(await failed.prune({ olderThan: '3.5h' })).toBe(1);
    expect(await failed.prune({ keep: 2 })).toBe(1);
    for (const nothing of [undefined, {}, { queue: 'mails' }, { older: '1d' } as object])
      await expect(failed.prune(nothing)).rejects.toMatchObject({ code: 'E_FAILED_FILTER' });
    expect(await ids()).toEqual(['d', 'c']);
  });

  it('need a connection that keeps them', async () => {
    const { manager } = watchedApplication({ connections: { none: { driver: 'null' } } });

    await expect(manager.failed.list()).rejects.toMatchObject({ code: 'E_NO_FAILED_STORE' });
    await expect(manager.failed.retry('all')).rejects.toMatchObject({ code: 'E_NO_FAILED_STORE' });
  });
});

describe('failed jobs, if one of the connections is away,', () => {
  const away = new Error('no answer');

  /** `main` is asked first and is away; `other` has two failed jobs. */
  async function givenAway() {
    const app = given();
    for (const id of ['a', 'b']) await app.store('other').put(entry(id, { connection: 'other' }));
    for (const method of ['list', 'find', 'retry', 'forget', 'flush', 'prune'] as const) {
      jest.spyOn(app.store('main'), method).mockRejectedValue(away);
    }
    return app;
  }

  it('are listed from the other connections, and the log names the missing one', async () => {
    const { failed, ids, log } = await givenAway();

    expect((await ids()).toSorted()).toEqual(['a', 'b']);
    expect(log.texts).toEqual(["warn: The failed jobs of connection 'main' are not listed: no answer"]);

    const told: unknown[] = [];
    await failed.list({ unreachable: (connection, error) => void told.push([connection, error]) });
    expect(told).toEqual([['main', away]]);
    expect(log.texts).toHaveLength(1);
  });

  it('are found on the other connections, and one not found there is not reported as missing', async () => {
    const { failed } = await givenAway();
    const outOfReach = {
      code: 'E_FAILED_JOBS_OUT_OF_REACH',
      facts: { done: 0, connections: ['main'] },
      message: expect.stringContaining('no answer'),
      cause: away,
    };

    expect(await failed.get('a')).toMatchObject({ id: 'a' });
    expect(await failed.retry('a')).toBe(true);
    expect(await failed.forget('b')).toBe(true);
    await expect(failed.get('x')).rejects.toMatchObject(outOfReach);
    await expect(failed.retry('x')).rejects.toMatchObject(outOfReach);
    await expect(failed.forget('x')).rejects.toMatchObject(outOfReach);
  });

  it('are removed from the other connections, and the error contains their number', async () => {
    const { failed, store } = await givenAway();

    await expect(failed.prune({ keep: 1 })).rejects.toMatchObject({ facts: { done: 1, connections: ['main'] } });
    await expect(failed.flush()).rejects.toThrow(
      "1 failed job was removed, but those of connection 'main' could not be read. Try again later",
    );
    expect(await store('other').count()).toBe(0);
  });

  it('are retried from the other connections', async () => {
    const { failed, watched } = await givenAway();

    await expect(failed.retry('all')).rejects.toMatchObject({
      code: 'E_RETRY_INCOMPLETE',
      facts: { retried: 2, left: [], connections: ['main'] },
      message: "2 failed jobs were sent back. Those of connection 'main' could not be read: no answer",
    });
    expect(await watched('other').payloads('mails')).toHaveLength(2);
  });

  it('are reported with the connections that are away, in the right grammatical number', async () => {
    const { failed, store } = await givenAway();
    await store('other').flush();
    await store('other').put(entry('z'));

    await expect(failed.retry('all')).rejects.toThrow("1 failed job was sent back. Those of connection 'main'");
    const unreachable = ['main', 'third'].map((connection) => ({ connection, error: away }));
    expect(failedJobsOutOfReach('no job was removed', 0, unreachable).message).toBe(
      "No job was removed, but those of connections 'main', 'third' could not be read. Try again later: no answer",
    );
  });

  it('give the original error if no other connection keeps them', async () => {
    const { manager, watched } = watchedApplication({ connections: { main: { driver: 'memory' } } });
    jest.spyOn(watched('main').failed, 'list').mockRejectedValue(away);

    await expect(manager.failed.list()).rejects.toBe(away);
    await expect(manager.failed.retry('all')).rejects.toBe(away);
  });
});

describe('failed jobs chosen by a filter', () => {
  /** Two queues, two names, two errors. `old` failed a day before the others. */
  async function givenMany() {
    const app = given();
    const { clock, store } = app;
    await store('main').put(entry('old', { exception: 'Error: connect ECONNREFUSED 10.0.0.1\n    at net.js' }));
    await clock.advance('1d');
    await store('main').put(entry('refused', { exception: 'Error: connect ECONNREFUSED 10.0.0.2' }));
    await store('other').put(entry('report', { connection: 'other', queue: 'reports', name: 'Report' }));
    await store('main').put(entry('broken', { exception: 'TypeError: to is undefined' }));
    return app;
  }

  it.each<[filter: FailedFilter, chosen: string[]]>([
    [{ queue: 'mails' }, ['old', 'refused', 'broken']],
    [{ name: 'Report' }, ['report']],
    [{ error: 'ECONNREFUSED' }, ['old', 'refused']],
    [{ olderThan: '1h' }, ['old']],
    [{ queue: 'mails', name: 'Mail', error: 'ECONNREFUSED', olderThan: '23h' }, ['old']],
    [{ queue: 'mails', name: 'Report' }, []],
  ])('of %j are listed, counted, retried and forgotten, and no others', async (filter, chosen) => {
    const [first, second] = [await givenMany(), await givenMany()];
    const all = ['old', 'refused', 'report', 'broken'];
    const others = all.filter((id) => !chosen.includes(id));

    expect((await first.failed.list(filter)).map(({ id }) => id).toSorted()).toEqual(chosen.toSorted());
    expect(await first.failed.count(filter)).toBe(chosen.length);
    expect(await first.failed.retry(filter)).toBe(chosen.length);
    expect((await first.ids()).toSorted()).toEqual(others.toSorted());
    expect(await second.failed.forget(filter)).toBe(chosen.length);
    expect((await second.ids()).toSorted()).toEqual(others.toSorted());
  });

  it('are listed in pages', async () => {
    const { failed } = await givenMany();

    expect(await failed.list({ error: 'ECONNREFUSED', limit: 1, offset: 1 })).toMatchObject([{ id: 'old' }]);
  });

  it('are pruned by age and number, ignoring all others', async () => {
    const { failed, ids } = await givenMany();

    expect(await failed.prune({ name: 'Mail', olderThan: '1h' })).toBe(1);
    expect(await failed.prune({ error: 'Error', queue: 'mails', keep: 1 })).toBe(1);
    expect(await failed.prune({ queue: 'reports', keep: 1 })).toBe(0);
    expect((await ids()).toSorted()).toEqual(['broken', 'report']);
  });

  it.each([[{}], [{ queue: undefined }], [{ queu: 'mails' }], [{ name: '' }]])(
    'of %j are refused, because it would choose all of them',
    async (slip) => {
      const { failed, ids } = await givenMany();

      await expect(failed.retry(slip as object)).rejects.toMatchObject({ code: 'E_FAILED_FILTER' });
      await expect(failed.forget(slip as object)).rejects.toMatchObject({ code: 'E_FAILED_FILTER' });
      expect(await ids()).toHaveLength(4);
    },
  );
});

describe('the failed store of a connection', () => {
  it('is its own, else that of the connection named by `failed`, else that of the default connection', () => {
    const connections = { main: { driver: 'memory' }, other: { driver: 'memory' }, none: { driver: 'null' } } as const;
    const named = watchedApplication({ default: 'main', failed: 'other', connections });
    const usual = watchedApplication({ default: 'main', connections });
    const storeOf = ({ manager }: typeof named, name: string) => failedStoreOf(manager.driver(name), manager);

    expect(storeOf(named, 'main')).toBe(named.watched('main').failed);
    expect(storeOf(named, 'none')).toBe(named.watched('other').failed);
    expect(storeOf(usual, 'none')).toBe(usual.watched('main').failed);
  });

  it('does not exist if no connection keeps failed jobs', () => {
    const { manager } = watchedApplication({ connections: { none: { driver: 'null' } } });

    expect(failedStoreOf(manager.driver(), manager)).toBeUndefined();
  });

  it('is missed by a worker that has none, and the error names the connections it looked at', async () => {
    const connections = { main: { driver: 'memory' }, none: { driver: 'null' }, other: { driver: 'memory' } } as const;
    const usual = watchedApplication({ default: 'main', connections });
    const named = watchedApplication({ default: 'main', failed: 'none', connections });
    for (const { watched } of [usual, named]) Object.defineProperty(watched('main'), 'failed', { value: undefined });

    await expect(new Worker({}, usual.manager).run()).rejects.toThrow("Connection 'main' keeps no failed jobs. Name");
    await expect(new Worker({}, named.manager).run()).rejects.toThrow('None of the connections main, none keeps');
  });
});
