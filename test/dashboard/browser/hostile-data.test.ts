/** Jobs made to harm whoever looks at them, in a real browser. */
import type { Connection } from '../../../src/connections/contract';
import { testApplication } from '../../support/application';
import { type Browser, startBrowser, type View } from '../../support/browser';
import { type Served, served } from '../kit/served';
import { reserveFrom, settleIn } from '../../support/exchange';

const SCRIPT = `</textarea></script><script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)>`;
const REVERSED = '\u202Egnp.exe\u2066\u200F';
const UNSHOWN = '\u0000\u0007\u001B[2J\r\ud800\uFFFF';
const withLong = (address: string) => `${address}${'x'.repeat(280)}`;
const nested = (depth: number) => '{"a":['.repeat(depth) + ']}'.repeat(depth);
const member = (key: string, value: unknown) => JSON.stringify({ [key]: value });

/** The data of the jobs, by id. */
const DATA: Readonly<Record<string, string>> = {
  markup: member(SCRIPT, SCRIPT),
  reversed: member(REVERSED, REVERSED),
  unshown: member(UNSHOWN, UNSHOWN),
  'two-megabytes': member('text', 'lorem ipsum '.repeat(180_000)),
  'one-word': member('word', 'x'.repeat(100_000)),
  'one-key': member('k'.repeat(100_000), 1),
  'many-keys': JSON.stringify(
    Object.fromEntries(Array.from({ length: 10_000 }, (_, place) => [`key ${place}`, place])),
  ),
  'many-texts': JSON.stringify(Array.from({ length: 2000 }, () => 'word '.repeat(200))),
  deep: nested(400),
  'very-deep': nested(100_000),
  prototype: '{"__proto__":{"constructor":1,"toString":2},"hasOwnProperty":3}',
};

/** Names of jobs, which appear in headings and titles. */
const NAMES: Readonly<Record<string, string>> = {
  'named-markup': SCRIPT,
  'named-reversed': REVERSED,
  'named-long': 'N'.repeat(255),
  'named-too-long': 'N'.repeat(100_000),
};

const LONG_ID = `long-${'i'.repeat(2000)}`;

/** Texts that no worker can read. */
const RAW: Readonly<Record<string, string>> = {
  [SCRIPT]: `{"id":${JSON.stringify(SCRIPT)},"job":"x","data":null`,
  [LONG_ID]: `{"id":"${LONG_ID}","attempts":0}`,
};

function payloads(): readonly string[] {
  const job = (id: string, name: string, data: string): string =>
    `{"displayName":${JSON.stringify(name)},"job":"onqueue","data":{"commandName":${JSON.stringify(name)},"command":${data}},"id":"${id}","attempts":0}`;
  return [
    ...Object.entries(DATA).map(([id, data]) => job(id, 'Hostile', data)),
    ...Object.entries(NAMES).map(([id, name]) => job(id, name, '{}')),
    ...Object.values(RAW),
  ];
}

/** Pushes all of them to one queue, and lets all fail in another. */
async function addAll(driver: Connection): Promise<void> {
  const entries = payloads().map((payload) => ({ payload }));
  await driver.push('waiting', entries);
  await driver.push('broken', entries);
  for (let place = 0; ;) {
    const { reservations } = await reserveFrom(driver, { queues: ['broken'], limit: 100, lease: 60 });
    if (reservations.length === 0) return;
    await settleIn(
      driver,
      reservations.map((reservation) => ({
        outcome: 'failed',
        reservation,
        counters: reservation.counters,
        failure: failureAt(place++),
      })),
    );
  }
}

const ERRORS = [
  SCRIPT,
  REVERSED,
  UNSHOWN, // As long as an error that a worker keeps may be.
  'e'.repeat(16_000),
];

function failureAt(place: number): { readonly id: string; readonly name: string; readonly exception: string } {
  return {
    id: `failed-${place}`,
    name: [SCRIPT, REVERSED, 'N'.repeat(255)][place] ?? 'Hostile',
    exception: `${ERRORS[place % ERRORS.length]!} ${place}\n    at handle (/srv/job.ts:1:1)`,
  };
}

let panel: Served;
let browser: Browser;
let view: View;
const dialogs: string[] = [];

