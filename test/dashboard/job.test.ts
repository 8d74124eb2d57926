import { QueueUnavailableError } from '../../src/connections/errors';
import type { FoundJob } from '../../src/operations/found-job';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { type TestApplication, testApplication } from '../support/application';
import { type Served, served } from './kit/served';
import { startRedisServer } from '../support/redis-server';
import { openWorld, QUEUES, type World } from './kit/world';
import { reserveFrom, settleIn } from '../support/exchange';

@Job({ tries: 2, backoff: '10s', keepResult: '1h' })
class Measure extends Job {
  constructor(readonly data: unknown) {
    super();
  }

  handle(): unknown {
    if (this.data === 'fail') throw new Error('<b>it</b> failed with password=hunter2');
    return new Map([['token', this.data]]);
  }
}

/** The page of a job. */
const pageOf = async (panel: Served, id: string, queue?: string): Promise<string> =>
  (await panel.get(`job?id=${encodeURIComponent(id)}${queue === undefined ? '' : `&queue=${queue}`}`)).text;

const push = ({ manager }: TestApplication, data: unknown): Promise<string> =>
  manager.connection().push(new Measure(data));

const pushPayload = async ({ manager }: TestApplication, id: string, fields: object): Promise<void> => {
  await manager.connection().pushRaw(JSON.stringify({ displayName: 'Strange', ...fields, id, attempts: 0 }));
};

const failOne = async ({ manager }: TestApplication, id: string, queue: string): Promise<void> => {
  const driver = manager.driver();
  await driver.push(queue, [{ payload: `{"job":"Render","data":{"password":"hunter2"},"id":"${id}","attempts":0}` }]);
  const { reservations } = await reserveFrom(driver, { queues: [queue], limit: 1, lease: 60 });
  const failure = { id, name: 'Render', exception: `Error: ${queue} broke\n    at render.ts:1:1` };
  const [reservation] = reservations;
  await settleIn(driver, [{ outcome: 'failed', reservation: reservation!, counters: reservation!.counters, failure }]);
};

