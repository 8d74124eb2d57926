import { testApplication } from '../support/application';
import { pushInLanes } from './kit/laned-jobs';
import { openWorld, QUEUES, type World } from './kit/world';
import { NotifyTeam } from './kit/shop-jobs';
import { served, type Served } from './kit/served';

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

const cookieOf = ({ headers }: { readonly headers: Headers }) => ({
  cookie: headers.getSetCookie()[0]!.split(';', 1)[0]!,
});

describe('the page of a queue', () => {
  it('shows its jobs by state, with an excerpt of their data', async () => {
    const ready = await panel.get('queue?connection=memory&queue=mail');
    expect(ready.text).toContain(`id=${world.ids.ready}"`);
    expect(ready.text).toMatch(/<code><bdi>\{&quot;invoice&quot;/);

    const failed = await panel.get('queue?connection=memory&queue=mail&state=failed');
    expect(failed.text.match(/<tr data-key="\[/g)).toHaveLength(15);
    expect(failed.text).toMatch(/aria-current="true">failed/);
    expect(failed.text.match(/action="retry-job"/g)).toHaveLength(15);
  });

  it('leads back to all queues, which a column sorts, the most first', async () => {
    expect((await panel.get('queue?connection=memory&queue=mail')).text).toMatch(
      /<nav class="trail" aria-label="Breadcrumb"><a href="all-queues"><bdi>Queues<\/bdi><\/a>/,
    );
    const { text } = await panel.get('all-queues?sort=ready');
    expect(text).toMatch(/<th scope="col" class="number" aria-sort="descending"><a href="[^"]*sort=ready">Ready</);
    const ready = [...text.matchAll(/data-label="Ready">(?:<a [^>]*>|<span[^>]*>)([\d,]+)/g)].map(([, count = '']) =>
      Number(count.replaceAll(',', '')),
    );
    expect(ready.length).toBeGreaterThan(2);
    expect(ready).toEqual(ready.toSorted((a, b) => b - a));
  });

  it('goes on page by page, and back to the first', async () => {
    await world.manager.connection().bulk(
      Array.from({ length: 120 }, () => new NotifyTeam('ops', 'hello')),
      'long',
    );

    const sizes: number[] = [];
    let next: string | undefined = 'queue?connection=memory&queue=long';
    while (next !== undefined) {
      const { text }: { text: string } = await panel.get(next);
      sizes.push(text.match(/<tr data-key="\[/g)?.length ?? 0);
      expect(text.includes('>First page<')).toBe(sizes.length > 1);
      next = /<a href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }

    expect(sizes.slice(0, 3)).toEqual([50, 50, 20]);
  });

  it('lists its lanes, the fullest first, and pauses, resumes and limits them', async () => {
    await pushInLanes(world.manager, 'tenants', { small: 1, big: 5, other: 2 });
    const page = 'queue?connection=memory&queue=tenants';
    const { text } = await panel.get(page);
    expect([...text.matchAll(/<tr data-key="lane ([^"]*)"/g)].map(([, lane]) => lane)).toEqual([
      'big',
      'other',
      'small',
    ]);
    expect(text).toMatch(/<bdi>big<\/bdi><\/th>\s*<td class="number"[^>]*>1<\/td><td class="number"[^>]*>4<\/td>/);

    const fields = { connection: 'memory', queue: 'tenants', lane: 'big', back: page };
    await panel.post('limit-lane', { ...fields, running: '3' });
    await panel.post('pause-lane', fields);
    const lanes = async () => (await world.manager.connection().lanes('tenants')).lanes;
    expect((await lanes()).find(({ lane }) => lane === 'big')).toMatchObject({ inside: 3, running: 3, paused: true });
    expect((await panel.get(page)).text).toMatch(/action="resume-lane"/);
    await panel.post('resume-lane', fields);
    await panel.post('limit-lane', fields);
    expect((await lanes()).find(({ lane }) => lane === 'big')).toMatchObject({ running: 1, paused: false });
  });

  it('shows no list of lanes where none has jobs', async () => {
    expect((await panel.get('queue?connection=memory&queue=mail')).text).not.toContain('aria-label="Lanes"');
  });

  it('masks secrets in the data', async () => {
    const { text } = await panel.get('queue?connection=memory&queue=accounts');

    expect(text).toContain('***');
    expect(text).not.toContain('correct horse');
  });

  it('cancels a job after a confirmation, and shows the result', async () => {
    const fields = {
      connection: 'memory',
      queue: 'mail',
      id: world.ids.delayed,
      back: 'queue?queue=mail&state=delayed',
    };

    const asked = await panel.post('cancel-job', fields);
    expect(asked.text).toContain('Cancel this job?');
    expect((await world.manager.connection().find(world.ids.delayed)).state).toBe('delayed');

    const done = await panel.post('cancel-job', { ...fields, confirmed: 'yes' });
    expect((await panel.get('', cookieOf(done))).text).toContain('is cancelled: it was waiting, and has been removed.');
    expect((await world.manager.connection().find(world.ids.delayed)).state).toBe('unknown');
    const again = await panel.post('cancel-job', { ...fields, confirmed: 'yes' });
    expect((await panel.get('', cookieOf(again))).text).toContain('is no longer waiting or running');
  });

  it('runs a delayed job of its list now', async () => {
    const main = world.manager.connection();
    const id = await main.later('1h', new NotifyTeam('ops', 'later'), 'delayed');
    const list = await panel.get('queue?connection=memory&queue=delayed&state=delayed');
    expect(list.text.match(/action="(promote|reschedule|cancel)-job"/g)).toHaveLength(3);
    expect((await panel.get('queue?connection=memory&queue=delayed')).text).not.toContain('promote-job');

    await panel.post('promote-job', { connection: 'memory', queue: 'delayed', id, back: 'queue?queue=delayed' });

    expect((await main.find(id)).state).toBe('ready');
  });

  it('pauses the queue for a given time', async () => {
    const fields = { connection: 'memory', queue: 'media', back: 'queue?queue=media' };
    await panel.post('pause-queue', { ...fields, for: '15m' });

    expect((await panel.get('queue?connection=memory&queue=media')).text).toMatch(
      /paused, resumes <time[^>]*>in 1\d min/,
    );
    await panel.post('resume-queue', fields);
  });

  it('limits how many of its jobs run at a time, and removes the limit', async () => {
    const fields = { connection: 'memory', queue: 'media', back: 'queue?queue=media' };
    const asked = await panel.post('limit-queue', fields);
    expect(asked.text).toMatch(/<form method="post" action="limit-queue">.*name="running" min="1".*<\/form>/s);

    await panel.post('limit-queue', { ...fields, confirmed: 'yes', running: '4' });
    expect((await panel.get('queue?connection=memory&queue=media')).text).toContain('Running, at most 4');
    expect((await panel.get('')).text).toContain('at most 4');
    expect((await panel.post('limit-queue', fields)).text).toContain('value="4"');
    await panel.post('limit-queue', { ...fields, confirmed: 'yes', running: '0' });
    expect(await world.manager.connection().limits()).toEqual([{ queue: 'media', running: 4 }]);

    await panel.post('limit-queue', { ...fields, confirmed: 'yes', running: '' });
    expect(await world.manager.connection().limits()).toEqual([]);
  });

  it('shows a queue of any name', async () => {
    const { status, text } = await panel.get(`queue?connection=memory&queue=${encodeURIComponent(QUEUES.strange)}`);

    expect(status).toBe(200);
    expect(text).toContain('<h1>&lt;img/src=x');
  });

  it.each([
    ['queue', 'E_DASHBOARD_QUERY'],
    ['queue?queue=mail&connection=nowhere', 'E_UNKNOWN_CONNECTION'],
    ['queue?queue=mail&after=made-up', 'E_INVALID_LISTING'],
    ['queue?queue=two,names', 'E_INVALID_QUEUE_NAME'],
  ])('says what is wrong with %s', async (page, code) => {
    const { status, text } = await panel.get(page);

    expect(status).toBe(422);
    expect(text).toContain(code);
  });
});

it('the page of a job says that it waits because its lane is full', async () => {
  const { manager } = testApplication({ metrics: false });
  await pushInLanes(manager, 'tenants', { big: 3 });
  const [job] = (await manager.connection().jobs('tenants')).jobs.toReversed();
  await using own = await served(manager);
  const page = `job?connection=memory&queue=tenants&id=${job!.id}`;

  const { fullness } = (await own.json(page)) as { readonly fullness?: string };
  expect(fullness).toBe('its lane big is full: 1 of 1 running or next, and 2 held');
  expect((await own.get(page)).text).toContain(`It is ready, but <strong>${fullness}</strong>.`);
});
