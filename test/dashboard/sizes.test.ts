/** The size of pages when there is very much to show. */
import { gzipSync } from 'node:zlib';
import type { QueueManager } from '../../src/application/queue-manager';
import { putWorker } from '../../src/operations/worker-record';
import { testApplication } from '../support/application';
import { addManyJobs } from './kit/many-jobs';
import { type Served, served } from './kit/served';
import { SweepCarts } from './kit/shop-jobs';

const KIB = 1024;
const MANY = 3000;
const QUEUES = 300;
const WORKERS = 400;

let manager: QueueManager;
let panel: Served;

beforeAll(async () => {
  ({ manager } = testApplication({ connections: { memory: { driver: 'memory' } } }));
  await addManyJobs(manager, 'mail', { waiting: MANY, failed: MANY });
  for (let place = 0; place < QUEUES; place += 1) await manager.connection().push(new SweepCarts(), `queue-${place}`);
  await addWorkers();
  panel = await served(manager);
});

afterAll(() => panel[Symbol.asyncDispose]());

/** Each with as many queues and jobs as its record may hold. */
async function addWorkers(): Promise<void> {
  const { records } = manager.operationsOf(manager.driver())!;
  const at = manager.clock.now();
  const queues = Array.from({ length: 100 }, (_, place) => `queue-${place}`);
  for (let place = 0; place < WORKERS; place += 1) {
    const job = (number: number) => ({
      id: `job-${place}-${number}`,
      name: 'SweepCarts',
      queue: 'queue-0',
      attempt: 1,
      since: at,
    });
    await putWorker(records, {
      ...{ id: `worker-${place}`, host: `host-${place}`, pid: place, version: '1.0.0', connection: 'memory', queues },
      ...{ concurrency: 50, state: 'running', lag: 0, paused: [], busy: 50, since: at },
      at: place === 7 ? at - 30_000 : at,
      outcomes: { completed: 1, released: 0, failed: 0, cancelled: 0, lost: 0 },
      running: Array.from({ length: 50 }, (_, number) => job(number)),
    });
  }
}

const sizeOf = (text: string) => ({ html: text.length, sent: gzipSync(text).length });

describe('a page with very much to show', () => {
  it.each([
    ['', 'mail'],
    ['queue?queue=mail', 'Next page'],
    ['queue?queue=mail&state=failed', 'Next page'],
    ['failed', 'Searched the newest 1,000 of 3,000.'],
    ['failed?error=nothing+says+this', 'Search further'],
    ['search?text=SendInvoice', 'Search further'],
    ['search?text=nothing-says-this-17', 'Search further'],
    ['workers', '>20,000 jobs run<'],
    ['job-classes', '>SweepCarts<'],
    ['all-queues', 'more queues'],
    ['runs', 'Filter'],
    ['scheduled', 'Filter'],
  ])('is of limited size, and says that there is more: %s', async (page, more) => {
    const { status, text } = await panel.get(page);

    expect(status).toBe(200);
    expect(text).toContain(more);
    expect(sizeOf(text).html).toBeLessThan(256 * KIB);
    expect(sizeOf(text).sent).toBeLessThan(16 * KIB);
  });

  it('leads on from page to page', async () => {
    const idsOf = async (page: string) => {
      const { text } = await panel.get(page);
      const [, next = ''] = /<a href="([^"]*)" rel="next"/.exec(text) ?? [];
      return {
        ids: [...text.matchAll(/data-key="([^"]*)"/g)].map(([, id]) => id),
        next: next.replaceAll('&amp;', '&'),
      };
    };

    for (const page of ['queue?queue=mail', 'queue?queue=mail&state=failed', 'failed?queue=mail']) {
      const first = await idsOf(page);
      const second = await idsOf(first.next);
      expect(second.ids.length).toBeGreaterThanOrEqual(50);
      expect(second.ids.filter((id) => id!.includes('-') && first.ids.includes(id))).toEqual([]);
    }
  });

  it('shows silent workers first if there are many', async () => {
    const { text } = await panel.get('workers');

    expect(text).toMatch(/400 workers.*100 of them/s);
    expect(/<tr data-key="(worker-\d+)"/.exec(text)![1]).toBe('worker-7');
    expect(text).toContain('and 90 more queues');
  });

  it('needs only a small style and script', async () => {
    const { text } = await panel.get('');
    const assets = [...text.matchAll(/(?:script|style)\.[0-9a-f]+\.(?:js|css)/g)];

    expect(assets).toHaveLength(2);
    for (const [asset] of assets) expect(sizeOf((await panel.get(asset)).text).sent).toBeLessThan(6 * KIB);
  });
});