describe('the page of a job', () => {
  let world: World;
  let panel: Served;

  beforeAll(async () => {
    world = await openWorld();
    panel = await served(world.manager);
  });

  afterAll(async () => {
    await panel[Symbol.asyncDispose]();
    await world.close();
  });

  it('shows only the beginning of an error that another program stored', async () => {
    const exception = `Error: broken\n${'    at x.php:1\n'.repeat(80_000)}`;
    const payload = Buffer.from('{"job":"Render","data":{},"id":"endless","attempts":1}');
    const entry = { id: 'endless', name: 'Render', connection: world.connection, queue: 'foreign', attempts: 1 };
    await world.manager.driver().failed!.put({ ...entry, payload, exception });

    const text = await pageOf(panel, 'endless', 'foreign');

    expect(text).toMatch(/… and 1,1\d\d,\d{3} more characters/);
    expect(text.length).toBeLessThan(64 * 1024);
  });

  it('shows each attempt of a failed job, with its error, the source line, and what to do', async () => {
    const text = await pageOf(panel, world.ids.refused);

    expect(text).toContain('after 3 of 3 attempts');
    expect(text.match(/Attempt \d <span class="badge bad">failed/g)).toHaveLength(3);
    expect(text).toMatch(/<span class="marked">&gt; +\d+ .*throw new MailRefused/);
    expect(text).toContain('badge bad">failed');
    expect(text).toContain('action="retry-job"');
    expect(text).toContain('action="forget-job"');
    const told = (await panel.json(`job?connection=memory&id=${world.ids.refused}`)) as FoundJob;
    expect(told).toMatchObject({ state: 'failed', exception: expect.stringContaining('at '), history: [{}, {}, {}] });
  });

  it('shows the steps that a job has done, and that it can go on or start anew', async () => {
    const text = await pageOf(panel, world.ids.markup);

    expect(text).toMatch(/✓<\/span> <bdi>download<\/bdi>[^]*1 min[^]*✓<\/span> <bdi>&lt;b&gt;charge/);
    expect(text).toContain('goes on after these steps');
    expect(text).toContain('action="restart-job"');
    expect(await pageOf(panel, world.ids.refused)).not.toContain('restart-job');
  });

  it('shows what a job has logged, with markup and secrets harmless, and nothing of that for a silent one', async () => {
    const id = world.ids.delayed;
    const at = Date.now();
    const said = ['fetched 3 pages', '<b>bold</b> password=hunter2'].map((text) => ({ at, fence: 1, text }));
    await world.manager.driver().records!.put([{ kind: 'lines', id, value: JSON.stringify({ lines: said }) }], 60);

    const text = await pageOf(panel, id);

    expect(text).toMatch(/<h2>Log<\/h2>[^]*fetched 3 pages[^]*&lt;b&gt;bold&lt;\/b&gt;/);
    expect(text).not.toContain('hunter2');
    expect(await pageOf(panel, world.ids.refused)).not.toContain('<h2>Log</h2>');
  });

  it('shows where a job runs and its progress', async () => {
    const text = await pageOf(panel, world.ids.running);

    expect(text).toContain('<progress max="1" value="0.35"');
    expect(text).toContain('of 184,000 rows');
    expect(text).toContain('badge accent">runs');
    expect(text).toMatch(/for 5 min( \d+ s)? on <bdi>/);
  });

  it('shows what follows in its chain, and what is sent if a link fails', async () => {
    const text = await pageOf(panel, world.ids.chained);

    expect(text).toMatch(
      /<ol class="flow"[^]*this job[^]*ResizeImage[^]*NotifyTeam[^]*<li class="aside">[^]*NotifyTeam[^]*if one fails/,
    );
  });

  it('links a job to its batch', async () => {
    const { jobs } = await world.manager.connection().jobs('media');
    const text = await pageOf(panel, jobs[0]!.id!, 'media');

    expect(text).toContain(`href="batch?connection=memory&amp;id=${world.batches.running}"`);
    expect(text).toMatch(/batch <bdi>Pictures of the catalogue<[^]*running<\/span> 8 of 20/);
  });

  it('escapes markup in queue, data and error', async () => {
    const text = await pageOf(panel, world.ids.markup);

    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).not.toMatch(/<img src=x|<i>ops/);
    expect(text).toContain(encodeURIComponent(QUEUES.strange).slice(0, 10));
  });

  it('shows when a job completed and its result', async () => {
    const text = await pageOf(panel, world.ids.completed);

    expect(text).toMatch(/completed<\/span>[^]*<h2>Result<\/h2>[^]*Map<\/bdi>, 2 entries[^]*orders/);
  });

  it('shows that a worker died during the job', async () => {
    expect(await pageOf(panel, world.ids.crashed!)).toContain('<span class="badge bad">crashed</span>');
  });

  it('says what it may mean if nothing is known about a job', async () => {
    const text = await pageOf(panel, '0193a6c1-6f00-7000-8000-000000000000');

    expect(text).toContain('No job with this id is waiting, running or failed');
    expect(text).toMatch(/<div class="advice">Most likely it has completed: /);
    expect(text).toContain('href="search?text=0193a6c1-6f00-7000-8000-000000000000"');
  });

  it('ignores white space around an id, and says if the id is missing', async () => {
    expect(await pageOf(panel, ` ${world.ids.ready} `)).toContain('SendInvoice');
    expect((await panel.get('job?connection=memory')).status).toBe(422);
  });
});

