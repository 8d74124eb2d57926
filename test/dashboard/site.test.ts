import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { QueueManager } from '../../src/application/queue-manager';
import { dashboard, type DashboardOptions } from '../../src/dashboard';
import { Job } from '../../src/job/job';
import { testApplication } from '../support/application';
import { served } from './kit/served';

@Job()
class Render extends Job {
  async handle(): Promise<void> {
    await Promise.resolve();
  }
}

/** Express tells the dashboard where it is mounted, and has already read forms as bytes. */
async function inExpress(manager: QueueManager): Promise<AsyncDisposable & { readonly address: string }> {
  const panel = dashboard({ manager, authorize: () => 'operator' });
  const server = createServer(express().use('/jobs', express.raw({ type: '*/*' }), panel));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the dashboard', () => {
  it('shows the queues to people, and the same as JSON to programs', async () => {
    const { manager } = testApplication();
    await manager.connection().push(new Render(), 'films&more');
    await using panel = await served(manager);

    const { status, text } = await panel.get('');

    expect(status).toBe(200);
    expect(text).toContain('<bdi>films&amp;more</bdi>');
    expect(await panel.json('')).toMatchObject([
      { connection: 'memory', queues: [{ queue: 'default' }, { queue: 'films&more', ready: 1 }] },
    ]);
  });

  it('redirects to its first page if the final slash is missing, because all its addresses are relative', async () => {
    await using panel = await served(testApplication().manager, { path: '/jobs' });

    const { status, headers } = await panel.get('');

    expect([status, headers.get('location')]).toEqual([303, 'jobs/']);
  });

  it.each(['/my%20jobs', '/m%C3%BCll', '/jobs%2F2', '/a:b', "/it's", '/%zz'])(
    'redirects to its first page below %s, whose encoding is not encoded again',
    async (path) => {
      await using panel = await served(testApplication().manager, { path });

      const { status, headers } = await panel.get('');

      expect([status, new URL(headers.get('location')!, panel.address).pathname]).toEqual([303, `${path}/`]);
    },
  );

  it('pauses a queue, logs who did it, and offers to undo it', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);

    const paused = await panel.post('pause-queue', { connection: 'memory', queue: 'mail', back: 'workers' });

    expect(await manager.connection().pausedQueues()).toEqual(['mail']);
    expect([paused.status, paused.headers.get('location')]).toEqual([303, 'workers']);
    expect(log.messages('info')).toEqual([expect.stringMatching(/^Dashboard, Ada: mail is paused/)]);
    const [cookie = ''] = paused.headers.getSetCookie();
    const next = await panel.get('', { cookie: cookie.split(';', 1)[0]! });
    expect(next.text).toMatch(/mail is paused: .*<form method="post" action="resume-queue"/s);
    expect(next.headers.get('set-cookie')).toContain('Max-Age=0');
  });

  it('refuses actions of viewers, and shows them no buttons', async () => {
    const { manager } = testApplication();
    await using panel = await served(manager, { viewer: 'viewer' });

    const { status } = await panel.post('pause-queue', { connection: 'memory', queue: 'mail' });

    expect(status).toBe(403);
    expect(await manager.connection().pausedQueues()).toEqual([]);
    expect((await panel.get('')).text).not.toContain('<form method="post"');
  });

  it('logs an error of authorize with its type, stack and cause', async () => {
    const { manager, log } = testApplication();
    const failure = new TypeError('no session', { cause: new Error('the users are away') });
    await using panel = await served(manager, { authorize: () => Promise.reject(failure) });

    expect((await panel.get('')).status).toBe(500);

    expect(log.lines).toMatchObject([
      {
        message: 'The dashboard could not answer: no session',
        facts: {
          err: {
            type: 'TypeError',
            stack: expect.stringContaining('site.test.ts') as unknown,
            cause: { message: 'the users are away' },
          },
        },
      },
    ]);
  });

  it('marks the cookie of a notice as secure if a proxy says that the request came by TLS', async () => {
    await using panel = await served(testApplication().manager);
    const [pause, byTls] = [{ connection: 'memory', queue: 'mail' }, { 'x-forwarded-proto': 'https' }];

    const plain = await panel.post('pause-queue', pause);
    const left = await panel.post('pause-queue', pause, { 'sec-fetch-site': 'same-origin', ...byTls });
    const cookie = left.headers.getSetCookie()[0]!.split(';', 1)[0]!;
    const taken = await panel.get('', { cookie, ...byTls });

    expect(plain.headers.get('set-cookie')).toMatch(/SameSite=Strict$/);
    expect(left.headers.get('set-cookie')).toMatch(/; SameSite=Strict; Secure$/);
    expect(taken.headers.get('set-cookie')).toMatch(/Max-Age=0; .*; Secure$/);
  });

  it('reads a form that an earlier parser left as bytes', async () => {
    const { manager } = testApplication();
    await using panel = await inExpress(manager);

    await fetch(`${panel.address}pause-queue`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ connection: 'memory', queue: 'films&more' }),
    });

    expect(await manager.connection().pausedQueues()).toEqual(['films&more']);
  });

  it('leads people back from an unknown page or action, and tells programs as JSON', async () => {
    await using panel = await inExpress(testApplication().manager);
    const asPerson = { accept: 'text/html', 'sec-fetch-site': 'same-origin' };

    const page = await fetch(`${panel.address}schedule`, { headers: asPerson });
    const action = await fetch(`${panel.address}pause-queues`, { method: 'POST', headers: asPerson });
    const told = await fetch(`${panel.address}schedule`, { headers: { accept: 'application/json' } });

    expect([page.status, action.status, told.status]).toEqual([404, 404, 404]);
    const way = '.*<a href="\\./">Go to the overview</a>';
    expect(await page.text()).toMatch(new RegExp(`There is no such page.${way}`, 's'));
    expect(await action.text()).toMatch(new RegExp(`There is no such action.${way}`, 's'));
    expect(await told.json()).toEqual({ error: { code: 'E_DASHBOARD_ANSWER', message: 'There is no such page.' } });
  });

  it('shows in the footer of each page which stores it uses, without their passwords', async () => {
    const { manager } = testApplication({
      connections: {
        'a<b>': { driver: 'memory' },
        shop: { driver: 'database', url: 'postgres://ada:hunter2@127.0.0.1:1/shop' },
        at_once: { driver: 'sync' },
      },
      default: 'a<b>',
    });
    await using panel = await served(manager);

    const footer = /<footer>.*<\/footer>/s.exec((await panel.get('schedules')).text)?.[0] ?? '';

    expect(footer.replaceAll(/<\/?bdi>/g, '')).toContain(
      `Connections: a&lt;b&gt; (memory of process ${process.pid}), shop (database postgres://ada@127.0.0.1:1/shop)<`,
    );
    await manager.close();
  });

  it('names five stores, and counts the others', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const connections = Object.fromEntries(names.map((name) => [name, { driver: 'memory' }] as const));
    await using panel = await served(testApplication({ connections, default: 'a' }).manager);

    const { text } = await panel.get('');

    expect(text).toMatch(/Connections: .*<bdi>e<\/bdi> \([^)]*\) and 2 more<\/p>/);
    expect(text).not.toMatch(/Connections: .*<bdi>f<\/bdi>/);
  });
});

describe('dashboard()', () => {
  it.each([
    [{ manger: 1 }, 'manger set to 1: there is no such option; did you mean manager.'],
    [{ path: '/jobs' }, "path set to '/jobs': there is no such option; it takes authorize and manager."],
    [{ manager: {} }, 'manager set to {}: give a QueueManager, or leave it out for the one behind Queue.'],
    [{ manager: null }, 'manager set to null: give a QueueManager'],
  ])('refuses %j, with which it would show the jobs of another program', (more, sentence) => {
    const options = { authorize: () => 'viewer', ...more } as unknown as DashboardOptions;
    expect(() => dashboard(options)).toThrow(
      expect.objectContaining({ code: 'E_DASHBOARD_OPTION', message: expect.stringContaining(sentence) as unknown }),
    );
  });

  it('names the option that was meant if authorize is misspelled', () => {
    const options = { authorise: () => 'viewer' } as unknown as DashboardOptions;
    expect(() => dashboard(options)).toThrow('did you mean authorize');
  });
});
