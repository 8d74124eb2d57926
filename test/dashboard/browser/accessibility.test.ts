/** Accessibility of every page in a real browser: for low vision, keyboards and small windows. */
import { PAGES } from '../../../src/dashboard/pages/pages';
import { type Browser, startBrowser, type View } from '../../support/browser';
import { pushInLanes } from '../kit/laned-jobs';
import { type Served, served } from '../kit/served';
import { openWorld, type World } from '../kit/world';

let world: World;
let panel: Served;
let browser: Browser;
let view: View;

beforeAll(async () => {
  [world, browser] = await Promise.all([openWorld(), startBrowser()]);
  await pushInLanes(world.manager, 'tenants', { 'tenant-7': 3, 'the-tenant-with-the-longest-name-of-all': 1 });
  panel = await served(world.manager);
  // Reduced motion, so that colours change at once with the scheme.
  view = await browser.open('about:blank', { reducedMotion: 'reduce' });
});

afterAll(async () => {
  await browser.close();
  await panel[Symbol.asyncDispose]();
  await world.close();
});

const job = (id: keyof World['ids']) => (of: World) => `job?connection=memory&id=${of.ids[id]!}`;
const batch = (id: keyof World['batches']) => (of: World) => `batch?connection=memory&id=${of.batches[id]}`;
const queue = (name: string, state = 'ready') =>
  `queue?connection=memory&queue=${encodeURIComponent(name)}&state=${state}`;

const SHOWN: Readonly<Record<string, string | ((of: World) => string)>> = {
  'the overview': '',
  'a queue with jobs that wait': queue('mail'),
  'a queue with running jobs': queue('imports', 'running'),
  'a queue with failed jobs': queue('mail', 'failed'),
  'a queue with lanes': queue('tenants'),
  'a job that waits, with secrets': job('secret'),
  'a running job': job('running'),
  'a job with a chain': job('chained'),
  'a failed job': job('refused'),
  'a completed job': job('completed'),
  'a job whose worker has crashed': job('crashed'),
  'a job that nobody knows': 'job?id=no-such-job',
  'the job classes': 'job-classes',
  'all queues': 'all-queues',
  'a job class': 'job-class?name=SendInvoice',
  'the runs': 'runs',
  'the running jobs': 'running',
  'the scheduled jobs': 'scheduled',
  'the jobs that are tried again': 'retrying',
  'what has failed': 'failed',
  'no job that has failed': 'failed?error=nothing+says+this',
  'the workers': 'workers',
  'the schedules': 'schedules',
  'the batches': 'batches',
  'a batch with failures': batch('withFailures'),
  'a running batch': batch('running'),
  'a search': 'search?text=invoice',
  'a search for nothing': 'search',
  'a page that cannot be shown': 'failed?olderThan=soon',
};

const addresses = Object.entries(SHOWN).map(
  ([name, address]) => [name, (of: World) => (typeof address === 'string' ? address : address(of))] as const,
);

/** Problems of the current page, in both colour schemes and in a wide and a narrow window. */
async function faults(): Promise<readonly string[]> {
  const { page } = view;
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: 'light' });
  const found = [...view.problems(), ...(await outline()), ...(await view.accessibilityProblems())];
  await page.emulateMedia({ colorScheme: 'dark' });
  found.push(...(await view.accessibilityProblems({ runOnly: ['color-contrast'] })));
  // Equals a window of 1280 pixels zoomed to 400 %.
  await page.setViewportSize({ width: 320, height: 256 });
  found.push(...(await overflow()), ...(await sideways()));
  found.push(...(await view.accessibilityProblems({ runOnly: ['scrollable-region-focusable', 'target-size'] })));
  await page.evaluate(
    `document.styleSheets[0].insertRule('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }')`,
  );
  found.push(...(await overflow()));
  return [...found, ...view.problems()];
}

/** Rules of our own that axe does not check. */
const outline = (): Promise<readonly string[]> =>
  view.page.evaluate(`(() => {
    const found = [];
    const headings = [...document.querySelectorAll('h1')].map((heading) => heading.textContent);
    if (headings.length !== 1 || document.title !== headings[0] + ' – Onqueue')
      found.push('title ' + document.title + ', headings ' + JSON.stringify(headings));
    for (const table of document.querySelectorAll('table')) if (!table.caption?.textContent.trim()) found.push('no caption: ' + table.outerHTML.slice(0, 200));
    for (const cell of document.querySelectorAll('th:not([scope])')) found.push('no scope: ' + cell.outerHTML);
    // No motion if the viewer wants less of it.
    for (const one of document.querySelectorAll('body *')) {
      const { transitionDuration, animationName } = getComputedStyle(one);
      if (transitionDuration !== '0s' || animationName !== 'none') found.push('moves: ' + one.outerHTML.slice(0, 100));
    }
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push('twice: #' + id);
    return found;
  })()`);