describe('the page of a waiting job', () => {
  it('shows values that JSON has no types for with their types', async () => {
    const application = testApplication();
    const id = await push(application, {
      due: new Date(Date.UTC(2026, 10, 21, 9, 30)),
      never: new Date(NaN),
      big: 12345678901234567890n,
      map: new Map<unknown, unknown>([
        ['ada', new Date(0)],
        [{ x: 1 }, 2],
      ]),
      set: new Set(['bo']),
      bytes: Buffer.from('onqueue'),
      floats: new Float64Array(5),
      nothing: undefined,
      none: NaN,
      link: new URL('https://example.org/a?b=c'),
      pattern: /^a+$/gi,
      error: new TypeError('refused'),
      half: 'a\ud800',
    });
    await using panel = await served(application.manager);

    const text = (await pageOf(panel, id)).replace(/<[^>]*>/g, '');

    for (const shown of [
      'due 2026-11-21 09:30:00 UTC Date',
      'never Invalid Date',
      'big 12345678901234567890 bigint',
      'map Map, 2 entries',
      'ada → 1970-01-01 00:00:00 UTC Date',
      'set Set, 1 value',
      'bytes 6f 6e 71 75 65 75 65 Buffer, 7 bytes',
      'Float64Array, 40 bytes',
      'nothing undefined',
      'none NaN',
      'link https://example.org/a?b=c URL',
      'pattern /^a+$/gi RegExp',
      'error TypeError, 2 fields',
      'half &quot;a\ufffd&quot;',
    ])
      expect(text).toContain(shown);
  });

  it('shows what the failure of a job has sent, and what follows once it is retried', async () => {
    const { manager, clock, bus } = testApplication();
    const id = await bus
      .chain([new Measure('fail'), new Measure('b')])
      .catch(new Measure('c'))
      .dispatch();
    await using panel = await served(manager);
    const running = new Worker({ maxJobs: 2 }, manager).run();
    await clock.advance('1m');
    await running;

    const text = await pageOf(panel, id);

    const { jobs } = await manager.connection().jobs();
    expect(text).toMatch(
      /this job<\/span> <span class="badge bad">failed[^]*once the job before it is retried and has completed[^]*<li class="aside">[^]*sent by its failure/,
    );
    expect(text).toContain(`<a href="job?connection=memory&amp;queue=default&amp;id=${jobs[0]!.id}"><bdi>Measure`);
  });

  it('shows how far the chain of a completed job has come', async () => {
    const { manager, clock, bus } = testApplication();
    const id = await bus.chain([new Measure('a'), new Measure('b'), new Measure('fail'), new Measure('c')]).dispatch();
    await using panel = await served(manager);
    const work = async (maxJobs: number): Promise<string> => {
      const running = new Worker({ maxJobs, tries: 1 }, manager).run();
      await clock.advance('1m');
      await running;
      return pageOf(panel, id);
    };

    const page = await work(1);
    const { followedBy } = await manager.connection().find(id);
    expect(followedBy!.map(({ name, queue }) => `${name} in ${queue}`)).toEqual(Array(3).fill('Measure in default'));
    expect(page).toMatch(
      /this job<\/span> <span class="badge good">completed[^]*<a href="job[^]*>ready<[^]*>not yet<[^]*>not yet</,
    );
    await clock.advance('1m');
    expect(await work(2)).toMatch(
      />completed<[^]*<a href="job[^]*>completed<[^]*<a href="job[^]*>delayed<[^]*>not yet</,
    );
  });

  it('masks secrets everywhere: in data, maps, following jobs, results, errors and JSON', async () => {
    const application = testApplication();
    const { manager, clock, bus } = application;
    const secrets = { password: 'hunter2', deep: [{ apiKey: 4711815 }], map: new Map([['token', 'hunter2']]) };
    const first = new Measure(secrets);
    const id = await bus.chain([first, new Measure(secrets), new Measure('fail')]).dispatch();
    await using panel = await served(manager);
    const pages = [await pageOf(panel, id), JSON.stringify(await panel.json(`job?id=${id}`))];
    const done = await push(application, 'hunter2');
    const failing = await push(application, 'fail');
    const running = new Worker({ drain: true, tries: 1 }, manager).run();
    await clock.advance('1m');
    await running;
    for (const one of [done, failing])
      pages.push(await pageOf(panel, one), JSON.stringify(await panel.json(`job?id=${one}`)));

    for (const page of pages) expect(page).not.toMatch(/hunter2|4711815/);
    expect(pages[0]).toContain('<span class="masked"');
    expect(pages[2]).toContain('<h2>Result</h2>');
    expect(pages[4]).toContain('it&lt;/b&gt; failed');
  });

  it('stays short however large the payload is, and says how much is left out', async () => {
    const application = testApplication();
    const long = await push(application, 'x'.repeat(1_000_000));
    const wide = await push(
      application,
      Array.from({ length: 100_000 }, (_, place) => place),
    );
    const hostile = { job: 'onqueue', data: { commandName: 'Strange', command: {}, types: { '': 'Map', '/a': 7 } } };
    await pushPayload(application, 'hostile', { ...hostile, more: `${'[1,'.repeat(400)}1${']'.repeat(400)}` });
    await using panel = await served(application.manager);

    const [text, list] = [await pageOf(panel, long), await pageOf(panel, wide)];

    expect(text.length + list.length).toBeLessThan(150_000);
    expect(text).toContain('990,000 more characters');
    expect(list).toContain('99,900 more');
    expect(await pageOf(panel, 'hostile')).toContain('Map</bdi>, 0 entries');
  });

  it('shows payloads that no worker can read, and jobs of Laravel', async () => {
    const application = testApplication();
    await failOne(application, 'no-json', 'mail');
    const call = { job: 'Illuminate\\Queue\\CallQueuedHandler@call', displayName: 'App\\Jobs\\Ship' };
    await pushPayload(application, 'laravel', {
      ...call,
      data: { commandName: 'App\\Jobs\\Ship', command: 'O:8:"Ship":0:{}' },
    });
    await pushPayload(application, 'text-job', {
      job: 'App\\Jobs\\Ship@handle',
      data: { order: 7 },
      maxTries: 5,
      tenant: 'acme',
    });
    const odd = { payload: '{"displayName":"<i>odd","id":"odd","attempts":0}' };
    await application.manager.driver().push('default', [odd]);
    await using panel = await served(application.manager);

    expect(await pageOf(panel, 'laravel')).toMatch(/App\\Jobs\\Ship[^]*belongs to a class of Laravel[^]*O:8:/);
    const text = await pageOf(panel, 'text-job');
    expect(text).toMatch(
      /order<\/bdi><\/span> <code class="scalar">7[^]*Other fields[^]*tenant[^]*5 <span class="soft">its dispatch/,
    );
    expect(text).toContain('No class with this name is registered here');
    expect(await pageOf(panel, 'odd')).toMatch(/No worker can read this payload[^]*&lt;i&gt;odd/);
  });

  it('says what keeps a job from running: no worker on its queue, or a paused queue', async () => {
    const application = testApplication();
    const { manager, clock } = application;
    const id = await push(application, 1);
    await using panel = await served(manager);

    expect(await pageOf(panel, id)).toContain('npx onqueue work memory --queue=default');
    await panel.post('pause-queue', { connection: 'memory', queue: 'default' });
    const worker = new Worker({}, manager);
    const running = worker.run();
    await clock.advance('3s');

    const text = await pageOf(panel, id);
    expect(text).toContain('Its queue is paused');
    expect(text).toContain('action="resume-queue"');
    await worker.stop();
    await running;
  });

  it('cancels a job after a confirmation, and then shows that it was cancelled', async () => {
    const application = testApplication();
    const id = await push(application, 1);
    await using panel = await served(application.manager);
    const fields = { connection: 'memory', queue: 'default', id, back: 'job?id=1' };

    const asked = await panel.post('cancel-job', fields);
    expect(asked.text).toContain('Cancel this job?');
    expect(await pageOf(panel, id)).toContain('>ready</span>');
    await panel.post('cancel-job', { ...fields, confirmed: 'yes' });

    const page = await pageOf(panel, id);
    expect(page).toContain('<h1>Measure</h1>');
    expect(page).toContain('>cancelled</span> It was cancelled: <bdi>on the dashboard by Ada</bdi>');
  });

  it('runs a delayed job now, or moves it to the moment that is given', async () => {
    const application = testApplication();
    const main = application.manager.connection();
    const [now, later] = [await main.later('1h', new Measure(1)), await main.later('1h', new Measure(2))];
    await using panel = await served(application.manager);
    const fields = (id: string) => ({ connection: 'memory', queue: 'default', id, back: 'job?id=1' });
    expect(await pageOf(panel, now)).toMatch(/action="promote-job".*action="reschedule-job"/s);

    await panel.post('promote-job', fields(now));
    expect(await pageOf(panel, now)).toContain('>ready</span>');
    expect(await pageOf(panel, now)).not.toContain('promote-job');

    const asked = await panel.post('reschedule-job', fields(later));
    expect(asked.text).toMatch(/<form method="post" action="reschedule-job">.*name="when".*<\/form>/s);
    await panel.post('reschedule-job', { ...fields(later), confirmed: 'yes', when: '3h' });
    const { at } = await main.find(later);
    expect(Math.round((at!.getTime() - application.clock.now()) / 60_000)).toBe(180);
    await panel.post('reschedule-job', { ...fields(later), confirmed: 'yes', when: 'soon' });
    expect((await main.find(later)).at).toEqual(at);
  });

  it('offers no actions to a viewer', async () => {
    const application = testApplication();
    const id = await push(application, 1);
    await using panel = await served(application.manager, { viewer: 'viewer' });

    expect(await pageOf(panel, id)).not.toMatch(/<form method="post"/);
  });

  it('says if its store is away', async () => {
    const { manager } = testApplication();
    const { queues } = manager.driver();
    queues.find = () => Promise.reject(new QueueUnavailableError({ connection: 'memory', deadline: 60 } as never));
    await using panel = await served(manager);

    const { status, text } = await panel.get('job?connection=memory&id=a');

    expect([status, text.includes('The store cannot be reached')]).toEqual([503, true]);
  });

  it('asks for the queue of a job that a large store did not search', async () => {
    const { manager } = testApplication();
    const { queues } = manager.driver();
    queues.find = () => Promise.resolve('unseen');
    await using panel = await served(manager);

    expect(await pageOf(panel, 'far')).toMatch(/not all were searched[^]*<input type="text" name="queue"/);
  });
});

