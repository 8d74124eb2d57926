/**
 * Takes the pictures of the dashboard for README: of the shop in the dashboard's tests, on a day when one thing goes wrong.
 *
 * Run `node scripts/picture-dashboard.mjs` when the first page looks different. The pages use the system's font;
 * `FONTCONFIG_FILE` gives Chromium another one.
 */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
require('../test/support/register-typescript.cjs');
const { startBrowser } = require('../test/support/browser.ts');
const { reserveFrom } = require('../test/support/exchange.ts');
const { served } = require('../test/dashboard/kit/served.ts');
const { putPastFigures } = require('../test/dashboard/kit/past-figures.ts');
const { Shop } = require('../test/dashboard/kit/shop.ts');
const { customer, failures, order, TRAFFIC } = require('../test/dashboard/kit/shop-data.ts');
const jobs = require('../test/dashboard/kit/shop-jobs.ts');
const { putWorker } = require('../src/operations/worker-record.ts');
const { uuidAt } = require('../src/payload/uuid.ts');
const { VERSION } = require('../src/version.ts');

const DUE = new Date(Date.UTC(2027, 3, 1));
const HOUR = 3_600_000;
/** In minutes. */
const WEEK = 7 * 24 * 60;
/** Bytes of one picture. Every clone of the repository contains all earlier ones. */
const LARGEST = 150_000;
/** How many jobs each queue has, how many of them run, and for how many minutes the oldest has waited. */
const BUSY = {
  imports: { count: 3, running: 2, oldest: 0.7 },
  mail: { count: 31, running: 6, oldest: 0.21 },
  media: { count: 12, running: 4, oldest: 0.15 },
  sync: { count: 18, running: 5, oldest: 0.09 },
  payments: { count: 4, running: 2, oldest: 0.06 },
  default: { count: 2, running: 0, oldest: 0.03 },
};

const shop = new Shop({ driver: 'memory', retryAfter: 3600 }, 120, 'shop');
await open();
const panel = await served(shop.manager);
const browser = await startBrowser();
try {
  await take('light', 'docs/dashboard.png');
  await take('dark', 'docs/dashboard-dark.png');
} finally {
  await browser.close();
  await panel[Symbol.asyncDispose]();
  await shop.manager.close();
}

async function open() {
  await shop.until(40);
  // These should already have failed, and not fail while the picture is taken.
  for (const job of failures().slice(0, 48)) await shop.send(job);
  await shop.work();
  await fillQueues();
  const traffic = TRAFFIC.map((one) => ({ ...one, failing: one.queue === 'payments' ? 12 : 0 }));
  await putPastFigures(shop.driver.records, shop.connection, traffic, shop.present, WEEK);
  await shop.untilNow();
  await putWorkers();
}

async function fillQueues() {
  const make = {
    mail: (place) => new jobs.SendInvoice(8100 + place, customer(place), DUE),
    media: (place) => new jobs.ResizeImage(`lamps/${place}.jpg`, [320, 640]),
    sync: (place) => new jobs.SyncCustomer(`c-${place}`, new Map([['city', 'Utrecht']]), DUE),
    payments: (place) => new jobs.ChargeCard(order(place), { holder: customer(place).name, last4: '4242', token: '' }),
    imports: (place) => new jobs.ImportCatalogue(`lamps-${place}.csv`, { currency: 'EUR', prune: false, rows: 310 }),
    default: () => new jobs.NotifyTeam('#sales', 'The week in figures'),
  };
  for (const [queue, { count, running, oldest }] of Object.entries(BUSY)) {
    await shop.until(oldest);
    for (let place = 0; place < count; place += 1) await shop.send(make[queue](place));
    if (running > 0) await reserveFrom(shop.driver, { queues: [queue], limit: running, lease: 3600 });
  }
  for (const minutes of [45, 90, 600]) await shop.bus.dispatch(make.mail(minutes)).delay(`${minutes}m`);
}

async function putWorkers() {
  const { connection, driver, now } = shop;
  const queues = TRAFFIC.map(({ queue }) => queue);
  for (const place of [1, 2, 3]) {
    const since = now - place * 7 * HOUR;
    await putWorker(driver.records, {
      id: uuidAt(`worker ${place}`, since),
      host: `worker-${place}`,
      pid: 4700 + place,
      version: VERSION,
      connection,
      queues,
      concurrency: 10,
      state: 'running',
      at: now,
      since,
      lag: 2,
      paused: [],
      outcomes: { completed: 48_213, released: 310, failed: 96, cancelled: 4, lost: 0 },
      busy: 0,
      running: [],
    });
  }
}

async function take(colorScheme, file) {
  const view = await browser.open(`${panel.address}?within=7d`, { colorScheme, locale: 'en-GB' });
  await view.page.screenshot({ path: join(root, file) });
  const { size } = statSync(join(root, file));
  console.log(`${file}: ${size} bytes`);
  if (size > LARGEST) process.exitCode = 1;
  await view.close();
}