/** A page must scroll only vertically. A table may be wider than its section, which then scrolls. */
const overflow = (): Promise<readonly string[]> =>
  view.page.evaluate(`(() => {
    const { offsetWidth } = document.body;
    if (document.documentElement.scrollWidth <= offsetWidth) return [];
    const wide = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > offsetWidth && !one.closest('.part *'));
    return ['wider than the window: ' + wide.map((one) => one.outerHTML.slice(0, 100)).join(' | ')];
  })()`);

/** On a narrow screen rows are cards, so that no button is out of sight. */
const sideways = (): Promise<readonly string[]> =>
  view.page.evaluate(`[...document.querySelectorAll('.part')]
    .filter((part) => part.querySelector(':scope > table') && part.scrollWidth > part.clientWidth)
    .map((part) => 'scrolls sideways: ' + part.id)`);

it('every page is checked here', () => {
  const shown = addresses.map(([, address]) => address(world).split('?', 1)[0]);

  expect([...new Set(shown)].toSorted()).toEqual(Object.keys(PAGES).toSorted());
});

it.each(addresses)('everybody can use the page of %s', async (_name, address) => {
  await view.page.goto(panel.address + address(world));

  // An invalid page has an error status, which the console reports.
  expect((await faults()).filter((fault) => !fault.includes('the server responded with a status of 422'))).toEqual([]);
});

it('everybody can use the question and the notice of an action', async () => {
  const { page } = view;
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(panel.address + queue('mail'));

  await page.locator('form[action="cancel-job"] button').first().click();
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Cancel this job?');
  expect(await faults()).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  expect(await page.locator('.notice').textContent()).toContain('is cancelled');
  expect(await faults()).toEqual([]);
});

it('the current entry and the lines of a chart can be recognised with forced colours', async () => {
  const { page } = view;
  await page.emulateMedia({ forcedColors: 'active' });
  await page.goto(panel.address + queue('mail'));

  const seen = await page.evaluate(`({
    current: [...document.querySelectorAll('[aria-current]')].map((one) => getComputedStyle(one).textDecorationLine),
    marks: [...document.querySelectorAll('#run-chart .legend span, #ready-chart .legend span')].map((one) => getComputedStyle(one, '::before').backgroundColor),
  })`);

  const { current, marks } = seen as Readonly<Record<'current' | 'marks', readonly string[]>>;
  expect(current).toEqual(['underline', 'underline', 'underline']);
  expect(new Set(marks).size).toBe(2);
  await page.emulateMedia({ forcedColors: 'none' });
});

it.each(['batches', 'schedules', ''])('the navigation shows its current entry on a phone: %j', async (address) => {
  const { page } = view;
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(panel.address + address);

  const [nav, current] = await Promise.all(
    ['.top nav', '.top nav [aria-current]'].map((selector) => page.locator(selector).boundingBox()),
  );
  expect(current!.x).toBeGreaterThanOrEqual(nav!.x);
  expect(current!.x + current!.width).toBeLessThanOrEqual(nav!.x + nav!.width + 1);
});

it('everybody can use a table without buttons, as viewers see it', async () => {
  await using still = await served(world.manager, { viewer: 'viewer' });

  await view.page.goto(`${still.address}schedules`);

  expect(await faults()).toEqual([]);
});

it.each(['light', 'dark'] as const)(
  'a table wider than a narrow window shows on which side it continues, in %s colours',
  async (colorScheme) => {
    const { page } = view;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 660, height: 800 });
    await page.goto(panel.address + queue('mail'));
    const part = page.locator('#jobs');
    /** A picture of the lower end of each edge, beside the text. */
    const edges = async (): Promise<readonly string[]> => {
      const { x, y, width, height } = (await part.boundingBox())!;
      const strip = async (at: number) =>
        (await page.screenshot({ clip: { x: at, y: y + height - 40, width: 4, height: 24 } })).toString('base64');
      return [await strip(x + 1), await strip(x + width - 5)];
    };

    // Out of sight, Chromium does not draw the background again when a part is scrolled.
    await part.locator('tbody tr').last().scrollIntoViewIfNeeded();
    const [plainLeft, shadowRight] = await edges();
    await part.evaluate((one) => void (one.scrollLeft = one.scrollWidth));
    const [shadowLeft, plainRight] = await edges();

    expect(shadowLeft).not.toBe(plainLeft);
    expect(shadowRight).not.toBe(plainRight);
  },
);
