/** Requests that no viewer's browser sends, and visitors who are not let in. */
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { dashboard } from '../../../src/dashboard';
import { assetAddress } from '../../../src/dashboard/document';
import { Gate, testApplication } from '../../support/application';
import { raw } from '../kit/raw';
import { served } from '../kit/served';

const PAUSE = { connection: 'memory', queue: 'mail' };

describe('a request for a strange address', () => {
  it.each([
    ['GET //evil.example'],
    ['GET //evil.example/..;/'],
    ['GET http://evil.example/'],
    ['GET https://user:password@evil.example:99999/'],
    ['GET *'],
    ['OPTIONS *'],
    ['GET /%'],
    ['GET /%00'],
    ['GET /a\0b'],
    ['GET /../../../etc/passwd'],
    ['GET /%2e%2e/%2e%2e/etc/passwd'],
    ['GET /jobs/..%2f..%2fetc%2fpasswd'],
    ['GET /\\evil.example'],
    ['GET \\\\evil.example'],
    ['GET /:80'],
    ['GET /@evil.example'],
    ['GET /jobs/?text=%E0%A4%A&%'],
    ['GET /jobs/queue?connection=__proto__&queue=constructor'],
    ['GET /jobs/queue?connection=memory&queue=%00%0d%0aset-cookie:a=b'],
    ['GET /é\u0080'],
    [`GET /${'a'.repeat(100_000)}`],
    [`GET /jobs/?${'a='.repeat(7000)}`],
    ['CONNECT evil.example:443'],
  ])('is answered without harm and without leading elsewhere: %.40s', async (request) => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);

    const { status, headers } = await raw(panel.port, `${request} HTTP/1.1\nAccept: text/html`);

    expect([0, 200, 303, 400, 404, 405, 422, 431]).toContain(status);
    const target = request.slice(request.indexOf(' ') + 1);
    const location = headers.get('location') ?? '';
    // Resolved as a browser would, relative to the address it requested.
    const led = new URL(location, target.startsWith('/') ? `http://127.0.0.1:${panel.port}${target}` : panel.address);
    expect(led.host).toBe(`127.0.0.1:${panel.port}`);
    expect(headers.has('set-cookie')).toBe(false);
    expect(log.messages('error')).toEqual([]);
    expect((await panel.get('')).status).toBe(200);
  });

  it.each(['*', 'http://evil.example/', 'HTTP://127.0.0.1/jobs/', 'ftp://x'])(
    'is refused if it is not an address of a page: %s',
    async (target) => {
      await using panel = await served(testApplication().manager);
      expect(await raw(panel.port, `GET ${target} HTTP/1.1`)).toMatchObject({
        status: 400,
        body: expect.stringContaining('This is not the address of a page.') as unknown,
      });
    },
  );

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])(
    'finds no page or action named %s',
    async (name) => {
      await using panel = await served(testApplication().manager);
      expect((await panel.get(`/jobs/${name}/..;`)).status).toBe(303);
      expect((await panel.post(name, PAUSE)).status).toBe(404);
    },
  );

  it.each([
    ['GET', 'pause-queue', 303],
    ['HEAD', '', 200],
    ['HEAD', 'workers', 200],
    ['PUT', 'pause-queue', 405],
    ['DELETE', 'queue', 405],
    ['OPTIONS', '', 405],
    ['PATCH', 'workers', 405],
    ['TRACE', '', 405],
  ])('does nothing with %s of %j', async (method, page, status) => {
    const { manager } = testApplication();
    await using panel = await served(manager);
    const answer = await raw(panel.port, `${method} /jobs/${page}?connection=memory&queue=mail HTTP/1.1`);
    expect(answer.status).toBe(status);
    expect(await manager.connection().pausedQueues()).toEqual([]);
    expect(method === 'HEAD' ? answer.body : '').toBe('');
  });
});