beforeAll(async () => {
  const { manager } = testApplication({ connections: { memory: { driver: 'memory', maxPayload: '4mb' } } });
  await addAll(manager.driver());
  panel = await served(manager);
  browser = await startBrowser();
  view = await browser.open('about:blank', { viewport: { width: 320, height: 600 } });
  view.page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
});

afterAll(async () => {
  await browser.close();
  await panel[Symbol.asyncDispose]();
});

const job = (queue: string, id: string) => `job?queue=${queue}&id=${encodeURIComponent(id)}`;
const ids = [...Object.keys(DATA), ...Object.keys(NAMES), ...Object.keys(RAW)];

const ADDRESSES = [
  '',
  'queue?queue=waiting',
  'queue?queue=broken&state=failed',
  `queue?queue=${encodeURIComponent(SCRIPT)}`,
  'failed',
  `failed?error=${encodeURIComponent(SCRIPT)}`,
  'search?text=lorem',
  `search?text=${encodeURIComponent(SCRIPT)}`,
  ...['queue?queue=', 'failed?error=', 'failed?batch=', 'failed?olderThan=', 'search?text=', 'search?queue='].map(
    withLong,
  ),
  ...['batch?id=', 'job?id=', 'job?connection=', 'queue?queue=mail&after=', 'batches?connection='].map(withLong),
  ...ids.map((id) => job('waiting', id)),
  ...Array.from({ length: 4 }, (_, place) => job('broken', `failed-${place}`)),
];

/** The maximum number of bytes of a page, whatever its jobs contain. */
const LARGEST = 256 * 1024;

/** Finds elements that no page creates, and measures how much wider than the window the page is. */
const LOOK = `({
  strange: [...document.querySelectorAll('script:not(head > *), img:not(.brand > *), iframe, style, svg[onload], [onerror], textarea')].map((one) => one.outerHTML),
  tooWide: document.documentElement.scrollWidth - document.body.offsetWidth,
})`;

describe('hostile data', () => {
  it.each(ADDRESSES.map((address) => [address.length > 60 ? `${address.slice(0, 60)}…` : address, address]))(
    'are only text on %s',
    async (_name, address) => {
      const response = await view.page.goto(panel.address + address);

      expect((await response!.body()).length).toBeLessThan(LARGEST);
      expect([200, 404, 422]).toContain(response!.status());
      expect(await view.page.evaluate(LOOK)).toEqual({ strange: [], tooWide: 0 });
      await view.page.locator('details').evaluateAll('(all) => { for (const one of all) one.open = true; }');
      expect(await view.page.evaluate(LOOK)).toEqual({ strange: [], tooWide: 0 });
      expect(view.problems().filter((problem) => !/status of 4(04|22)/.test(problem))).toEqual([]);
      expect(dialogs).toEqual([]);
    },
  );

  it('can be retried by error, with no other jobs', async () => {
    const { page } = view;
    await page.goto(`${panel.address}failed?name=Hostile`);
    const rows = page.locator('#failed-groups tbody tr');
    const before = await rows.count();
    expect(before).toBeGreaterThan(1);

    for (let left = before; left > 0; left -= 1) {
      await page.goto(`${panel.address}failed?name=Hostile`);
      const row = rows.first();
      const count = await row.locator('strong').last().textContent();
      const button = row.locator('form[action="retry-failed"] button');
      if (!(await button.isVisible())) await row.locator('.menu summary').click();
      await button.click();
      await page.locator('.danger').click();
      expect(await page.locator('.notice').textContent()).toMatch(new RegExp(`^\\s*${count!} failed`));
    }

    expect(await rows.count()).toBe(0);
  });

  it('fit into a narrow window in notices', async () => {
    const { page } = view;
    await page.goto(panel.address + job('waiting', LONG_ID));

    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.evaluate(LOOK)).toEqual({ strange: [], tooWide: 0 });
    await page.locator('.danger').click();

    expect(await page.locator('.notice').textContent()).toContain(LONG_ID.slice(0, 100));
    expect(await page.evaluate(LOOK)).toEqual({ strange: [], tooWide: 0 });
  });

  it('do not change the text direction of notices', async () => {
    const { page } = view;
    await page.goto(`${panel.address}queue?queue=${encodeURIComponent(REVERSED)}`);

    await page.getByRole('button', { name: 'Pause', exact: true }).click();

    expect(await page.locator('.notice').textContent()).toContain('gnp.exe\u200F is paused');
  });
});