describe('a job that has failed in several queues', () => {
  it('is shown with all of them, and retried and forgotten in the chosen one', async () => {
    const redis = await startRedisServer();
    const application = testApplication({
      connections: { redis: { driver: 'redis', url: redis.url } },
      default: 'redis',
    });
    const { manager } = application;
    await failOne(application, 'twice', 'mail');
    await failOne(application, 'twice', 'films');
    await using panel = await served(manager);

    const text = await pageOf(panel, 'twice');
    expect(text).toContain('films broke');
    expect(text).toMatch(/It also failed elsewhere[^]*href="job\?connection=redis&amp;queue=mail&amp;id=twice"/);
    expect(await pageOf(panel, 'twice', 'mail')).toMatch(
      /failed<\/span>[^]*mail broke[^]*failed elsewhere[^]*films broke/,
    );
    expect(text).not.toContain('hunter2');

    const place = { connection: 'redis', id: 'twice', back: './' };
    const unclear = await panel.post('retry-job', place);
    expect(decodeURIComponent(unclear.headers.get('set-cookie')!)).toContain('E_AMBIGUOUS_FAILED_JOB');
    await panel.post('retry-job', { ...place, queue: 'mail' });
    await panel.post('forget-job', { ...place, queue: 'films', confirmed: 'yes' });

    expect(await manager.failed.list()).toEqual([]);
    expect(await manager.connection().find('twice')).toMatchObject({ state: 'ready', queue: 'mail' });
    await manager.close();
    await redis.stop();
  });
});
