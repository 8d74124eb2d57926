import { openWorld, QUEUES, SCHEDULES, type World } from './kit/world';
import { addManyJobs } from './kit/many-jobs';
import { served, type Served } from './kit/served';
import { NotifyTeam } from './kit/shop-jobs';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { RecordingLogger, testApplication } from '../support/application';

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

describe('the overview', () => {
  it('starts with what needs attention', async () => {
    const { text } = await panel.get('');

    const [, health = ''] = /<section id="health"[^>]*>(.*?)<\/section>/s.exec(text) ?? [];
    expect(health).toMatch(/<li class="bad">.*accounts.*, but no worker works on it/);
    // The number depends on the position of the clock within its minute, because figures are by the minute.
    const [, failures] = /(\d+) failures? in the last five minutes, in [^.]*>mail</.exec(health) ?? [];
    expect(Number(failures)).toBeGreaterThan(0);
    expect(text).toMatch(/queue=mail[^]*<span class="bad" title="Failures in the last five[^"]*">\d+ in 5 min<\/span>/);
    expect(health).toMatch(/worker-2\.shop\.internal.* has been silent for 30 s/);
    expect(health.indexOf('class="bad"')).toBeLessThan(health.indexOf('class="warn"'));
  });

  it('says why jobs failed within the hour, grouped by error, with the way to their stacks and to a retry', async () => {
    const { manager, clock } = testApplication();
    await addManyJobs(manager, 'mail', { failed: 3 });
    await clock.advance('20m');
    await addManyJobs(manager, 'sync', { failed: 2 });
    await using panel = await served(manager);

    const [, recent = ''] = /<section id="failures"[^>]*>(.*?)<\/section>/s.exec((await panel.get('')).text) ?? [];
    expect(recent).toMatch(/Why jobs failed <span class="soft">5 jobs in the last hour/);
    expect(recent).toMatch(/<strong class="bad">2<\/strong><\/td>\s*<td class="number"[^>]*><strong>5</);
    expect(recent).toMatch(/<a href="failed\?name=\w+&amp;group=/);
    expect(recent).toMatch(/data-label="First"><time [^>]*>20 min ago/);
    expect(recent).toContain('action="retry-failed"');

    await clock.advance('61m');
    expect((await panel.get('')).text).not.toContain('Why jobs failed');
  });

  it('shows a silent worker above any number of failures, and all problems to whoever asks', async () => {
    const { manager } = testApplication();
    for (const queue of 'abcdefghij') await manager.connection().push(new NotifyTeam('ops', 'tick'), queue);
    await using panel = await served(manager);

    const { text } = await panel.get('');

    expect(text.match(/, but no worker works on it/g)).toHaveLength(10);
    expect(text).toContain('<summary>and 2 more problems</summary>');
  });

  it('says that no worker runs, and how to start one, also if nothing waits', async () => {
    const { manager } = testApplication();
    await using panel = await served(manager);

    const { text } = await panel.get('');

    expect(text).toMatch(/No worker runs on <bdi>memory<\/bdi>\. Start one with <code>npx onqueue work memory<\/code>/);
    expect(text).toContain('Three steps to the first job');
    expect(text).not.toContain('All is well');
  });

  it('shows all queues, whatever their names', async () => {
    const { text } = await panel.get('');

    expect(text).toMatch(/>payments<\/bdi><\/a> *<span class="badge warn">paused/);
    expect(text).toContain('<bdi>&lt;img/src=x/onerror=alert(1)&gt;&amp;amp;&quot;&#39;');
    expect(text).not.toContain('<img/src');
    expect(text).toContain(`href="queue?connection=memory&amp;queue=${QUEUES.empty}"`);
  });

  it('shows how many jobs ended in each minute, and the values as a table', async () => {
    const { text } = await panel.get('?within=1h');

    const [, chart = ''] = /<div class="chart" id="rate-completed"(.*?)<\/details>/s.exec(text) ?? [];
    expect(chart).toMatch(/aria-label="Completed a minute\. completed: latest \d+, highest \d+\. /);
    expect(chart.match(/<tr data-key/g)).toHaveLength(60);
    expect((await panel.get('?within=24h')).text.match(/<tr data-key="\d+"/g)).toHaveLength(2 * 96);
  });

  it('shows what is due next, except paused schedules', async () => {
    const { text } = await panel.get('');

    const [, coming = ''] = /<section id="coming"[^>]*>(.*?)<\/section>/s.exec(text) ?? [];
    expect(coming).toContain(SCHEDULES.everyMinute);
    expect(coming).not.toContain(SCHEDULES.paused);
  });

  it('is available as JSON', async () => {
    expect(await panel.json('')).toMatchObject([
      { connection: 'memory', queues: { length: 11 }, workers: { length: 2 }, jobs: expect.arrayContaining([]) },
    ]);
  });

  it('says that all is well if nothing is wrong, and shows no charts if nothing is measured', async () => {
    await using quiet = await served(testApplication({ metrics: false }).manager);

    const { text } = await quiet.get('');

    expect(text).toMatch(/All is well\.<\/strong> <span class="soft">No failed jobs, nothing has waited longer/);
    expect(text).not.toContain('class="chart"');
  });

  it('shows the counted failed jobs even if the figures do not contain them yet', async () => {
    const { manager } = testApplication();
    await using panel = await served(manager);
    expect((await panel.get('')).text).not.toMatch(/failed jobs<\/a>|Why jobs failed/);

    await addManyJobs(manager, 'mail', { failed: 12 });
    await using later = await served(manager);
    const { text } = await later.get('');

    expect(text).toMatch(
      /<li class="warn"><a href="failed\?connection=memory">12 failed jobs<\/a> on .* wait to be retried or/,
    );
    expect(text).not.toMatch(/All is well|Nothing has failed/);
  });

  it('says that no worker takes a delayed job that is due', async () => {
    const { manager, clock } = testApplication();
    await manager.connection().later('1m', new NotifyTeam('ops', 'tick'));
    await clock.advance('1h');
    await using panel = await served(manager);

    expect((await panel.get('')).text).toMatch(
      /<li class="bad">A delayed job in .* has been due for 59 min, but no worker/,
    );
  });

  it('shows how long jobs of a paused queue wait, without a warning', async () => {
    const { manager, clock } = testApplication();
    await addManyJobs(manager, 'mail', { waiting: 1 });
    await manager.connection().pause('mail');
    await clock.advance('90m');
    await using panel = await served(manager);

    expect((await panel.get('')).text).toMatch(/<dt>Oldest waits<\/dt>\s*<dd>1 h( \d+ min)?<\/dd>/);
  });

  it('leaves out schedules that no worker keeps from what is due next', async () => {
    const { manager } = testApplication();
    manager
      .schedule(() => new NotifyTeam('ops', 'tick'))
      .everyMinute()
      .name('tick');
    await using panel = await served(manager);

    const { text } = await panel.get('');

    expect(text).toMatch(/<bdi>tick<\/bdi><\/a> is not being sent/);
    expect(text).not.toContain('What comes next');
  });

  it('shows other connections while others are away, without waiting for their deadlines', async () => {
    const connections = {
      memory: { driver: 'memory' },
      gone: { driver: 'redis', port: 1, deadline: 600 },
      lost: { driver: 'database', url: 'postgres://nobody@127.0.0.1:1/jobs', deadline: 600 },
    } as const;
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: new RecordingLogger() },
      { default: 'memory', connections },
    );
    await using partly = await served(manager);

    const { status, text } = await partly.get('');

    expect(status).toBe(200);
    expect(text).toContain('Queues of <bdi>memory</bdi>');
    expect(text).toContain('<li class="bad"><strong><bdi>gone</bdi></strong>: ');
    expect(text).toContain('<li class="bad"><strong><bdi>lost</bdi></strong>: ');
    for (const page of ['workers', 'running', 'scheduled', 'failed', 'runs', 'batches'])
      expect(await partly.get(page)).toMatchObject({ status: 200, text: expect.stringContaining('127.0.0.1:1') });
    expect(text).toMatch(/<p class="trouble"><strong><bdi>gone<\/bdi><\/strong>[^<]*127\.0\.0\.1:1/);
    await manager.close();
  });
});
