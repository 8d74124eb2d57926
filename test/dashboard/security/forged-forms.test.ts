/** Forged requests: from other sites, with forged notices or forged fields. */
import { connect } from 'node:net';
import { dashboard } from '../../../src/dashboard';
import { ACTIONS } from '../../../src/dashboard/actions/actions';
import { Gate, testApplication } from '../../support/application';
import { raw } from '../kit/raw';
import { served } from '../kit/served';

const PAUSE = { connection: 'memory', queue: 'mail' };
const FORM = 'application/x-www-form-urlencoded';

describe('a request from another site', () => {
  const ORIGIN = 'http://jobs.example.com';
  it.each<[string, readonly string[], boolean]>([
    ['says that it is from the same site', ['Sec-Fetch-Site: same-origin'], true],
    [
      'is from the same site behind a proxy that replaces the host',
      ['Host: upstream:3000', 'Sec-Fetch-Site: same-origin', `Origin: ${ORIGIN}`],
      true,
    ],
    ['is from another site', ['Sec-Fetch-Site: cross-site'], false],
    ['is from a sibling site', ['Sec-Fetch-Site: same-site'], false],
    ['is from no site', ['Sec-Fetch-Site: none'], false],
    ['has an empty site', ['Sec-Fetch-Site: '], false],
    ['has two sites', ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site'], false],
    ['is from another site but has a token', ['Sec-Fetch-Site: cross-site', 'Authorization: Bearer x'], false],
    [
      'is from another site but has the right origin',
      ['Sec-Fetch-Site: cross-site', 'Host: jobs.example.com', `Origin: ${ORIGIN}`],
      false,
    ],
    ['says nothing about its site', [], false],
    ['has only its origin, which is right', ['Host: jobs.example.com', `Origin: ${ORIGIN}`], true],
    [
      'has the origin that a proxy forwards',
      ['Host: upstream:3000', `Origin: ${ORIGIN}`, 'X-Forwarded-Host: jobs.example.com'],
      true,
    ],
    [
      'has the first of two forwarded origins',
      ['Host: a', `Origin: ${ORIGIN}`, 'X-Forwarded-Host: jobs.example.com, b'],
      true,
    ],
    [
      'has another origin than the forwarded one',
      ['Host: upstream:3000', 'Origin: http://evil.example', 'X-Forwarded-Host: jobs.example.com'],
      false,
    ],
    ['has another origin', ['Host: jobs.example.com', 'Origin: http://evil.example'], false],
    ['has another port', ['Host: jobs.example.com', 'Origin: http://jobs.example.com:81'], false],
    ['has a longer host name', ['Host: jobs.example.com', 'Origin: http://jobs.example.com.evil.example'], false],
    [
      'has the right host as a user name',
      ['Host: jobs.example.com', 'Origin: http://jobs.example.com@evil.example'],
      false,
    ],
    ['is from a sandboxed page', ['Host: jobs.example.com', 'Origin: null'], false],
    ['is from a sandboxed page and names no host', ['Host: ', 'Origin: null', 'X-Forwarded-Host: '], false],
    ['has only a referrer', ['Host: jobs.example.com', `Referer: ${ORIGIN}/jobs/`], false],
    ['is from a browser whose proxy adds a token', ['Authorization: Bearer x', 'Accept: text/html'], true],
    ['has another kind of authorization', ['Authorization: Basic eDp4'], false],
  ])('can act only if it is trustworthy: one that %s', async (_, headers, isDone) => {
    const { manager } = testApplication();
    await using panel = await served(manager);
    const body = 'connection=memory&queue=mail';
    const head = ['POST /jobs/pause-queue HTTP/1.1', `Content-Type: ${FORM}`, `Content-Length: ${body.length}`];

    const { status } = await raw(panel.port, [...head, ...headers].join('\n'), body);

    expect([status, await manager.connection().pausedQueues()]).toEqual(isDone ? [303, ['mail']] : [403, []]);
  });

  it('cannot act without a host either, as requests of the Fetch standard may be', async () => {
    const { manager } = testApplication();
    const panel = dashboard<Request>({ manager, authorize: () => 'operator' });
    const post = (origin: string) =>
      panel.fetch(
        new Request('https://jobs.example.com/jobs/pause-queue', {
          method: 'POST',
          headers: { origin },
          body: new URLSearchParams(PAUSE),
        }),
      );
    expect((await post('null')).status).toBe(403);
    expect((await post('https://evil.example')).status).toBe(403);
    expect((await post('https://jobs.example.com')).status).toBe(303);
  });
});

describe('the address that an action returns to', () => {
  it.each([
    ['https://evil.example/'],
    ['//evil.example'],
    ['/\\evil.example'],
    ['\\\\evil.example'],
    ['/'],
    ['../'],
    ['.//evil.example'],
    ['./..//evil.example'],
    ['javascript:alert(1)'],
    ['JAVASCRIPT:alert(1)'],
    ['data:text/html,x'],
    ['jobs\r\nset-cookie: a=b'],
    ['./?a\r\nset-cookie: a=b'],
    ['./?a\0'],
    ['./?→'],
    ['./?é'],
    ['./?a#b'],
    ['\thttps://evil.example'],
    ['queue\n'],
    ['x'.repeat(20_000) + '://'],
  ])('is always within the dashboard, and not %j', async (back) => {
    const { manager } = testApplication();
    await using panel = await served(manager);
    const { status, headers } = await panel.post('pause-queue', { ...PAUSE, back });
    expect([status, headers.get('location')]).toEqual([303, './']);
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^onqueue-notice=/)]);
    const asked = await panel.post('forget-job', { connection: 'memory', id: 'x', back });
    expect(asked.text).toMatch(/ href="\.\/"[^>]*>Go back/);
  });
});

