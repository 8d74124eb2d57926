/** The sign-in of `onqueue dashboard`, and attempts to get around it. */
import { type Browser, startBrowser } from '../../support/browser';
import { elapse } from '../../support/application';
import { raw } from '../kit/raw';
import { cookieOf, standingAlone, TOKEN, VIEWER_TOKEN } from '../kit/standing-alone';

const BOTH = { ONQUEUE_DASHBOARD_TOKEN: TOKEN, ONQUEUE_DASHBOARD_VIEWER_TOKEN: VIEWER_TOKEN };

describe('the sign-in link', () => {
  it('lets one browser in, with a cookie that scripts cannot read and other sites cannot send', async () => {
    await using panel = await standingAlone();

    const entered = await panel.get(panel.link);

    expect([entered.status, entered.headers.get('location')]).toEqual([303, './']);
    expect(entered.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^onqueue-session-${panel.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
      ),
    ]);
    expect((await panel.get('', { cookie: cookieOf(entered) })).status).toBe(200);
    const again = await panel.get(panel.link);
    expect([again.status, cookieOf(again)]).toEqual([403, '']);
    expect(await again.text()).toMatch(/role="alert"[^>]*>This link has already been used.*stop the command/s);
  });

  it('lets exactly one browser in if several open it at once', async () => {
    await using panel = await standingAlone();
    const all = await Promise.all(Array.from({ length: 8 }, () => panel.get(panel.link)));
    expect(all.map(({ status }) => status).toSorted()).toEqual([303, ...Array<number>(7).fill(403)]);
  });

  it.each([
    ['a browser that prefetches', { headers: { 'sec-purpose': 'prefetch;prerender', accept: 'text/html' } }, 503],
    ['an older browser that prefetches', { headers: { purpose: 'prefetch', accept: 'text/html' } }, 503],
    ['a HEAD request', { method: 'HEAD' }, 403],
  ])('is not used up by %s', async (_, init, status) => {
    await using panel = await standingAlone();
    const ahead = await panel.ask(panel.link, init);
    expect([ahead.status, cookieOf(ahead)]).toEqual([status, '']);
    expect((await panel.get(panel.link)).status).toBe(303);
  });

  it('expires after a quarter of an hour', async () => {
    await using panel = await standingAlone();
    await panel.clock.advance('901s');
    expect((await panel.get(panel.link)).status).toBe(403);
  });

  it.each([['sign-in?key='], ['sign-in?key=undefined'], ['sign-in?key=A'.padEnd(56, 'A')], ['sign-in?token=x']])(
    'cannot be guessed: %s',
    async (page) => {
      await using panel = await standingAlone();
      expect(cookieOf(await panel.get(page))).toBe('');
    },
  );

  it('redirects a browser that is already signed in to the first page, for example on the way back', async () => {
    await using panel = await standingAlone();
    const session = await panel.enter();
    const { status, headers } = await panel.get(panel.link, session);
    expect([status, headers.get('location')]).toEqual([303, './']);
  });
});

