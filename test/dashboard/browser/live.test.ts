/** Pages with live updates, in a real browser. */
import { Job } from '../../../src/job/job';
import { QueueManager } from '../../../src/application/queue-manager';
import { builtInConnectors } from '../../../src/connections/built-in';
import { QueueUnavailableError } from '../../../src/connections/errors';
import { RecordingLogger, testApplication } from '../../support/application';
import type { Page } from 'playwright-core';
import { type Browser, startBrowser } from '../../support/browser';
import { eventually } from '../../support/eventually';
import { freePort, startRedisServer } from '../../support/redis-server';
import { meantToPass } from '../../support/meant-to-pass';
import { served } from '../kit/served';

@Job()
class Render extends Job {
  handle(): void {}
}

@Job()
class Bills extends Job {
  constructor(readonly due: Date) {
    super();
  }
  handle(): void {}
}

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const ROW = 'tr[data-key="default"]';

async function given() {
  const app = testApplication();
  const main = app.manager.connection();
  const panel = await served(app.manager);
  /** Lets the dashboard check the store once more. */
  const look = () => app.clock.advance('2s');
  return { ...app, main, panel, look };
}

/** Waits until the row of a queue is visible, letting the dashboard check the store meanwhile. */
async function seen(page: Page, queue: string, look: () => Promise<void>): Promise<void> {
  await eventually(async () => {
    await look();
    return page.locator(`tr[data-key="${queue}"]`).isVisible();
  });
}

