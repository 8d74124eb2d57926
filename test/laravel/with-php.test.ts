/** Values of PHP and workers of Laravel, with PHP itself and the packages of Laravel. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Job } from 'onqueue';
import { LaravelJob, model } from 'onqueue/laravel';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import type { ConnectionConfig } from '../../src/connections/driver';
import { JobBus } from '../../src/dispatch/bus';
import { momentOf } from '../../src/laravel/laravel-job';
import { phpText, readPhpText, type PhpObject } from '../../src/laravel/php-text';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { eventually } from '../support/eventually';
import { startPostgresServer } from '../support/postgres-server';
import { Project } from '../support/project';
import { startRedisServer } from '../support/redis-server';
import { LaravelWorker, php } from './php-program';

const decoded = (line: string): string => Buffer.from(line, 'base64').toString();
const encoded = (text: string): string => Buffer.from(text).toString('base64');

describe('the values of PHP', () => {
  it('are read and written byte for byte', () => {
    const texts = php('values.php', [20_261_127, 10_000]).map(decoded);

    const written = texts.map((text) => phpText(readPhpText(text)));

    // An object that is there twice is written twice, but PHP has an enum only once.
    const differing = (others: readonly string[]): string[] =>
      others.filter((text, place) => text !== written[place] && !/;r:\d+;/.test(text));
    expect(differing(texts)).toEqual([]);
    expect(differing(php('values.php', [], written.map(encoded)).map(decoded))).toEqual([]);
    expect(texts.length).toBe(10_000);
  });

  it('have the same moments here and there', () => {
    const moments = php('moments.php', []).map((line) => line.split(' ') as [string, string]);

    const differing = moments.filter(([text, seconds]) => {
      const moment = momentOf(readPhpText(decoded(text)) as PhpObject);
      return !(moment instanceof Date) || moment.getTime() !== Number(seconds) * 1000;
    });

    expect(differing.map(([text, seconds]) => [decoded(text), seconds])).toEqual([]);
    expect(moments.length).toBe(5000);
  });
});

interface Invoice {
  readonly invoice: number;
  readonly to: string;
  readonly attempts: number;
  readonly values: object;
}

let runs: Invoice[];
let failures: string[];

@LaravelJob('App\\Jobs\\SendInvoice', {
  tries: 3,
  protected: ['to'],
  private: ['lines'],
  floats: ['amount', 'prices'],
  enums: { plan: 'App\\Enums\\Plan' },
  dates: { due: 'DateTimeImmutable' },
})
class SendInvoice extends Job {
  constructor(
    readonly invoice: number,
    readonly to = 'ada',
    readonly lines: readonly unknown[] = [],
    readonly at: Date | null = null,
    readonly due: Date | null = null,
    readonly plan: 'Free' | 'Paid' | null = null,
    readonly amount = 1,
    readonly prices: readonly number[] = [],
    readonly big: bigint | null = null,
    readonly user: unknown = null,
  ) {
    super();
  }

  handle(): void {
    if (this.to === 'fails') throw new Error('no luck');
    runs.push({ invoice: this.invoice, to: this.to, attempts: this.attempts, values: { ...this } });
  }

  failed(error: Error): void {
    failures.push(`${this.invoice}: ${error.message}`);
  }
}

/** As the documentation has it. */
@Job({ aliases: ['App\\Jobs\\ShipOrder'], dates: ['at'] })
class ShipOrder extends Job {
  declare order: number;
  declare at: Date;

  handle(): void {
    runs.push({ invoice: this.order, to: '', attempts: this.attempts, values: { ...this } });
  }
}

interface World {
  readonly driver: string;
  readonly port: number;
  readonly config: ConnectionConfig;
  stop(): Promise<void>;
}

const worlds = {
  async redis(): Promise<World> {
    const { port, url, stop } = await startRedisServer();
    return { driver: 'redis', port, config: { driver: 'redis', url }, stop };
  },
  async database(): Promise<World> {
    const { port, url, stop } = await startPostgresServer();
    return { driver: 'database', port, config: { driver: 'database', url }, stop };
  },
};

