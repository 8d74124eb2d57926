import type { Connection, Queues } from '../../src/connections/contract';
import { QueueUnavailableError } from '../../src/connections/errors';
import { testApplication, type TestApplication } from '../support/application';
import { type RedisServer, startRedisServer } from '../support/redis-server';
import { addManyJobs } from './kit/many-jobs';
import { NotifyTeam } from './kit/shop-jobs';
import { served, type Served } from './kit/served';
import { openWorld, QUEUES, SCHEDULES, type World } from './kit/world';

interface Found {
  readonly known: readonly { readonly kind: string; readonly name: string; readonly page: string }[];
  readonly jobs: readonly { readonly id: string; readonly queue: string; readonly state: string }[];
  readonly looked: number;
  readonly total: number;
  readonly next?: string;
  readonly notes: readonly string[];
}

const pageOf = (fields: Readonly<Record<string, string>>): string => `search?${String(new URLSearchParams(fields))}`;
const found = async (panel: Served, fields: Readonly<Record<string, string>>): Promise<Found> =>
  (await panel.json(pageOf(fields))) as Found;

/** All pages reached through "Search further". */
async function allOf(panel: Served, fields: Readonly<Record<string, string>>): Promise<readonly Found[]> {
  const all = [await found(panel, fields)];
  for (let next = all[0]!.next; next !== undefined; next = all.at(-1)!.next)
    all.push((await panel.json(next)) as Found);
  return all;
}

/** The jobs on all these pages, because on a busy machine one request may end before it has searched everything. */
const jobsOf = async (panel: Served, text: string, fields: Readonly<Record<string, string>> = {}) =>
  (await allOf(panel, { text, ...fields })).flatMap(({ jobs }) => jobs);

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