describe('a page of the dashboard', () => {
  it('shows changes to all its viewers, and keeps the focus of each of them', async () => {
    const { main, panel, look } = await given();
    await using _ = panel;
    const views = [await browser.open(panel.address), await browser.open(panel.address)];
    const [{ page } = views[0]!] = views;
    await page.locator(`${ROW} button`).focus();
    await page.evaluate(`document.querySelector('${ROW}').dataset.kept = 'yes'`);

    // Add a queue whose row comes before the focused one.
    await main.bulk([new Render(), new Render()], 'aaa');
    for (const view of views) await seen(view.page, 'aaa', look);

    expect(
      await page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key'))),
    ).toEqual(['aaa', 'default']);
    expect(await page.evaluate(`document.activeElement.closest('tr')?.dataset.key`)).toBe('default');
    for (const view of views) {
      expect(view.problems()).toEqual([]);
      await view.close();
    }
  });

  it('keeps the focus near a removed element, but never on a button', async () => {
    const { main, panel, look } = await given();
    await using _ = panel;
    const ids = await main.bulk(
      Array.from({ length: 5 }, () => new Render()),
      'films',
    );
    const { page, close } = await browser.open(`${panel.address}queue?queue=films`);
    await page.locator(`tr[data-key*="${ids[3]!}"] button`).focus();

    for (const id of ids.slice(2, 4)) await main.cancel(id, { queue: 'films' });
    await eventually(async () => {
      await look();
      return (await page.locator('#jobs tbody tr').count()) === 3;
    });

    expect(await page.evaluate(`document.activeElement.matches('tr[data-key*="${ids[4]!}"] a')`)).toBe(true);
    for (const id of ids) await main.cancel(id, { queue: 'films' });
    await eventually(async () => {
      await look();
      return (await page.locator('#jobs tbody tr').count()) === 0;
    });
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await close();
  });

  it('shows no changes while its viewer has paused updates, and all of them afterwards', async () => {
    const { main, panel, look } = await given();
    await using _ = panel;
    const { page, close } = await browser.open(panel.address);
    const button = page.getByRole('button', { name: 'Pause updates' });
    await button.press('Enter');
    expect(await button.getAttribute('aria-pressed')).toBe('true');
    await panel.watchers(0);

    await main.push(new Render(), 'aaa');
    await look();
    expect(await page.locator('tr[data-key="aaa"]').count()).toBe(0);

    await button.press('Enter');
    await seen(page, 'aaa', look);
    await close();
  });

  it('says how long ago it was updated, and counts on by itself', async () => {
    const { main, panel } = await given();
    await using _ = panel;
    await main.later('1h', new Render(), 'films');
    const { page, close, problems } = await browser.open(`${panel.address}queue?queue=films&state=delayed`);

    // No update comes, because the clock of the server stands still.
    await page.locator('#jobs time', { hasText: /^in 59 min 5\d s$/ }).waitFor();
    await page.locator('#updated', { hasText: /^Updated [1-9] s ago$/ }).waitFor();
    expect(await page.locator('#updated').getAttribute('class')).toBe('soft');
    expect(problems()).toEqual([]);
    await close();
  });

  it('leaves a date in the data of a job as it is', async () => {
    const { main, panel } = await given();
    await using _ = panel;
    const id = await main.later('1h', new Bills(new Date(Date.UTC(2027, 3, 1))), 'films');
    const { page, close } = await browser.open(`${panel.address}job?queue=films&id=${id}`);

    await page.locator('#updated', { hasText: /^Updated [1-9] s ago$/ }).waitFor();
    expect(await page.locator('.tree time').textContent()).toBe('2027-04-01 00:00:00 UTC');
    await close();
  });

  it('is not sent again because time has passed', async () => {
    const { main, panel, clock } = await given();
    await using _ = panel;
    await main.later('1h', new Render(), 'films');
    const { body } = await fetch(`${panel.address}queue?queue=films&state=delayed`, {
      headers: { accept: 'text/event-stream' },
    });
    const events = body!.pipeThrough(new TextDecoderStream()).getReader();

    await clock.advance('2s');
    expect((await events.read()).value).toContain('Render');
    await clock.advance('5s');
    expect((await events.read()).value).toBe('data: {}\n\n');
    await events.cancel();
  });

  it('requests no updates while it is hidden', async () => {
    const { panel } = await given();
    await using _ = panel;
    const { page, close } = await browser.open(panel.address);
    await panel.watchers(1);

    await page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: true, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
    await panel.watchers(0);
    expect(await page.locator(ROW).isVisible()).toBe(true);

    await page.evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`);
    await panel.watchers(1);
    await close();
  });

  it('does not use the store while nobody watches', async () => {
    const { manager, panel, look } = await given();
    await using _ = panel;
    const { page, close } = await browser.open(panel.address);
    await page.locator(ROW).waitFor();
    await close();
    await panel.watchers(0);
    const counts = jest.spyOn(manager.driver().queues, 'counts');

    await look();
    await look();

    expect(counts).not.toHaveBeenCalled();
  });

  it('says that the store is away, keeps the last state, and continues once the store is back', async () => {
    const port = await freePort();
    const server = await startRedisServer({ port });
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: new RecordingLogger() },
      { connections: { redis: { driver: 'redis', port, deadline: meantToPass('1s') } } },
    );
    await using panel = await served(manager);
    const { page, close } = await browser.open(panel.address);
    await panel.watchers(1);

    await server.stop();
    await page.locator('#state', { hasText: `127.0.0.1:${port}` }).waitFor();
    expect(await page.locator(ROW).isVisible()).toBe(true);

    const next = await startRedisServer({ port });
    await manager.connection().push(new Render(), 'aaa');
    await page.locator('tr[data-key="aaa"]').waitFor();
    expect(await page.locator('#state').textContent()).toBe('');
    await close();
    await manager.close();
    await next.stop();
  });

  it('says only once that the store has been away from the start, and shows it when it appears', async () => {
    const { manager, panel, look } = await given();
    await using _ = panel;
    const away = {
      connection: 'memory',
      store: 'Redis',
      address: '127.0.0.1:6379',
      consequence: 'nothing was counted',
    };
    const counts = jest.spyOn(manager.driver().queues, 'counts').mockRejectedValue(new QueueUnavailableError(away));
    const { page, close } = await browser.open(panel.address);
    await page.evaluate(`
      globalThis.told = [];
      new MutationObserver(() => told.push(state.textContent)).observe(state, { childList: true })`);
    expect(await page.locator('#trouble').textContent()).toContain('127.0.0.1:6379');
    await panel.watchers(1);
    const before = counts.mock.calls.length;
    await look();
    await eventually(() => counts.mock.calls.length > before);

    counts.mockRestore();
    await seen(page, 'default', look);

    expect(await page.evaluate('told')).toEqual([]);
    expect([await page.title(), await page.locator('#trouble').count()]).toEqual(['Overview – Onqueue', 0]);
    await close();
  });

  it('says that the dashboard itself is away, and continues with the next one at the same address', async () => {
    const { main, panel, look, manager } = await given();
    const { page, close } = await browser.open(panel.address);
    await panel[Symbol.asyncDispose]();
    await page.locator('#state', { hasText: 'Updates have stopped' }).waitFor();
    expect(await page.locator(ROW).isVisible()).toBe(true);

    await using _ = await served(manager, { port: panel.port });
    await main.push(new Render(), 'aaa');
    await seen(page, 'aaa', look);

    expect(await page.locator('#state').textContent()).toBe('');
    await close();
  });
});