describe.each(['redis', 'database'] as const)('a Laravel application and Onqueue on one %s', (name) => {
  let world: World;
  let manager: QueueManager;
  let log: RecordingLogger;
  const workers: { stop(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    world = await worlds[name]();
    if (name === 'database') php('tables.php', [name, world.port]);
    log = new RecordingLogger();
    const environment = { connectors: builtInConnectors, logger: log };
    manager = new QueueManager(environment, { connections: { main: world.config }, default: 'main' });
    await manager.driver().migrations?.run();
  });
  beforeEach(() => {
    runs = [];
    failures = [];
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  });
  afterAll(async () => {
    await manager?.close();
    await world.stop();
  });

  const dispatch = (queue: string, what: string | number): unknown =>
    php('dispatch.php', [world.driver, world.port, queue, what]);
  const send = (queue: string, job: object): Promise<unknown> => new JobBus(() => manager).dispatch(job).onQueue(queue);

  function laravel(queue: string): LaravelWorker {
    const worker = new LaravelWorker(world.driver, world.port, queue);
    workers.push(worker);
    return worker;
  }

  function onqueue(queue: string): void {
    const worker = new Worker({ queue, sleep: '50ms' }, manager);
    const running = worker.run();
    workers.push({ stop: () => Promise.all([worker.stop(), running]) });
  }

  it('jobs of Laravel run here, with every value; delayed and failed ones, too', async () => {
    dispatch('to-node', 'examples');
    onqueue('to-node');
    await eventually(() => runs.length === 2 && failures.length === 1);

    expect(runs.find(({ invoice }) => invoice === 1)?.values).toEqual({
      invoice: 1,
      to: 'é 😀 \0 "};',
      lines: [{ sku: 'A', n: 2 }],
      at: new Date('2026-11-21T09:00:00.123Z'),
      due: new Date('2026-11-21T04:30:00Z'),
      plan: 'Paid',
      amount: 2,
      prices: [1, 2.5],
      big: 9_223_372_036_854_775_807n,
      user: model('App\\Models\\User', 7, { relations: ['posts'], connection: 'main' }),
    });
    expect(failures).toEqual(['3: no luck']);
    const [failed] = await manager.failed.list();
    expect(failed).toMatchObject({ name: 'App\\Jobs\\SendInvoice', queue: 'to-node', attempts: 3 });
    // The first of a chain waits for Laravel, whose workers alone know what follows.
    await eventually(() => log.messages('warn').some((line) => line.includes('it belongs to a chain of Laravel')));
  });

  it('jobs of Onqueue run in Laravel, with every value; delayed and failed ones, too', async () => {
    const at = new Date('2026-11-21T10:00:00.123Z');
    const user = model('App\\Models\\User', 7, { relations: ['posts'], connection: 'main' });
    const lines = [{ sku: 'A', n: 2 }];
    await send('to-php', new SendInvoice(1, 'é 😀 \0 "};', lines, at, at, 'Paid', 2, [1, 2.5], 2n ** 63n - 1n, user));
    await send('to-php', new SendInvoice(2).delay('1s'));
    await send('to-php', new SendInvoice(3, 'fails'));
    const worker = laravel('to-php');
    await eventually(() => worker.ran.length === 2 && worker.said.some(({ said }) => said === 'failed'));

    expect(worker.ran.find(({ invoice }) => invoice === 1)).toEqual({
      invoice: 1,
      to: 'é 😀 \0 "};',
      lines,
      at: '2026-11-21 10:00:00.123000 UTC',
      due: '2026-11-21 10:00:00.123000 UTC',
      plan: 'Paid',
      amount: '2.0',
      prices: 'array (\n  0 => 1.0,\n  1 => 2.5,\n)',
      big: '9223372036854775807',
      user: [7, ['posts'], 'main'],
    });
    const saidOf = (what: string): object[] => worker.said.filter(({ said }) => said === what);
    await eventually(() => saidOf('threw').length === 3);
    expect(saidOf('failed')).toEqual([{ said: 'failed', invoice: 3, error: 'no luck' }]);
  });

  it('jobs of both on one queue run once, by whichever worker takes them', async () => {
    const count = 100;
    const worker = laravel('shared');
    await eventually(() => worker.said.length > 0);
    dispatch('shared', count);
    onqueue('shared');
    for (let number = 1; number <= count; number += 1) {
      const job = new SendInvoice(
        -number,
        `node ${number}`,
        [number, { half: number / 2 }],
        new Date(number),
        null,
        'Free',
      );
      await send('shared', job);
    }
    await eventually(() => runs.length + worker.ran.length >= 2 * count);
    const all = [...runs, ...(worker.ran as unknown as Invoice[])].map(({ invoice, to }) => [invoice, to]);

    const expected = Array.from({ length: count }, (_, place) => [
      [place + 1, `php ${place + 1}`],
      [-place - 1, `node ${place + 1}`],
    ]).flat();
    const byNumber = (rows: unknown[][]): unknown[][] => rows.toSorted(([a], [b]) => Number(a) - Number(b));
    expect(byNumber(all)).toEqual(byNumber(expected));
    await eventually(async () => (await manager.connection().size('shared')) === 0);
    expect(worker.said.filter(({ said }) => said === 'threw')).toEqual([]);
  });

  it('a property that is not declared as private fails in Laravel, and nothing else', async () => {
    @LaravelJob('App\\Jobs\\Strict')
    class Strict extends Job {
      constructor(readonly code: number) {
        super();
      }
    }
    await send('strict', new Strict(7));
    await send('strict', new SendInvoice(1));
    const worker = laravel('strict');
    await eventually(() => worker.ran.length === 1);
    expect(worker.said.filter(({ said }) => said === 'threw')).toEqual([
      { said: 'threw', error: expect.stringContaining('$code must not be accessed before initialization') as string },
    ]);
  });

  it('a job with the trait of the documentation runs here as a string job', async () => {
    const page = readFileSync(join(__dirname, '../../docs/with-laravel.md'), 'utf8');
    const project = new Project();
    const [, trait = ''] = /```php\n(<\?php\n\nnamespace App\\Jobs\\Concerns;[^]*?)```/.exec(page) ?? [];
    project.write('trait.php', trait);
    php('ship.php', [world.driver, world.port, join(project.folder, 'trait.php')]);
    project.remove();
    onqueue('orders');
    await eventually(() => runs.length === 1);
    expect(runs).toMatchObject([{ values: { order: 7, note: null, at: new Date('2026-11-21T09:00:00.123Z') } }]);
    expect(ShipOrder.name).toBe('ShipOrder');
  });
});