describe('a visitor who is not let in', () => {
  const secretive = { email: 'ada@example.com', role: 'admin', password: 'hunter2' };
  it.each([
    ['rejects', () => Promise.reject(new Error('hunter2 is wrong')), 500],
    ['throws', () => thrown(new TypeError('no user: hunter2')), 500],
    ['throws something that is not an error', () => thrown('hunter2'), 500],
    ['gives an empty object', () => ({}), 500],
    ['gives a user', () => secretive, 500],
    ['gives true', () => true, 500],
    ['gives another role', () => 'admin', 500],
    ['gives a role in other letters', () => 'Operator', 500],
    ['gives a list', () => ['operator'], 500],
    ['gives a String object', () => ({ role: Object('operator') as unknown }), 500],
    ['gives an HTTP response', () => ({ status: 200, headers: {}, body: 'in' }), 500],
    ['gives undefined', () => undefined, 403],
    ['gives an empty string', () => '', 500],
    ['gives false', () => false, 403],
  ])('gets no pages, events or actions, and learns nothing, if authorize %s', async (_, authorize, status) => {
    const { manager, log } = testApplication();
    await using panel = await served(manager, { authorize });

    const answers = [
      await panel.get(''),
      await panel.get('', { accept: 'text/event-stream' }),
      await panel.get('', { accept: 'application/json' }),
      await panel.get('no-such-page'),
      await panel.post('pause-queue', PAUSE),
      await panel.post('pause-queue', PAUSE, { authorization: 'Bearer x' }),
    ];

    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => status));
    expect(answers.map(({ text }) => text).join('')).not.toMatch(/hunter2|example\.com|memory|operator/);
    expect(await manager.connection().pausedQueues()).toEqual([]);
    // Mistakes of the program are logged for those who can fix them.
    expect(log.messages('error')).toHaveLength(status === 500 ? 6 : 0);
  });

  it('is not logged if authorize gives a whole user by mistake', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager, { authorize: () => secretive });
    await panel.get('');
    expect(inspect(log.lines, { depth: 9 })).toMatch(/returned the role 'admin'/);
    expect(inspect(log.lines, { depth: 9 })).not.toMatch(/hunter2|example\.com/);
  });

  it('does not delay others if authorize never answers, and leaves nothing behind after disconnecting', async () => {
    const { manager, clock } = testApplication();
    const [asked, gate] = [new Gate(), new Gate()];
    const answers = [gate.opened.then(() => 'operator'), 'operator'];
    const authorize = () => {
      asked.open();
      return answers.shift();
    };
    await using panel = await served(manager, { authorize });
    const socket = connect(panel.port, '127.0.0.1');
    socket.write('GET /jobs/ HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n');
    await asked.opened;

    expect((await panel.get('')).status).toBe(200);
    socket.destroy();
    await panel.watchers(0);
    gate.open();
    await clock.advance('1s');

    // Nobody watches, so no check of the store is scheduled.
    expect(clock.pending).toBe(0);
  });
});

const SAFE = {
  'content-security-policy': /default-src 'none'.*form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^same-origin$/,
  'cross-origin-opener-policy': /^same-origin$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'cache-control': /^no-store$|immutable$/,
};

it('every answer has headers against scripts, framing, sniffing, caching and sharing', async () => {
  const { manager } = testApplication();
  await using panel = await served(manager);
  await using closed = await served(manager, { viewer: false });
  await using broken = await served(manager, { authorize: () => true });
  const events = { headers: { accept: 'text/event-stream' } };
  const answers = await Promise.all([
    ...['', 'failed', 'workers', 'job', 'queue', assetAddress('style.css'), assetAddress('script.js')].map((page) =>
      fetch(new URL(page, panel.address)),
    ),
    fetch(panel.address, events),
    fetch(panel.address, { method: 'HEAD' }),
    fetch(panel.address, { method: 'PUT' }),
    fetch(new URL('no-such/x.css', panel.address), { redirect: 'manual' }),
    fetch(new URL('pause-queue', panel.address), { method: 'POST' }),
    fetch(closed.address),
    fetch(closed.address, events),
    fetch(broken.address),
    dashboard<Request>({ manager, authorize: () => 'viewer' }).fetch(new Request(panel.address)),
  ]);
  const posts = await Promise.all([
    panel.post('pause-queue', PAUSE),
    panel.post('no-such', PAUSE),
    panel.post('forget-job', { ...PAUSE, id: 'x' }),
    panel.post('pause-queue', { more: 'x'.repeat(1_100_000) }),
  ]);
  const strange = await raw(panel.port, 'GET * HTTP/1.1');
  const all = [...answers, ...posts, strange];
  for (const [name, value] of Object.entries(SAFE))
    expect([
      name,
      all.filter(({ headers }) => !value.test(headers.get(name) ?? '')).map(({ status }) => status),
    ]).toEqual([name, []]);
  for (const { body } of answers) await body?.cancel();
});

it('a HEAD request for the events of a page watches nothing, on either kind of server', async () => {
  const { manager, clock } = testApplication();
  await using panel = await served(manager);
  const init = { method: 'HEAD', headers: { accept: 'text/event-stream' } };
  await fetch(panel.address, init);
  await dashboard<Request>({ manager, authorize: () => 'viewer' }).fetch(new Request(panel.address, init));
  expect(clock.pending).toBe(0);
});

it('a request that the program answers itself meanwhile is left alone', async () => {
  const { manager, log } = testApplication();
  const [gate, late] = [new Gate(), [] as string[]];
  const panel = dashboard({ manager, authorize: () => gate.opened.then(() => 'viewer' as const) });
  const server = createServer((request, response) => {
    panel(request, response);
    response.writeHead(503).write('It took too long.');
    response.setHeader = (name) => {
      late.push(name);
      return response;
    };
    gate.open();
    // The dashboard gets its turn before that.
    setImmediate(() => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const { status } = await raw((server.address() as AddressInfo).port, 'GET / HTTP/1.1');

  expect([status, late, log.lines]).toEqual([503, [], []]);
  server.close();
});

function thrown(error: unknown): never {
  throw error;
}