describe('a session', () => {
  it('ends if it is not used for twelve hours', async () => {
    await using panel = await standingAlone();
    const session = await panel.enter();
    await panel.clock.advance('11h');
    expect((await panel.get('', session)).status).toBe(200);
    await panel.clock.advance('11h');
    expect((await panel.get('', session)).status).toBe(200);
    await panel.clock.advance('12h');
    await panel.clock.advance('1s');
    expect((await panel.get('', session)).status).toBe(303);
  });

  it('ends when its viewer signs out, together with its live updates', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const [mine, other] = [await panel.enterBy(TOKEN), await panel.enterBy(TOKEN)];
    const watched = await panel.get('', { ...mine, accept: 'text/event-stream' });
    const stays = await panel.get('', { ...other, accept: 'text/event-stream' });
    const reader = stays.body!.getReader();

    const out = await panel.post('sign-out', {}, mine);
    await elapse(panel.clock, 3);

    expect([out.status, out.headers.get('location')]).toEqual([303, 'sign-in']);
    expect(out.headers.getSetCookie()).toEqual([expect.stringMatching(/=; Max-Age=0; Path=\/; HttpOnly/)]);
    expect(await watched.text()).toBe('');
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('data: ');
    expect((await panel.get('', mine)).status).toBe(303);
    expect((await panel.get('', other)).status).toBe(200);
  });

  it('is never one that somebody else chose', async () => {
    await using panel = await standingAlone();
    const chosen = `onqueue-session-${panel.port}=chosen-by-an-attacker-chosen-by-an-attacker`;
    const entered = await panel.get(panel.link, { cookie: chosen });
    expect(cookieOf(entered)).not.toBe('');
    expect(cookieOf(entered)).not.toBe(chosen);
    expect((await panel.get('', { cookie: chosen })).status).toBe(303);
    // A cookie for a longer path is sent before the right one.
    const both = `${chosen}; ${cookieOf(entered)}`;
    expect((await panel.get('', { cookie: both })).status).toBe(200);
  });

  it('cannot be ended by another site', async () => {
    await using panel = await standingAlone();
    const session = await panel.enter();
    expect((await panel.post('sign-out', {}, { ...session, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await panel.get('', session)).status).toBe(200);
  });

  it('has a secure cookie if a proxy says that the request came by TLS', async () => {
    await using panel = await standingAlone();
    const { headers } = await panel.get(panel.link, { 'x-forwarded-proto': 'https' });
    expect(headers.get('set-cookie')).toMatch(/; Secure$/);
  });
});

describe('a token', () => {
  it('signs in operators and viewers with the form, and returns them to the page they wanted', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const asked = await panel.get('failed?queue=mail&error=a%20%26%20b');
    expect(asked.status).toBe(303);
    const form = await (await panel.get(asked.headers.get('location')!)).text();
    const to = /name="to" value="([^"]*)"/.exec(form)![1]!.replaceAll('&amp;', '&');
    expect(panel.link).toBe('');

    const operator = await panel.post('sign-in', { token: ` ${TOKEN}\n`, to });
    const viewer = await panel.post('sign-in', { token: VIEWER_TOKEN });

    expect(operator.headers.get('location')).toBe('failed?queue=mail&error=a+%26+b');
    expect(await (await panel.get('', { cookie: cookieOf(operator) })).text()).toContain('action="pause-queue"');
    expect(await (await panel.get('', { cookie: cookieOf(viewer) })).text()).not.toContain('action="pause-queue"');
  });

  it.each([
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    './/evil.example',
    './?\r\nset-cookie: a=b',
    './?→',
  ])('does not redirect elsewhere: %j', async (to) => {
    await using panel = await standingAlone({ variables: BOTH });
    const form = await (await panel.get(`sign-in?${new URLSearchParams({ to }).toString()}`)).text();
    const entered = await panel.post('sign-in', { token: TOKEN, to });
    expect(form).toContain('name="to" value="./"');
    expect([entered.status, entered.headers.get('location')]).toEqual([303, './']);
  });

  it('can be sent by programs with each request, and lets them act without a browser', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const bearer = (token: string) => ({ authorization: `Bearer ${token}`, accept: 'application/json' });
    const pause = (token: string) =>
      panel.ask('pause-queue', {
        method: 'POST',
        headers: bearer(token),
        body: new URLSearchParams({ connection: 'memory', queue: 'mail' }),
      });

    expect((await panel.ask('', { headers: bearer(VIEWER_TOKEN) })).status).toBe(200);
    expect((await pause(VIEWER_TOKEN)).status).toBe(403);
    expect(await panel.manager.connection().pausedQueues()).toEqual([]);
    expect((await pause(TOKEN)).status).toBe(200);
    expect(await panel.manager.connection().pausedQueues()).toEqual(['mail']);
    const stranger = await panel.ask('', { headers: bearer('x'.repeat(40)) });
    expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="Onqueue"']);
  });

  it('of an operator only lets them look in read-only mode', async () => {
    await using panel = await standingAlone({ variables: BOTH, role: 'viewer' });
    const session = await panel.enterBy(TOKEN);
    expect((await panel.get('', session)).status).toBe(200);
    expect((await panel.post('pause-queue', { connection: 'memory', queue: 'mail' }, session)).status).toBe(403);
  });

  it('is not accepted from a page of another site', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const { status, headers } = await panel.post('sign-in', { token: TOKEN }, { 'sec-fetch-site': 'cross-site' });
    expect([status, headers.get('set-cookie')]).toEqual([403, null]);
  });

  it('appears in no log and no answer, and neither does the key of the link', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    await using other = await standingAlone();
    const answers = [
      await panel.post('sign-in', { token: `${TOKEN}x`, to: TOKEN }),
      await panel.post('sign-in', { token: 'x'.repeat(20_000) }),
      await panel.get('', { authorization: `Bearer ${TOKEN}x` }),
      await panel.get(`sign-in?key=${TOKEN}`),
      await other.get(other.link),
      await other.get(other.link),
    ];
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    const told = [...texts, JSON.stringify([panel.log.lines, other.log.lines])].join('\n');
    expect(told).not.toContain(TOKEN);
    expect(told).not.toContain(other.link.slice(-43));
    expect(answers.map(({ status }) => status)).toEqual([403, 413, 401, 403, 303, 403]);
  });
});