describe('a forged notice', () => {
  const cookie = (value: unknown) => ({
    cookie: `onqueue-notice=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`,
  });
  const undo = (more: object) => ({
    text: 'Done',
    undo: { action: 'resume-queue', label: 'Resume', fields: PAUSE, ...more },
  });

  it.each([
    ['forgets a job', undo({ action: 'forget-job', fields: { ...PAUSE, id: 'x', confirmed: 'yes' } })],
    ['forgets all failed jobs', undo({ action: 'forget-failed', fields: { confirmed: 'yes' } })],
    ['names no action', undo({ action: 'https://evil.example' })],
    ['names a list', undo({ action: ['resume-queue'] })],
    ['names a member of a prototype', undo({ action: 'constructor' })],
    ['has invalid fields', undo({ fields: { queue: { a: 1 } } })],
    ['has no label', undo({ label: 7 })],
    ['links elsewhere', { text: 'Done', link: { address: 'https://evil.example', label: 'Look' } }],
    ['links elsewhere with two slashes', { text: 'Done', link: { address: '//evil.example', label: 'Look' } }],
    ['links to a script', { text: 'Done', link: { address: 'javascript:alert(1)', label: 'Look' } }],
    ['contains markup', { text: '<script>alert(1)</script><img src=x onerror=alert(1)>' }],
    [
      'contains markup in its button',
      undo({ label: '"><script>alert(1)</script>', fields: { 'a"><script>': '"><script>' } }),
    ],
    ['is null', 'null'],
    ['is a number', '7'],
    ['is not JSON', '{'],
    ['has no text', { text: { toString: 1 } }],
    ['is badly escaped', '%'],
    ['is huge', { text: 'x'.repeat(12_000) }],
    ['is deeply nested', '['.repeat(5000)],
  ])('offers no action that needs a confirmation, and no markup, even if it %s', async (_, value) => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);

    const { status, text } = await panel.get('', cookie(value));

    expect(status).toBe(200);
    expect(text).not.toMatch(/action="(?!resume-queue"|pause-queue"|search")/);
    expect(text).not.toMatch(/<script>|<img src=x|evil\.example|javascript:/);
    expect(log.messages('error')).toEqual([]);
  });
});

