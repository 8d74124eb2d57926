import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueueManager } from '../../src/application/queue-manager';
import { CapabilityError } from '../../src/connections/errors';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { testApplication } from '../support/application';
import { addManyJobs } from './kit/many-jobs';
import { openWorld, type World } from './kit/world';
import { served, type Served } from './kit/served';

@Job()
class Fragile extends Job {
  constructor(readonly key = '') {
    super();
  }
  uniqueId(): string {
    return this.key;
  }
  handle(): void {
    throw new Error('it is broken');
  }
}

@Job({ unique: true })
class FragileOnce extends Fragile {}

const folder = mkdtempSync(join(tmpdir(), 'onqueue-batches-'));
let world: World;
let panel: Served;

beforeAll(async () => {
  world = await openWorld();
  panel = await served(world.manager);
});

afterAll(async () => {
  await panel[Symbol.asyncDispose]();
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const cookieOf = ({ headers }: { readonly headers: Headers }) => ({
  cookie: headers.getSetCookie()[0]!.split(';', 1)[0]!,
});

const wordsOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(' ,', ',')
    .trim();

const rowOf = (text: string, id: string): string =>
  wordsOf(new RegExp(`<tr data-key="${id}"[^>]*>(.*?)</tr>`, 's').exec(text)?.[1] ?? '');

const page = (id: string, connection = 'memory'): string => `batch?connection=${connection}&id=${id}`;

/** Runs all waiting jobs. */
const work = (manager: QueueManager): Promise<unknown> =>
  new Worker({ drain: true, schedule: false, tries: 1 }, manager).run();

describe('the batches page', () => {
  it('shows the progress and outcome of each batch, the newest first', async () => {
    const { running, cancelled, withFailures, finished } = world.batches;

    const { text } = await panel.get('batches');

    expect(rowOf(text, running)).toMatch(/^Pictures of the catalogue running 8 of 20 \d min( \d+ s)? ago – Cancel/);
    expect(rowOf(text, cancelled)).toMatch(
      /^Customers &lt;b&gt;without&lt;\/b&gt; a newsletter cancelled 8 of 8, 5 skipped/,
    );
    expect(rowOf(text, withFailures)).toMatch(/ finished 10 of 10, 3 failed .* Retry failed/);
    expect(text.match(/badge (good|warn)">finished/g)).toEqual(['badge warn">finished', 'badge good">finished']);
    expect(rowOf(text, finished)).toMatch(/ finished 12 of 12 1 h( \d+ min)? ago 1 h( \d+ min)? ago$/);
    expect([...text.matchAll(/<tr data-key="([^"]+)"/g)].map(([, id]) => id)).toEqual([
      running,
      cancelled,
      withFailures,
      finished,
    ]);
    expect(text).toContain(`href="${page(running).replace('&', '&amp;')}"`);
    expect(await panel.json('batches')).toMatchObject([
      { connection: 'memory', batches: [{ id: running, total: 20, pending: 12, state: 'running' }, {}, {}, {}] },
    ]);
  });

  it.each([
    ['running', ['running']],
    ['trouble', ['cancelled', 'withFailures']],
  ] as const)('can be filtered by state: %s', async (kind, expected) => {
    const { text } = await panel.get(`batches?show=${kind}`);

    expect([...text.matchAll(/<tr data-key="([^"]+)"/g)].map(([, id]) => id)).toEqual(
      expected.map((name) => world.batches[name]),
    );
  });

  it('is paged separately for each connection', async () => {
    const { manager, clock } = testApplication({
      connections: { memory: { driver: 'memory' }, other: { driver: 'memory' }, none: { driver: 'sync' } },
      default: 'memory',
    });
    const bus = new JobBus(() => manager);
    await using own = await served(manager);
    const none = await own.get('batches');
    expect(none.text).toMatch(/Queue\.batch\(.*Queue\.batch\(/s);
    for (let made = 0; made < 52; made += 1) await bus.batch([]).dispatch();
    await bus.batch([]).name('elsewhere').onConnection('other').dispatch();
    // Earlier readings are reused for two seconds.
    await clock.advance('3s');
    const count = ({ text }: { readonly text: string }) => text.match(/<tr data-key=/g)?.length;

    const first = await own.get('batches?show=all');
    const next = /<a href="([^"]*)" rel="next"/.exec(first.text)![1]!.replaceAll('&amp;', '&');
    const second = await own.get(next);

    expect([count(first), count(second)]).toEqual([51, 2]);
    expect(second.text).not.toMatch(/elsewhere|rel="next"/);
    expect(second.text).toMatch(/<a href="batches\?connection=memory">First page/);
    expect(second.text).toContain('<a href="batches">Batches of all connections');
  });

  it('shows the batches of other connections if one cannot be read', async () => {
    const { manager, bus } = testApplication({
      connections: { memory: { driver: 'memory' }, other: { driver: 'memory' } },
      default: 'memory',
    });
    await bus.batch([]).name('still here').dispatch();
    const away = new CapabilityError('other', 'memory', 'batches');
    jest.spyOn(manager.driver('other').batches!, 'list').mockRejectedValue(away);
    await using own = await served(manager);

    expect((await own.get('batches')).text).toMatch(
      /still here.*no jobs.*<p class="trouble"><strong>.*The connection &#39;other/s,
    );
    expect((await own.get('batches?connection=other')).status).toBe(422);
  });

  it('says if no connection keeps batches', async () => {
    const { manager } = testApplication({ connections: { now: { driver: 'sync' } }, default: 'now' });
    await using own = await served(manager);

    expect((await own.get('batches')).text).toContain('None of the connections keeps batches');
  });
});

describe('the page of a batch', () => {
  it('shows the progress and what comes next', async () => {
    const { status, text } = await panel.get(page(world.batches.running));

    expect(status).toBe(200);
    expect(text).toMatch(
      /8 of 20 have ended, and 12 are waiting or running. At this rate it will take another \d+ min( \d+ s)?\./,
    );
    expect(text).toMatch(/Pending<\/dt><dd>12</);
    expect(await panel.json(page(world.batches.running))).toMatchObject({ completed: 8, callbacks: [{}, {}, {}, {}] });
  });

  it('shows why its jobs failed, equal failures in one row', async () => {
    const { text } = await panel.get(page(world.batches.withFailures));

    expect(text).toContain('None of its 10 jobs is left: 7 completed, 3 failed.');
    expect(text.match(/<a href="failed\?connection=memory&amp;batch=[^"]{36}&amp;name=ResizeImage/g)).toHaveLength(1);
    expect(rowOf(text, '[^"]*ResizeImage[^"]*')).toMatch(/^\d 3 ResizeImage in media /);
    expect(text).toContain(`href="failed?connection=memory&amp;batch=${world.batches.withFailures}"`);
    expect(text).toContain('received 0</bdi>');
  });

  it('shows which callbacks are sent when, and which have been sent', async () => {
    const { text } = await panel.get(page(world.batches.running));
    expect(wordsOf(/<ol class="flow"[^>]*>(.*?)<\/ol>/s.exec(text)![1]!)).toBe(
      '20 jobs 8 ended ' +
        'NotifyTeam in default then when all have completed not yet ' +
        'NotifyTeam in default catch when the first has failed not yet ' +
        'SweepCarts in carts finally when none is left not yet ' +
        'NotifyTeam in default progress each time 10 more have ended not yet',
    );

    const { manager, bus, clock } = testApplication();
    await using own = await served(manager);
    const batch = bus.batch([new Fragile(), new Fragile(), new Fragile()]).allowFailures();
    await bus.chain([batch.then(new Fragile()).progress(new Fragile(), { every: 2 }), new Fragile()]).dispatch();
    await work(manager);
    await clock.advance('3s');
    const [{ id } = { id: '' }] = await manager.batches.list();
    const ended = (await own.get(page(id))).text;
    expect(ended).toMatch(
      /3 have failed; it is sent once they are retried and all have completed<\/span> <span class="badge ">not sent/,
    );
    expect(ended).toMatch(/id=[^"&]{36}-2"><bdi>Fragile/);
    expect(ended).toMatch(/next in its chain, when none is left<\/span> <span class="badge good">sent/);
    const [, , behind] = (await manager.batches.get(id).then((found) => found!.callbacks()))!;
    expect(ended).toContain(`href="job?connection=memory&amp;queue=default&amp;id=${behind!.id}"`);
  });

  it('searches only the newest failed jobs, and says where the others are', async () => {
    const { manager, bus } = testApplication();
    await using own = await served(manager);
    const { id } = await bus.batch([new Fragile()]).dispatch();
    await work(manager);
    await addManyJobs(manager, 'bulk', { waiting: 0, failed: 1000 });

    expect((await own.get(page(id))).text).toMatch(
      /None of the newest 1,000 failed jobs belongs to this batch. <a href="failed\?connection=memory&amp;batch=/,
    );
  });

  it('escapes the name', async () => {
    const { text } = await panel.get(page(world.batches.cancelled));

    expect(text).toContain('<h1>Customers &lt;b&gt;without&lt;/b&gt; a newsletter</h1>');
    expect(text).toContain('It was cancelled. None is left: 3 completed, and 5 were skipped.');
  });

  it('says where to look for an unknown batch', async () => {
    const { status, text } = await panel.get(page('made-up<i>'));

    expect(status).toBe(404);
    expect(text).toContain('made-up&lt;i&gt;');
    expect(text).toContain('<a href="batches">those that are kept</a>');
  });

  it.each([
    ['batch', 'E_DASHBOARD_QUERY'],
    ['batch?id=1&connection=nowhere', 'E_UNKNOWN_CONNECTION'],
  ])('says what is wrong with %s', async (wrong, code) => {
    const { status, text } = await panel.get(wrong);

    expect([status, text]).toEqual([422, expect.stringContaining(code)]);
  });

  it('has no buttons for a viewer', async () => {
    await using viewers = await served(world.manager, { viewer: 'viewer' });

    for (const look of ['batches', page(world.batches.running), page(world.batches.withFailures)])
      expect((await viewers.get(look)).text).not.toMatch(/action="(cancel|retry)-/);
    const refused = await viewers.post('cancel-batch', { connection: 'memory', id: world.batches.running });
    expect(refused.status).toBe(403);
  });
});

describe.each([
  ['memory', async () => world],
  ['SQLite', () => openWorld({ driver: 'database', url: `sqlite:${join(folder, 'jobs.sqlite')}` })],
])('a batch on %s', (_, open) => {
  let own: World;
  let operator: Served;

  beforeAll(async () => {
    own = await open();
    operator = await served(own.manager);
  });

  afterAll(async () => {
    await operator[Symbol.asyncDispose]();
    if (own !== world) await own.close();
  });

  it('is cancelled after a confirmation', async () => {
    const { manager, connection, batches, log } = own;
    const fields = { connection, id: batches.running, back: page(batches.running, connection) };

    const asked = await operator.post('cancel-batch', fields);
    expect(asked.text).toMatch(/Cancel this batch\?.*with 12 jobs left of 20/s);
    expect((await manager.batches.get(batches.running))!.isCancelled).toBe(false);

    const done = await operator.post('cancel-batch', { ...fields, confirmed: 'yes' });
    const shown = await operator.get(done.headers.get('location')!, cookieOf(done));
    expect(shown.text).toContain('The batch Pictures of the catalogue is cancelled: its waiting jobs are skipped.');
    expect(shown.text).toContain('Of the 12 that are left, running jobs go on');
    expect(shown.text).not.toMatch(/action="cancel-batch"|Show it/);
    expect(log.messages('info').at(-1)).toMatch(/^Dashboard, Ada: The batch Pictures .* is cancelled/);

    const again = await operator.post('cancel-batch', { ...fields, confirmed: 'yes' });
    expect((await operator.get('batches', cookieOf(again))).text).toContain('was already cancelled.');
  });

  it('has its failed jobs retried, and says how many', async () => {
    const { manager, connection, batches } = own;
    const fields = { connection, id: batches.withFailures, back: 'batches' };

    const done = await operator.post('retry-batch', fields);
    const shown = await operator.get('batches', cookieOf(done));

    expect(shown.text).toContain(
      'The batch Logos of suppliers goes on: 3 failed jobs went back, with all their tries.',
    );
    expect(rowOf(shown.text, batches.withFailures)).toMatch(/ running 7 of 10 /);
    expect(await manager.batches.get(batches.withFailures)).toMatchObject({ pending: 3, failed: 0 });
    expect((await operator.get(page(batches.withFailures, connection))).text).toMatch(
      /3 are waiting or running\.\s*<\/p>/,
    );
    const again = await operator.post('retry-batch', fields);
    expect((await operator.get('', cookieOf(again))).text).toContain('has no failed jobs to send back.');
  });
});

describe('the actions on a batch', () => {
  it('say if the batch is no longer known', async () => {
    for (const action of ['cancel-batch', 'retry-batch']) {
      const told = await panel.post(action, { connection: 'memory', id: 'gone', confirmed: 'yes' });
      expect((await panel.get('', cookieOf(told))).text).toContain('There is no batch gone any more');
    }
  });

  it('say how many jobs could not be retried, and why', async () => {
    const { manager, bus } = testApplication();
    await using own = await served(manager);
    const jobs = [new FragileOnce('a'), new Fragile()];
    const { id } = await bus.batch(jobs).name('breakable').allowFailures().dispatch();
    await work(manager);
    await bus.dispatch(new FragileOnce('a'));

    const told = await own.post('retry-batch', { connection: 'memory', id });

    const { text } = await own.get('', cookieOf(told));
    expect(text).toMatch(/The batch breakable: 1 failed job was sent back. 1 could not be .* holds its key/);
    expect(text).toContain(`<a href="batch?connection=memory&amp;id=${id}">Show it</a>`);
  });

  it('say that skipped jobs are not run again', async () => {
    const { manager, bus } = testApplication();
    await using own = await served(manager);
    const { id } = await bus.batch([[new Fragile(), new Fragile(), new Fragile()]]).dispatch();
    await work(manager);
    expect((await own.get(page(id))).text).toContain('0 completed, and 2 were skipped');
    const { id: two } = await bus.batch([new Fragile(), new Fragile()]).name('two').dispatch();
    await work(manager);
    expect((await own.get(page(two))).text).toMatch(
      /badge bad">failed.*One of its jobs has failed, which cancelled it/s,
    );

    const told = await own.post('retry-batch', { connection: 'memory', id: two });

    expect((await own.get('', cookieOf(told))).text).toContain(
      '1 failed job went back, with all their tries. Its 1 skipped job will not run',
    );
  });
});
