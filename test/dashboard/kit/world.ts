/**
 * A shop whose jobs a dashboard shows: with queues, failures, histories, workers, schedules, batches, chains and figures of
 * two hours, the same each time.
 *
 * On a memory connection everything happened at its time, on a clock that has stood still since. Stores with their own
 * clock have seen everything except the figures within a second, and have no timeouts or crashes.
 */
import type { QueueManager } from '../../../src/application/queue-manager';
import type { ConnectionConfig } from '../../../src/connections/driver';
import type { RecordStore } from '../../../src/connections/record-store';
import type { Duration } from '../../../src/job/duration';
import { Worker } from '../../../src/worker/worker';
import type { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { putOrphan, putSilentWorker, putSteps } from './left-records';
import { putPastFigures } from './past-figures';
import { Shop } from './shop';
import { customer, failures, order, TRAFFIC } from './shop-data';
import {
  ChargeCard,
  CreateAccount,
  ImportCatalogue,
  NightlyReport,
  NotifyTeam,
  ResizeImage,
  SendInvoice,
  SweepCarts,
  SyncCustomer,
} from './shop-jobs';
import { reserveFrom } from '../../support/exchange';

export interface World extends AsyncDisposable {
  readonly manager: QueueManager;
  /** The name of its only connection. */
  readonly connection: string;
  readonly log: RecordingLogger;
  /** The ids of notable jobs. */
  readonly ids: WorldIds;
  /** The ids of its batches. */
  readonly batches: WorldBatches;
  /** Lets time pass. @throws if its store has its own clock */
  advance(duration: Duration): Promise<void>;
  close(): Promise<void>;
}

export interface WorldIds {
  /** Ready in `mail`. */
  readonly ready: string;
  /** Delayed in `mail` for another 45 minutes. */
  readonly delayed: string;
  /** Running in `imports`, 35 % done. */
  readonly running: string;
  /** Reserved in `sync` by a silent worker. */
  readonly abandoned: string;
  /** Ready in `accounts`, with a password and a key in its data. */
  readonly secret: string;
  /** Ready in `imports`, followed by two jobs. */
  readonly chained: string;
  /** Failed in the third of three attempts. */
  readonly refused: string;
  /** Failed with an error that has a cause. */
  readonly withCause: string;
  /** Failed, with markup in its data, error and queue, and with two steps that it has done. */
  readonly markup: string;
  /** Completed, with a kept result. */
  readonly completed: string;
  /** Failed with a timeout. Only on memory. */
  readonly timedOut?: string;
  /** Its first worker died, and under the second it failed. Only on memory. */
  readonly crashed?: string;
}

export interface WorldBatches {
  readonly finished: string;
  /** Three of ten jobs failed, which it allows. */
  readonly withFailures: string;
  /** 8 of 20 jobs have ended. */
  readonly running: string;
  /** Cancelled by hand after 3 of 8 jobs. */
  readonly cancelled: string;
}

/** Queues with special features. The others are named after their jobs. */
export const QUEUES = {
  paused: 'payments',
  empty: 'archive',
  strange: `<img/src=x/onerror=alert(1)>&amp;"'\u202Egnp.\u05E9\u05DC\u05D5\u05DD`,
} as const;

/** The names of schedules. */
export const SCHEDULES = { everyMinute: 'sweep-carts', paused: 'weekly-report', orphan: 'archive-orders' } as const;

const BEGINNING = 120;
/** When workers ran jobs, in minutes before the present. */
const ROUNDS = [108, 92, 75, 58, 47, 31, 17, 7];
const MONTH = new Date(Date.UTC(2027, 3, 1));
const DAY = 86_400_000;

/** @param store default: memory */
export async function openWorld(store: ConnectionConfig = { driver: 'memory', retryAfter: 90 }): Promise<World> {
  const shop = new Shop(store, BEGINNING);
  const { manager, connection, present } = shop;
  const { records } = shop.driver as { readonly records: RecordStore };
  declareSchedules(shop);
  await shop.until(BEGINNING - 5);
  await manager.schedules.pause(SCHEDULES.paused);
  await putOrphan(records, shop.now, SCHEDULES.orphan);
  const past = await passTime(shop);
  await putSteps(records, shop.now, connection, past.ids.markup);
  const imports = await startImports(shop);
  const { running, ...waiting } = await fillQueues(shop);
  await shop.untilNow();
  await putPastFigures(records, connection, TRAFFIC, present);
  const queues = ['mail', 'sync', QUEUES.strange];
  await putSilentWorker(records, shop.now, { connection, queues, job: waiting.abandoned });
  if (shop.clock === undefined) await toldOf(shop, imports.ids.running);
  const close = async (): Promise<void> => {
    shop.pace.end();
    await imports.worker.stop();
    await manager.close();
  };
  return {
    manager,
    connection,
    log: shop.log,
    ids: { ...past.ids, ...imports.ids, ...waiting },
    batches: { ...past.batches, running },
    advance: async (duration) => {
      if (shop.clock === undefined) throw new Error('Nobody moves the clock of this store.');
      await shop.clock.advance(duration);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function declareSchedules({ manager, present }: Shop): void {
  manager
    .schedule(() => new SweepCarts())
    .everyMinute()
    .name(SCHEDULES.everyMinute);
  // Some hours from now, so that it is not due while the world is made.
  const hour = `${(new Date(present).getUTCHours() + 9) % 24}:00`;
  manager
    .schedule(() => new NightlyReport(new Date(present)))
    .daily()
    .at(hour);
  manager
    .schedule(() => new NotifyTeam('#sales', 'The week in figures'))
    .weekly('mon')
    .at('06:30')
    .timezone('Europe/Amsterdam')
    .name(SCHEDULES.paused);
}

type PastIds = Pick<WorldIds, 'refused' | 'withCause' | 'markup' | 'completed' | 'timedOut' | 'crashed'>;

/** Everything that has ended by now. */
async function passTime(
  shop: Shop,
): Promise<{ readonly ids: PastIds; readonly batches: Omit<WorldBatches, 'running'> }> {
  const telling: { -readonly [Name in keyof PastIds]?: string } = {};
  const batches: { -readonly [Name in keyof WorldBatches]?: string } = {};
  const events: Readonly<Record<number, () => Promise<void>>> = {
    108: async () => void (await shop.send(new SweepCarts(), QUEUES.empty)),
    75: async () => void (batches.finished = await sendInvoices(shop)),
    58: async () => void (batches.withFailures = await resizeLogos(shop)),
    47: async () => void (batches.cancelled = await cancelSync(shop)),
    31: async () => {
      const notice = new NotifyTeam('#<i>ops</i>', '<img src=x onerror=alert(1)> \u202Etxet');
      telling.markup = await shop.send(notice, QUEUES.strange);
      await shop.manager.connection().pushRaw('not a job at all: <xml/>', 'imports');
    },
    17: async () => {
      if (shop.clock !== undefined) {
        telling.crashed = await crash(shop);
        telling.timedOut = await shop.send(new NightlyReport(new Date(0)));
      }
      telling.completed = await shop.send(new NightlyReport(new Date(shop.present - DAY)));
    },
  };
  const failing = failures();
  for (const [round, minutes] of ROUNDS.entries()) {
    await shop.until(minutes);
    await events[minutes]?.();
    for (const [place, job] of failing.entries()) if (place % ROUNDS.length === round) await shop.send(job);
    await shop.work();
  }
  const failed = await shop.manager.failed.list();
  const idOf = (text: string): string => failed.find(({ exception }) => exception.includes(text))!.id;
  const ids = { ...telling, refused: idOf('MailRefused'), withCause: idOf('ECONNREFUSED') };
  return { ids: ids as PastIds, batches: batches as WorldBatches };
}

async function sendInvoices({ bus }: Shop): Promise<string> {
  const invoices = Array.from({ length: 12 }, (_, place) => new SendInvoice(7300 + place, customer(place), MONTH));
  return (await bus.batch(invoices).name('Invoices of March').dispatch()).id;
}

async function resizeLogos({ bus }: Shop): Promise<string> {
  const logos = Array.from({ length: 10 }, (_, place) => new ResizeImage(`logos/${place}.png`, [place % 4, 320]));
  return (await bus.batch(logos).name('Logos of suppliers').allowFailures().dispatch()).id;
}

async function cancelSync(shop: Shop): Promise<string> {
  const news = new Map([['newsletter', 'no']]);
  const jobs = Array.from({ length: 8 }, (_, place) => new SyncCustomer(`c-${500 + place}`, news, MONTH));
  const { id } = await shop.bus.batch(jobs).name('Customers <b>without</b> a newsletter').dispatch();
  await shop.workSome('sync', 3);
  await shop.manager.batches.cancel(id);
  return id;
}

/** A worker takes a job and is never heard of again. */
async function crash(shop: Shop): Promise<string> {
  const options = { currency: 'EUR', prune: true, rows: 90 };
  const id = await shop.send(new ImportCatalogue('supplier-17.json', options));
  await reserveFrom(shop.driver, { queues: ['imports'], limit: 1, lease: 30 });
  await shop.clock?.advance('40s');
  return id;
}

/** A worker that has been running three jobs for some minutes, and a chain that waits for it. */
async function startImports(
  shop: Shop,
): Promise<{ readonly worker: Worker; readonly ids: Pick<WorldIds, 'running' | 'chained'> }> {
  await shop.until(5);
  const make = (file: string, rows: number) => new ImportCatalogue(file, { currency: 'EUR', prune: false, rows });
  const running = await shop.send(make('lamps.csv', 184_000));
  await shop.send(make('bulbs.csv', 421_337));
  await shop.send(make('cables.csv', 1_250_000));
  const worker = new Worker({ queue: 'imports', concurrency: 3 }, shop.manager);
  void worker.run();
  await shop.until(4.5);
  const links = [
    make('switches.csv', 310),
    new ResizeImage('switches/4711.jpg', [320, 640, 1280]),
    new NotifyTeam('#catalogue', 'The switches are in'),
  ];
  const chained = await shop.bus.chain(links).catch(new NotifyTeam('#ops', 'The switches are not in')).dispatch();
  return { worker, ids: { running, chained } };
}

/** The waiting jobs. */
async function fillQueues(
  shop: Shop,
): Promise<Pick<WorldIds, 'ready' | 'delayed' | 'secret' | 'abandoned'> & { readonly running: string }> {
  const { bus, manager, present } = shop;
  const pictures = Array.from({ length: 20 }, (_, place) => new ResizeImage(`lamps/${1000 + place}.jpg`, [320, 640]));
  const { id: running } = await bus
    .batch(pictures)
    .name('Pictures of the catalogue')
    .then(new NotifyTeam('#catalogue', 'The pictures are in'))
    .catch(new NotifyTeam('#ops', 'A picture is broken'))
    .finally(new SweepCarts())
    .progress(new NotifyTeam('#catalogue', 'Ten more pictures'), { every: 10 })
    .dispatch();
  await shop.workSome('media', 8);
  const changed = new Map([
    ['city', 'Utrecht'],
    ['fax', null],
  ]);
  const abandoned = await shop.send(new SyncCustomer('c-900', changed, MONTH));
  await reserveFrom(shop.driver, { queues: ['sync'], limit: 1, lease: 3600 });
  const invoices: string[] = [];
  for (let place = 0; place < 24; place += 1) {
    await shop.until(3.5 - place / 8);
    invoices.push(await shop.send(new SendInvoice(8100 + place, customer(place), MONTH)));
    if (place % 3 === 0) await shop.send(new SyncCustomer(`c-${place}`, changed, MONTH));
    const card = { holder: customer(place).name, last4: '4242', token: 'tok_1NqwvB2eZvKYlo' };
    if (place % 2 === 0) await shop.send(new ChargeCard(order(place), card));
  }
  const born = new Date(Date.UTC(1994, 5, 2));
  const profile = { born, roles: new Set(['buyer', 'reviewer']), apiKey: 'key-5f0c2b7e91' };
  const secret = await shop.send(new CreateAccount('noor@example.com', 'correct horse battery staple', profile));
  await shop.send(new NotifyTeam('#<b>ops</b>', 'It is <em>late</em> \u202E& so on'), QUEUES.strange);
  await manager.connection().pause(QUEUES.paused);
  await bus.dispatch(new NightlyReport(new Date(present))).delay('3h');
  const later = (minutes: number) => bus.dispatch(new SendInvoice(8200, customer(0), MONTH)).delay(`${minutes}m`);
  const delayed = await later(45);
  for (const minutes of [90, 600, 4000]) await later(minutes);
  return { ready: invoices[0]!, delayed, secret, abandoned, running };
}

/** Waits until the busy worker has reported itself and its progress. */
async function toldOf({ manager }: Shop, running: string): Promise<void> {
  const connection = manager.connection();
  await eventually(async () => (await connection.workers()).some(({ busy }) => busy === 3), { of: 'a busy worker' });
  await eventually(async () => (await connection.find(running)).progress !== undefined, { of: 'its progress' });
}