describe('a form', () => {
  it('larger than a megabyte is refused by each kind of server, and the next one is accepted', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);
    const large = new URLSearchParams({ ...PAUSE, more: 'x'.repeat(1_100_000) });
    const mounted = dashboard<Request>({ manager, authorize: () => 'operator' });
    const request = new Request(`${panel.address}pause-queue`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: large,
    });

    const refused = [await panel.post('pause-queue', large), await mounted.fetch(request)];

    expect(refused.map(({ status }) => status)).toEqual([413, 413]);
    expect((await panel.post('pause-queue', PAUSE)).status).toBe(303);
    expect(log.messages('error')).toEqual([]);
  });

  it('that is too large leaves its connection to later requests', async () => {
    await using panel = await served(testApplication().manager);
    const [size, next] = [16_000_000, 'GET /jobs/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'];
    const head = ['POST /jobs/pause-queue HTTP/1.1', 'Sec-Fetch-Site: same-origin', 'Connection: keep-alive'];
    const { status, body } = await raw(
      panel.port,
      [...head, `Content-Length: ${size}`].join('\n'),
      'x'.repeat(size) + next,
    );
    expect([status, body]).toEqual([413, expect.stringContaining('HTTP/1.1 200 OK')]);
  });

  it('that is broken off does nothing, and is not logged as an error', async () => {
    const { manager, log } = testApplication();
    const authorized = new Gate();
    const authorize = () => {
      authorized.open();
      return 'operator';
    };
    await using panel = await served(manager, { authorize });
    const socket = connect(panel.port, '127.0.0.1');
    const head = ['POST /jobs/pause-queue HTTP/1.1', 'Host: x', 'Sec-Fetch-Site: same-origin', 'Content-Length: 900'];
    socket.write(`${head.join('\r\n')}\r\n\r\nconnection=memory&queue=mail`);
    await authorized.opened;

    socket.destroy();

    expect((await panel.get('')).status).toBe(200);
    expect(await manager.connection().pausedQueues()).toEqual([]);
    expect(log.lines).toEqual([]);
  });

  it.each([
    ['application/json', '{"connection":"memory","queue":"mail"}'],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="queue"\r\n\r\nmail\r\n--x--'],
    ['text/plain', '\0\u0001\u00ff%%%'],
    [FORM, '&&==&%=%&__proto__=1&constructor=2'],
    [FORM, ''],
  ])('of type %s without the needed fields does nothing: %j', async (type, body) => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);
    for (const name of Object.keys(ACTIONS)) {
      const head = [`POST /jobs/${name} HTTP/1.1`, 'Sec-Fetch-Site: same-origin', `Content-Type: ${type}`];
      const { status } = await raw(panel.port, [...head, `Content-Length: ${body.length}`].join('\n'), body);
      expect([name, status]).toEqual([name, 303]);
    }
    expect(await manager.connection().pausedQueues()).toEqual([]);
    expect(log.messages('error')).toEqual([]);
  });

  it('with a hundred thousand fields is refused at once, and none of them is logged', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);
    const fields = Array.from({ length: 100_000 }, (_, place): [string, string] => [place.toString(36), '']);

    const { status } = await panel.post('pause-queue', new URLSearchParams([['queue', 'mail'], ...fields]));

    expect(status).toBe(413);
    expect(log.lines).toEqual([]);
  });

  it('cannot choose the user and action that are logged', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);
    await panel.post('pause-queue', { ...PAUSE, by: 'Grace', action: 'resume-queue', __proto__: 'x' });
    expect(log.lines).toEqual([
      expect.objectContaining({ facts: expect.objectContaining({ by: 'Ada', action: 'pause-queue' }) as unknown }),
    ]);
  });
});

describe('the log of an action', () => {
  it('has no field of a form but those that the action reads', async () => {
    const { manager, log } = testApplication();
    await using panel = await served(manager);
    const forged = {
      msg: 'all is well',
      level: 'error',
      time: '0',
      pid: '1',
      err: 'x',
      worker: 'x',
      hostname: 'x',
      v: '2',
    };
    await panel.post('pause-queue', { ...PAUSE, ...forged });
    expect(log.lines.map(({ facts }) => facts)).toEqual([{ ...PAUSE, action: 'pause-queue', by: 'Ada' }]);
  });
});

describe('a viewer', () => {
  it('can carry out none of the actions', async () => {
    const { manager } = testApplication();
    await using panel = await served(manager, { viewer: 'viewer' });
    for (const name of Object.keys(ACTIONS)) {
      const { status } = await panel.post(name, { ...PAUSE, id: 'x', name: 'x', confirmed: 'yes' });
      expect([name, status]).toEqual([name, 403]);
    }
    expect(await manager.connection().pausedQueues()).toEqual([]);
  });
});
