/** A real store that goes away and comes back, seen by two viewers in real browsers. */
import { QueueManager } from '../../../src/application/queue-manager';
import { builtInConnectors } from '../../../src/connections/built-in';
import { RecordingLogger } from '../../support/application';
import { type Browser, startBrowser, type View } from '../../support/browser';
import { freePort, type RedisServer, startRedisServer } from '../../support/redis-server';
import { type Served, served } from '../kit/served';
import { NotifyTeam } from '../kit/shop-jobs';
import { meantToPass } from '../../support/meant-to-pass';

let port: number;
let server: RedisServer;
let manager: QueueManager;
let panel: Served;
let browser: Browser;
const views: View[] = [];

beforeAll(async () => {
  port = await freePort();
  [server, browser] = await Promise.all([startRedisServer({ port }), startBrowser()]);
  manager = new QueueManager(
    { connectors: builtInConnectors, logger: new RecordingLogger() },
    { connections: { redis: { driver: 'redis', port, deadline: meantToPass('1s') } } },
  );
  await manager.connection().push(new NotifyTeam('#ops', 'hello'), 'mail');
  panel = await served(manager);
  views.push(await browser.open(panel.address), await browser.open(panel.address));
});

afterAll(async () => {
  await browser.close();
  await panel[Symbol.asyncDispose]();
  await manager.close();
  await server.stop();
});

const ROW = 'tr[data-key="mail"]';

describe('two viewers of one store', () => {
  it('see what the other one does', async () => {
    const [{ page }, { page: other }] = views as [View, View];

    await page.locator(`${ROW} button`).click();
    await other.locator(`${ROW} .badge`, { hasText: 'paused' }).waitFor();
    await other.locator(`${ROW} button`, { hasText: 'Resume' }).click();

    await page.locator(`${ROW} button`, { hasText: 'Pause' }).waitFor();
    expect(await page.locator(`${ROW} .badge`).count()).toBe(0);
  });

  it('are told that it is away, whatever they do, and see it again once it is back', async () => {
    const [{ page }, other] = views as [View, View];
    await other.close();
    await server.stop();

    await page.locator(`${ROW} button`).click();

    expect(await page.locator('.notice').textContent()).toContain(`127.0.0.1:${port}`);
    expect(await page.title()).toBe('The store cannot be reached – Onqueue');
    expect(await page.locator('#trouble').textContent()).toContain(`127.0.0.1:${port}`);
    server = await startRedisServer({ port });
    await manager.connection().push(new NotifyTeam('#ops', 'hello again'), 'mail');
    await page.locator(ROW).waitFor();
    expect(await page.title()).toBe('Overview – Onqueue');
    expect(await page.locator('.trouble:visible').count()).toBe(0);
  });
});