describe('wrong tokens', () => {
  const wrong = { token: 'x'.repeat(40) };

  it('are followed by a pause of a minute, in which even the right one is refused', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const tries = [];
    for (let count = 0; count < 5; count += 1) tries.push((await panel.post('sign-in', wrong)).status);
    const paused = await panel.post('sign-in', { token: TOKEN });

    expect(tries).toEqual([403, 403, 403, 403, 403]);
    expect(panel.log.messages('warn')).toEqual([expect.stringContaining('too many wrong tokens from 127.0.0.1')]);
    expect([paused.status, paused.headers.get('retry-after'), cookieOf(paused)]).toEqual([429, '60', '']);
    expect(await paused.text()).toContain('Try again in 60 seconds.');
    expect((await panel.get('', { authorization: `Bearer ${TOKEN}` })).status).toBe(429);
    await panel.clock.advance('60s');
    expect((await panel.post('sign-in', { token: TOKEN })).status).toBe(303);
  });

  it('are counted even if they all arrive at once', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const all = await Promise.all(Array.from({ length: 20 }, () => panel.post('sign-in', wrong)));
    expect(all.filter(({ status }) => status === 403)).toHaveLength(5);
  });

  it('do not lock out those who are signed in, or programs', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const [session, program] = [await panel.enterBy(TOKEN), { authorization: `Bearer ${TOKEN}` }];
    expect((await panel.get('', program)).status).toBe(200);
    for (let count = 0; count < 6; count += 1) await panel.get('', { authorization: 'Bearer wrong' });
    expect((await panel.get('', { authorization: 'Bearer wrong' })).status).toBe(429);
    expect((await panel.get('', session)).status).toBe(200);
    expect((await panel.get('', program)).status).toBe(200);
  });
});