describe.each(['memory', 'Redis'])('a search in a shop on %s', (store) => {
  let world: World;
  let panel: Served;
  beforeAll(async () => {
    world = await openWorld(store === 'Redis' ? { driver: 'redis', url: redis.url } : undefined);
    panel = await served(world.manager);
  });
  afterAll(async () => {
    await panel[Symbol.asyncDispose]();
    await world.close();
  });

  it('goes straight to the job with an id, whatever its state', async () => {
    const { ready, delayed, running, secret, refused, completed } = world.ids;
    for (const id of [ready, delayed, running, secret, refused, completed]) {
      const { status, headers } = await panel.get(pageOf({ text: ` ${id} ` }));
      expect(status).toBe(303);
      const page = headers.get('location')!;
      expect(page).toMatch(new RegExp(`^job\\?connection=${world.connection}&queue=[a-z]+&id=${id}$`));
      expect((await panel.get(page)).status).toBe(200);
    }
  });

  it('finds a batch by id, and batches, queues, schedules and job classes by part of their names', async () => {
    const { connection } = world;
    const id = world.batches.running;
    const namesOf = async (text: string) => (await found(panel, { text })).known.map(({ page }) => page);

    expect(await namesOf(id)).toEqual([`batch?connection=${connection}&id=${id}`]);
    expect(await namesOf('pictures of')).toEqual([`batch?connection=${connection}&id=${id}`]);
    expect((await panel.get(pageOf({ text: '<b>without' }))).text).toContain(
      '<bdi>Customers &lt;b&gt;without&lt;/b&gt; a newsletter</bdi>',
    );
    expect(await namesOf('PAYM')).toEqual([`queue?connection=${connection}&queue=payments`]);
    expect(await namesOf('sweep')).toEqual(['job-class?name=SweepCarts', 'schedules']);
    const { text } = await panel.get(pageOf({ text: SCHEDULES.everyMinute }));
    expect(text).toMatch(/Schedule <a href="schedules"><bdi>sweep-carts<\/bdi>/);
  });

  it('finds jobs in each state by data, name and error, ignoring case', async () => {
    const inStates = async (text: string) => [...new Set((await jobsOf(panel, text)).map(({ state }) => state))];

    expect(await inStates('CUSTOMER-0@example')).toEqual(['delayed', 'ready']);
    expect(await inStates('mailrefused: 550')).toEqual(['failed']);
    expect(await inStates('LAMPS.csv')).toEqual(['running']);
    expect(await inStates('sendinvoice')).toEqual(['failed', 'delayed', 'ready']);
    expect(await inStates('ångström')).toContain('ready');
    const { text } = await panel.get(pageOf({ text: 'lamps.CSV' }));
    expect(text).toMatch(/<td class="excerpt"[^>]*><code><bdi>\{&quot;[^<]*<mark>lamps\.csv<\/mark>/);
  });

  it('searches only where it is told to', async () => {
    const { connection } = world;
    const fields = { connection, queue: 'sync', state: 'failed' };
    const jobs = await jobsOf(panel, 'customer', fields);

    expect(jobs.length).toBeGreaterThan(0);
    expect(new Set(jobs.map(({ queue, state }) => `${queue} ${state}`))).toEqual(new Set(['sync failed']));
    const { text } = await panel.get(pageOf({ text: 'customer', ...fields }));
    expect(text).toMatch(/<option value="sync" selected>.*<option value="failed" selected>/s);
  });

  it('does not reveal masked values', async () => {
    const idsOf = async (text: string) => (await jobsOf(panel, text)).map(({ id }) => id);

    expect(await idsOf('noor@example.com')).toContain(world.ids.secret);
    for (const guess of ['correct horse battery staple', 'correct horse', 'corr', 'key-5f0c', 'tok_1Nqwv'])
      expect(await idsOf(guess)).toEqual([]);
    const { text } = await panel.get(pageOf({ text: 'noor@example.com', queue: 'accounts' }));
    expect(text).toContain('***');
    expect(text).not.toContain('battery');
  });

  it('does not reveal masked values in errors that another program stored', async () => {
    const { failed } = world.manager.driver();
    const payload = Buffer.from('{"displayName":"Foreign","job":"Foreign","data":{},"id":"foreign-1"}');
    const exception = 'LoginFailed: mysql://shop:tarragon@db.example/shop\n    at login';
    await failed!.put({
      id: 'foreign-1',
      name: 'Foreign',
      connection: world.connection,
      queue: 'sync',
      payload,
      attempts: 1,
      exception,
    });

    expect(await jobsOf(panel, 'loginfailed')).toMatchObject([{ error: expect.stringMatching(/:\*\*\*@/) }]);
    expect(await jobsOf(panel, 'tarragon')).toEqual([]);
  });

  it('escapes markup, even around a match', async () => {
    const { text } = await panel.get(pageOf({ text: '<em>LATE', queue: QUEUES.strange }));

    expect(text).toContain('It is <mark>&lt;em&gt;late</mark>&lt;/em&gt;');
    expect(text).toContain('value="&lt;em&gt;LATE"');
    expect(text).not.toContain('<em>');
    const jobs = await jobsOf(panel, 'onerror=alert(1)', { queue: QUEUES.strange });
    expect(jobs.map(({ id }) => id)).toContain(world.ids.markup);
    expect((await panel.get(pageOf({ text: QUEUES.strange }))).text).not.toContain('<img/src=x');
  });

  it.each([
    [{ from: 'made up' }, 'E_DASHBOARD_QUERY'],
    [{ from: '["__proto__","mail","ready",null,0]' }, 'E_DASHBOARD_QUERY'],
    [{ from: 'CONNECTION","mail","constructor",null,0]' }, 'E_DASHBOARD_QUERY'],
    [{ from: 'CONNECTION","mail","ready",null,-1]' }, 'E_DASHBOARD_QUERY'],
    [{ from: 'CONNECTION",{},"ready",null,0]' }, 'E_DASHBOARD_QUERY'],
    [{ from: 'CONNECTION","mail","ready","ready:0:forged",0]' }, 'E_INVALID_LISTING'],
    [{ state: 'toString' }, 'E_DASHBOARD_QUERY'],
    [{ text: 'a'.repeat(301) }, 'E_DASHBOARD_QUERY'],
    [{ connection: '__proto__' }, 'E_UNKNOWN_CONNECTION'],
  ])('says what is wrong with %.80j', async (fields: Readonly<Record<string, string>>, code) => {
    const from = fields['from']?.replace('CONNECTION', `["${world.connection}`);
    const { status, text } = await panel.get(pageOf({ text: 'x', ...fields, ...(from && { from }) }));

    expect(status).toBe(422);
    expect(text).toContain(code);
  });

  it('says what can be searched if nothing was entered, and what to do if nothing was found', async () => {
    const { text } = await panel.get('search');
    expect(text).toContain('The id of a job leads to the job');
    expect(text).not.toContain('Searched');
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty']) {
      const { status, text: none } = await panel.get(pageOf({ text: name, queue: name }));
      expect([status, none]).toEqual([200, expect.stringContaining('Try a shorter text')]);
    }
  });

  it('says what has probably happened to the job of an unknown id', async () => {
    const unknown = { text: '0193a6c1-6f00-7000-8000-000000000000' };
    // The page says it once everything was searched.
    const last = (await allOf(panel, unknown)).at(-2)?.next ?? pageOf(unknown);
    const { text } = await panel.get(last);

    expect(text).toMatch(/Most likely it has completed: /);
    expect(text).not.toContain('Try a shorter text');
    expect((await panel.get(pageOf({ ...unknown, queue: 'mail' }))).text).toContain('Try a shorter text');
  });

  it('is not repeated for live updates', async () => {
    expect((await panel.get(pageOf({ text: 'mail' }))).text).not.toContain('data-live');
    expect((await panel.get(pageOf({ text: 'mail' }), { accept: 'text/event-stream' })).status).toBe(204);
    expect((await panel.get('schedules')).text).toContain('data-live');
  });

  it('covers a thousand of three thousand jobs per request, and finds each match once', async () => {
    await addManyJobs(world.manager, 'many', { waiting: 2000, failed: 1000 });
    await using panel = await served(world.manager);
    const [first, ...more] = await allOf(panel, { text: '"invoice":99' });

    const total = first!.total;
    // On a store in real time, a request may end before.
    expect(first!.looked).toBe(store === 'memory' ? 1000 : Math.min(first!.looked, 1000));
    expect(total).toBeGreaterThan(3100);
    const last = more.at(-1)!;
    // On a store in real time, the schedule may send another one meanwhile, ahead of where the search is or behind it.
    expect(last.looked).toBeGreaterThanOrEqual(total);
    expect(last.looked).toBeLessThanOrEqual(store === 'memory' ? total : last.total);
    const all = [first!, ...more];
    for (const [place, { looked }] of all.entries())
      expect(looked - (all[place - 1]?.looked ?? 0)).toBeLessThanOrEqual(1000);
    const ids = all.flatMap(({ jobs }) => jobs.map(({ id }) => id));
    // 99 and 990 to 999.
    expect(ids).toHaveLength(11 + 11);
    expect(new Set(ids).size).toBe(ids.length);
    const { text } = await panel.get(pageOf({ text: 'nowhere to be found', queue: 'many' }));
    expect(text).toMatch(/Searched [\d,]+ of 3,000 jobs\./);
    expect(text).toMatch(
      /None of these jobs.*<a href="search\?text=nowhere[^"]*&amp;from=[^"]*" rel="next">Search further</s,
    );
  });
});

