/** The dashboard in a browser without scripts: everything works except live updates. */
import type { Page } from 'playwright-core';
import { ACTIONS } from '../../../src/dashboard/actions/actions';
import { type Browser, startBrowser } from '../../support/browser';
import { type Served, served } from '../kit/served';
import { pushInLanes } from '../kit/laned-jobs';
import { SweepCarts } from '../kit/shop-jobs';
import { openWorld, QUEUES, type World } from '../kit/world';

let world: World;
let panel: Served;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [world, browser] = await Promise.all([openWorld(), startBrowser()]);
  await pushInLanes(world.manager, 'tenants', { 'tenant-7': 3, 'tenant-8': 1 });
  await world.manager.connection().lane('tenants', 'tenant-8').pause();
  await world.manager.schedules.put('sweep:7', { cron: '0 8 * * *' }, new SweepCarts());
  panel = await served(world.manager);
  ({ page } = await browser.open(panel.address, { javaScriptEnabled: false }));
});

afterAll(async () => {
  await browser.close();
  await panel[Symbol.asyncDispose]();
  await world.close();
});

interface Deed {
  readonly at: string | ((of: World) => string);
  /** Whether it asks for a confirmation. */
  readonly asks?: boolean;
  /** What the question wants to know. */
  readonly answer?: string;
  readonly told: string;
  /** The notice after it was undone. */
  readonly undone?: string;
}

const queue = (name: string) => `queue?queue=${encodeURIComponent(name)}`;
const job = (id: keyof World['ids']) => (of: World) => `job?id=${of.ids[id]!}`;
const batch = (id: keyof World['batches']) => (of: World) => `batch?id=${of.batches[id]}`;

const DEEDS: Readonly<Record<string, Deed>> = {
  'pause-queue': { at: '', told: 'is paused', undone: 'is resumed' },
  'resume-queue': { at: queue(QUEUES.paused), told: 'payments is resumed', undone: 'payments is paused' },
  'pause-lane': { at: queue('tenants'), told: 'tenant-7 is paused', undone: 'tenant-7 is resumed' },
  'resume-lane': { at: queue('tenants'), told: 'tenant-8 is resumed', undone: 'tenant-8 is paused' },
  'limit-lane': { at: queue('tenants'), told: 'tenant-7 lets in 1 at a time', undone: 'lets in as many' },
  'limit-queue': { at: queue('tenants'), asks: true, answer: '4', told: 'At most 4' },
  'promote-job': { at: `${queue('mail')}&state=delayed`, told: 'is ready' },
  'reschedule-job': {
    at: `${queue('mail')}&state=delayed`,
    asks: true,
    answer: '2h',
    told: 'waits until the new moment',
  },
  'promote-jobs': { at: `${queue('mail')}&state=delayed`, told: '1 job is ready' },
  'cancel-jobs': { at: queue('mail'), asks: true, told: '1 job is cancelled' },
  'cancel-job': { at: queue('mail'), asks: true, told: 'is cancelled' },
  'retry-job': { at: job('refused'), told: 'goes back to its queue' },
  'restart-job': { at: job('markup'), asks: true, told: 'goes back to its queue' },
  'forget-job': { at: job('withCause'), asks: true, told: 'is forgotten' },
  'cancel-batch': { at: batch('running'), asks: true, told: 'is cancelled' },
  'retry-batch': { at: batch('withFailures'), told: 'went back' },
  'retry-failed': { at: 'failed?queue=media', asks: true, told: 'go back to their queues' },
  'forget-failed': { at: 'failed?queue=sync', asks: true, told: 'are forgotten' },
  'run-schedule': { at: 'schedules', asks: true, told: 'was sent' },
  'remove-schedule': { at: 'schedules', asks: true, told: 'sweep:7 is removed' },
  'pause-schedule': { at: 'schedules', told: 'is paused', undone: 'is resumed' },
  'resume-schedule': { at: 'schedules', told: 'weekly-report is resumed', undone: 'weekly-report is paused' },
};

describe('the dashboard without scripts', () => {
  it('is tried with each action', () => {
    expect(Object.keys(DEEDS).toSorted()).toEqual(Object.keys(ACTIONS).toSorted());
  });

  // In this order: some take away what others are done to.
  it.each(Object.keys(DEEDS))('carries out %s, and can undo it if that is possible', async (action) => {
    const { at, asks = false, answer, told, undone } = DEEDS[action]!;
    const address = panel.address + (typeof at === 'string' ? at : at(world));
    await page.goto(address);

    if (action.endsWith('-jobs')) await page.locator('tbody input[type=checkbox]').first().check();
    const button = page.locator(`form[action="${action}"] button`).first();
    if (!(await button.isVisible())) await page.locator('.menu summary').first().click();
    await button.click();
    expect(await page.locator('h1', { hasText: '?' }).count()).toBe(asks ? 1 : 0);
    if (answer !== undefined) await page.locator('main input:not([type=hidden])').fill(answer);
    if (asks) await page.locator('.danger').click();

    const notice = page.locator('.notice');
    expect(await notice.textContent()).toContain(told);
    // Followed by the row that was acted on.
    expect(page.url().replace(/#row-[\w-]{8}$/, '')).toBe(address);
    expect(await notice.locator('button').count()).toBe(undone === undefined ? 0 : 1);
    if (undone === undefined) return;
    await notice.locator('button').click();
    expect(await notice.textContent()).toContain(undone);
  });

  it('acts on exactly the selected jobs', async () => {
    await page.goto(`${panel.address}failed?name=ChargeCard`);
    const boxes = page.locator('tbody input[type=checkbox]');
    const before = await boxes.count();
    await boxes.nth(0).check();
    await boxes.nth(2).check();
    const names = await boxes.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));

    await page.getByRole('button', { name: 'Retry ticked' }).click();

    expect(await page.locator('.notice').textContent()).toContain('2 failed jobs go back');
    expect(await boxes.count()).toBe(before - 2);
    expect(await boxes.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))).toEqual(
      names.filter((_, place) => place !== 0 && place !== 2),
    );
  });

  it('filters by the chosen fields, and keeps them', async () => {
    await page.goto(`${panel.address}failed`);
    await page.getByLabel('Job', { exact: true }).fill('ChargeCard');
    await page.getByLabel('Failed').selectOption('1h');

    await page.getByRole('button', { name: 'Filter' }).click();

    expect(await page.locator('#failed-groups tbody tr').count()).toBe(1);
    expect(await page.getByLabel('Failed').inputValue()).toBe('1h');
  });

  it('shows no controls that need a script', async () => {
    const { ids } = world;
    for (const address of ['', 'failed', queue('mail'), `job?id=${ids.secret}`, 'workers', 'schedules', 'search']) {
      await page.goto(panel.address + address);
      const idle = page.locator(':is(button[type=button], input[type=checkbox]:not([name])):visible');
      expect(await idle.evaluateAll((all) => all.map((one) => one.outerHTML))).toEqual([]);
    }
  });
});