describe('a visitor who has not signed in', () => {
  it.each(['', 'queue?connection=memory&name=mail', 'workers', 'nothing', '__proto__', 'constructor'])(
    'is asked to sign in when opening %j',
    async (page) => {
      await using panel = await standingAlone();
      const { status, headers, text } = await panel.get(page).then(async (answer) => ({
        status: answer.status,
        headers: answer.headers,
        text: await answer.text(),
      }));
      expect([status, text]).toEqual([303, '']);
      expect(headers.get('location')).toMatch(/^sign-in(\?to=[\w%+.-]+)?$/);
    },
  );

  it.each([
    ['as a program', { headers: { accept: 'application/json' } }],
    ['as a watcher', { headers: { accept: 'text/event-stream' } }],
    [
      'with a form',
      { method: 'POST', headers: { 'sec-fetch-site': 'same-origin', accept: 'text/html' }, body: 'queue=mail' },
    ],
    ['with another method', { method: 'DELETE', headers: { accept: 'text/html' } }],
  ])('learns nothing %s', async (_, init) => {
    await using panel = await standingAlone();
    const answer = await panel.ask('pause-queue', init);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="Onqueue"']);
    expect(await answer.text()).toContain('Sign in first, or send a Bearer token.');
  });
});

describe('a foreign host name that points to this machine', () => {
  const hosts = (port: number) => [
    [`evil.example:${port}`, 421],
    [`localhost.evil.example:${port}`, 421],
    [`127.0.0.1.evil.example:${port}`, 421],
    [`0.0.0.0:${port}`, 421],
    ['', 421],
    [`localhost:${port}`, 303],
    ['LOCALHOST:9999', 303],
    ['127.0.0.1', 303],
    [`[::1]:${port}`, 303],
  ];

  it('is refused for every request, unlike the names of the machine itself', async () => {
    await using panel = await standingAlone();
    for (const [host, status] of hosts(panel.port)) {
      const answer = await raw(panel.port, `GET / HTTP/1.1\nHost: ${host}\nAccept: text/html`);
      expect([host, answer.status]).toEqual([host, status]);
    }
    const entered = await raw(panel.port, `GET /${panel.link} HTTP/1.1\nHost: evil.example`);
    expect([entered.status, entered.headers.get('set-cookie')]).toEqual([421, undefined]);
    expect((await panel.get(panel.link)).status).toBe(303);
  });

  it('is accepted if a token is set, because it may be that of a proxy', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const answer = await raw(panel.port, 'GET / HTTP/1.1\nHost: jobs.example.com\nAccept: text/html');
    expect(answer.status).toBe(303);
  });
});

it('requests that are sent slowly or never completed are timed out', async () => {
  await using panel = await standingAlone();
  const { headersTimeout, requestTimeout } = panel.panel.server;
  expect([headersTimeout, requestTimeout]).toEqual([10_000, 30_000]);
});

describe('the sign-in page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  it('works without scripts, and says what was wrong', async () => {
    await using panel = await standingAlone({ variables: BOTH });
    const view = await browser.open(`${panel.address}workers`, { javaScriptEnabled: false });
    const { page } = view;
    await page.keyboard.type('not the token');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/workers');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await view.close();
  });

  it.each(['light', 'dark'] as const)('is accessible in %s colours', async (colorScheme) => {
    await using panel = await standingAlone({ variables: BOTH });
    await using other = await standingAlone();
    const view = await browser.open(panel.address, { colorScheme });
    expect(await view.accessibilityProblems()).toEqual([]);
    await view.page.getByLabel('Token').fill('x');
    await view.page.keyboard.press('Enter');
    await view.page.getByRole('alert').waitFor();
    expect(await view.accessibilityProblems()).toEqual([]);
    expect(await view.page.evaluate('document.activeElement.id')).toBe('token');
    await view.page.goto(`${other.address}sign-in?key=old`);
    expect(await view.accessibilityProblems()).toEqual([]);
    expect(await view.page.evaluate('document.activeElement.id')).toBe('problem');
    // The console reports a refused page.
    expect(view.problems().filter((problem) => !problem.includes('status of 403'))).toEqual([]);
    await view.close();
  });

  it('lets a browser in with the link, and removes the key from the address', async () => {
    await using panel = await standingAlone();
    const view = await browser.open(`${panel.address}${panel.link}`);
    expect(view.page.url()).toBe(panel.address);
    expect(await view.page.evaluate('history.length + document.referrer')).not.toContain('key');
    expect(view.problems()).toEqual([]);
    await view.close();
  });
});