const TWO = { one: { driver: 'memory' }, two: { driver: 'memory' } } as const;

async function given(size = 0): Promise<TestApplication & { readonly one: Connection; readonly two: Connection }> {
  const application = testApplication({ connections: TWO, default: 'one' });
  const { manager } = application;
  for (const name of ['one', 'two'])
    await manager
      .connection(name)
      .bulk(Array.from({ length: 100 }, () => new NotifyTeam('ops', `lamp ${'x'.repeat(size)}`)));
  return { ...application, one: manager.driver('one'), two: manager.driver('two') };
}

const away = () => Promise.reject(new QueueUnavailableError({ store: 'memory', address: 'here' } as never));

describe('a search across several connections', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('goes from one to the next', async () => {
    const { manager } = await given();
    await using panel = await served(manager);

    const pages = await allOf(panel, { text: 'lamp' });

    expect(pages.map(({ looked, total, jobs }) => [looked, total, jobs.length])).toEqual([
      [100, 200, 100],
      [200, 200, 100],
      [200, 200, 0],
    ]);
    expect((await panel.get(pageOf({ text: 'nowhere' }))).text).toContain('Searched all 200 jobs.');
    expect((await panel.get(pageOf({ text: 'lamp' }))).text).toMatch(
      /<select name="connection"><option value="" selected>all/,
    );
  });

  it('covers the others while one is away, and names that one', async () => {
    const { manager, one } = await given();
    jest.spyOn(one.queues, 'counts').mockImplementation(away);
    await using panel = await served(manager);

    const { jobs, notes } = await found(panel, { text: 'lamp' });

    expect(jobs).toHaveLength(100);
    expect(notes).toEqual([expect.stringContaining('memory')]);
  });

  it('stops using a store that goes away meanwhile, and says so', async () => {
    const { manager } = await given();
    const one = manager.connection('one');
    await one.bulk([new NotifyTeam('ops', 'lamp')], 'other');
    const jobs = jest.spyOn(one, 'jobs').mockImplementation(away);
    await using panel = await served(manager);

    const { looked, notes } = await found(panel, { text: 'lamp' });

    expect([looked, notes]).toEqual([100, [expect.stringContaining('memory')]]);
    expect(jobs).toHaveBeenCalledTimes(1);
  });

  it('fails if the only connection it covers is away', async () => {
    const { manager, one } = await given();
    jest.spyOn(one.queues, 'counts').mockImplementation(away);
    await using panel = await served(manager);

    expect((await panel.get(pageOf({ text: 'lamp', connection: 'one' }))).status).toBe(503);
  });

  it('finds a job by its id on one connection while another one is away', async () => {
    const { manager, one } = await given();
    const id = await manager.connection('two').push(new NotifyTeam('ops', 'here'));
    jest.spyOn(one.queues as Required<Queues>, 'find').mockImplementation(away);
    await using panel = await served(manager);

    expect((await panel.get(pageOf({ text: id }))).headers.get('location')).toContain('connection=two');
  });

  it('says that naming the queue helps if a store did not search all jobs for an id', async () => {
    const { manager, one } = await given();
    const find = jest.spyOn(one.queues as Required<Queues>, 'find').mockResolvedValue('unseen');
    await using panel = await served(manager);

    const { notes } = await found(panel, { text: 'order-4711', queue: 'default' });

    expect(notes).toEqual([expect.stringMatching(/'one' has so many jobs/)]);
    expect(find).toHaveBeenCalledWith('order-4711', 'default');
    expect((await found(panel, { text: 'lamp' })).notes).toEqual([]);
  });

  it('says if a store cannot show its jobs', async () => {
    const { manager, one } = await given();
    jest.replaceProperty(one, 'queues', { ...one.queues, peek: undefined } as never);
    await using panel = await served(manager);

    const { jobs, total, notes } = await found(panel, { text: 'lamp' });

    expect([jobs.length, total]).toEqual([100, 100]);
    expect(notes).toEqual([expect.stringMatching(/'one' cannot list .* only failed ones were searched/)]);
  });

  it('covers what the dispatcher gave, and not the other fields of the payload', async () => {
    const { manager, bus } = testApplication();
    await bus.chain([new NotifyTeam('ops', 'first'), new NotifyTeam('ops', 'second')]).dispatch();
    await bus.batch([new NotifyTeam('ops', 'in a batch')]).dispatch();
    const fields = '"displayName":"Foreign","job":"Foreign","readyAt":null,"attempts":0';
    await manager.connection().pushRaw(`{${fields},"id":"f-1","data":{"a":1},"tags":["acme"]}`);
    await manager.connection().pushRaw(`{${fields},"id":"f-2"}`);
    await using panel = await served(manager);

    for (const text of ['readyAt', 'second', 'chained', 'attempts', 'displayName'])
      expect([text, (await found(panel, { text })).jobs]).toEqual([text, []]);
    expect((await found(panel, { text: 'in a batch' })).jobs).toHaveLength(1);
    expect((await found(panel, { text: 'acme' })).jobs).toMatchObject([{ id: 'f-1' }]);
  });

  it('covers a named queue even if there are too many to list', async () => {
    const { manager } = testApplication();
    const names = Array.from({ length: 102 }, (_, place) => `queue-${1000 + place}`);
    for (const name of names) await manager.connection().bulk([new NotifyTeam('ops', 'lamp')], name);
    await using panel = await served(manager);

    const { looked, notes } = await found(panel, { text: 'lamp' });
    expect([looked, notes]).toEqual([99, [expect.stringContaining('more than 100 queues')]]);
    expect((await found(panel, { text: 'lamp', queue: 'queue-1101' })).jobs).toMatchObject([{ queue: 'queue-1101' }]);
    expect((await panel.get(pageOf({ text: 'lamp' }))).text).toMatch(
      /<input type="text" name="queue"[^>]*placeholder="all"/,
    );
  });

  it('ends a request after a second, and continues from there', async () => {
    const { manager, clock, one, two } = await given();
    for (const driver of [one, two]) {
      const queues = driver.queues as Required<Queues>;
      const { peek } = queues;
      jest.spyOn(queues, 'peek').mockImplementation(async (queue, state, limit, after) => {
        await clock.advance('700ms');
        return peek(queue, state, Math.min(limit, 30), after);
      });
    }
    await using panel = await served(manager);

    const pages = await allOf(panel, { text: 'nowhere' });

    expect(pages.slice(0, 3).map(({ looked }) => looked)).toEqual([50, 100, 120]);
    expect(pages.at(-1)!.looked).toBe(200);
  });

  it('covers only some megabytes per request', async () => {
    const { manager } = await given(100_000);
    await using panel = await served(manager);

    const { looked, next } = await found(panel, { text: 'nowhere' });

    expect(looked).toBeLessThanOrEqual(60);
    expect(next).toBeDefined();
  });
});
