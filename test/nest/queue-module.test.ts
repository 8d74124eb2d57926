/** Applications of Nest with queues around them. The same from the package, with Nest 11 and 12: `test/frameworks`. */
import { Inject as NestInject, Injectable, Logger, Module, type OnModuleDestroy, Scope } from '@nestjs/common';
import { ModuleRef, NestFactory, REQUEST } from '@nestjs/core';
import {
  Bus,
  Handles,
  Inject,
  inject,
  Job,
  JobContext,
  type JobContext as Context,
  Listens,
  Middleware,
  Queue,
  Events,
} from 'onqueue';
import { nestContainer, QueueModule } from 'onqueue/nest';

let seen: unknown[];
let said: (line: unknown) => void;

/** Made for each job. */
@Injectable({ scope: Scope.REQUEST })
class Tenant {
  constructor(@NestInject(REQUEST) readonly job: Context) {}
}

@Injectable({ scope: Scope.TRANSIENT })
class Draft {}

@Injectable()
class Pool implements OnModuleDestroy {
  isOpen = true;
  onModuleDestroy() {
    this.isOpen = false;
    said('the pool is closed');
  }
}

@Middleware()
class InTenant {
  async handle(_job: Context, next: () => Promise<unknown>, @Inject(Tenant) tenant: Tenant) {
    seen.push(tenant);
    return next();
  }
}

@Job({ queue: 'mail', tries: 1 })
class Invite extends Job {
  middleware() {
    return [new InTenant()];
  }
  handle(
    @Inject(Pool) pool: Pool,
    @Inject(Tenant) tenant: Tenant,
    @Inject(Draft) draft: Draft,
    @Inject(REQUEST) job: Context,
  ) {
    seen.push(pool, tenant, draft, job);
  }
}

@Job({ queue: 'mail', tries: 1 })
class Ask extends Job {
  handle() {
    seen.push(inject(Tenant));
  }
}

@Job({ queue: 'mail' })
class Order {}

@Injectable()
@Handles(Order)
class OrderHandler {
  constructor(
    @NestInject('rate') readonly rate: number,
    readonly tenant: Tenant,
  ) {}
  handle(_order: Order, @Inject(Tenant) tenant: Tenant) {
    seen.push(this, tenant);
  }
}

class Shipped {}

@Injectable()
@Listens(Shipped, { queue: 'mail' })
class ShippedListener {
  constructor(readonly pool: Pool) {}
  handle(_event: Shipped) {
    seen.push(this);
  }
}

@Job({ queue: 'mail' })
class Refund {}

/** No provider: Onqueue makes it, of what Nest has. */
@Handles(Refund)
class RefundHandler {
  constructor(@Inject(Pool) readonly pool: Pool) {}
  handle(_refund: Refund) {
    seen.push(this);
  }
}

@Job({ queue: 'mail' })
class Slow extends Job {
  async handle(@Inject(Pool) pool: Pool) {
    said('the job runs');
    await released;
    said(`the job ends, the pool is ${pool.isOpen ? 'open' : 'closed'}`);
  }
}

@Module({ providers: [Pool, Draft, Tenant, { provide: 'rate', useValue: 3 }], exports: [Pool, Tenant, 'rate'] })
class PoolModule {}

@Module({ imports: [PoolModule], providers: [OrderHandler, ShippedListener] })
class AppModule {}

const configuration = { connections: { main: { driver: 'memory' as const } } };
const options = { configuration, workers: [{ queue: 'mail' }] };
const QUIET = { logger: false as const, abortOnError: false };

let released: Promise<void>;
let release: () => void;
const lines: unknown[] = [];
beforeEach(() => {
  seen = [];
  lines.length = 0;
  said = (line) => lines.push(line);
  released = new Promise((resolve) => (release = resolve));
});

/** Starts the application, and lets its worker run what was dispatched. */
async function ran(
  module: Parameters<typeof NestFactory.createApplicationContext>[0],
  jobs: () => Promise<unknown>,
  wanted = 1,
) {
  const failures: unknown[] = [];
  Queue.failing(({ exception }) => void failures.push(exception));
  const app = await NestFactory.createApplicationContext(module, QUIET);
  const ended = jobsEnded(wanted);
  await jobs();
  await ended;
  const pool = app.get(Pool, { strict: false });
  await app.close();
  return { pool, failures };
}

const jobsEnded = (wanted: number): Promise<void> =>
  new Promise((resolve) => {
    let ended = 0;
    Queue.observe({ ended: () => void ((ended += 1) === wanted && resolve()) });
  });

describe('a job in Nest', () => {
  it('gets static providers, and one request-scoped provider for each run, whose request is the job', async () => {
    const { pool } = await ran(
      QueueModule.around(AppModule, options),
      () => Queue.bulk([new Invite(), new Invite()]),
      2,
    );

    const [layer, ...rest] = seen.slice(0, 5) as [Tenant, Pool, Tenant, Draft, Context];
    expect(rest).toEqual([pool, layer, expect.any(Draft), expect.any(JobContext)]);
    expect([rest[1], layer.job]).toEqual([layer, rest[3]]);
    expect(rest[1]).toBe(layer);
    expect(seen[6]).toBe(pool);
    expect(seen[7]).not.toBe(layer);
    expect((seen[7] as Tenant).job).toBe(seen[9]);
  });

  it.each([
    ['that is a provider is made by Nest, for each run if it has to be', () => new Order(), OrderHandler],
    ['that is no provider is made of what Nest has', () => new Refund(), RefundHandler],
  ])('has a handler %s', async (_, make, handler) => {
    const { pool } = await ran(QueueModule.around(AppModule, options), () => Queue.bulk([make()]));

    const [made, tenant] = seen as [OrderHandler & RefundHandler, Tenant | undefined];
    expect(made).toBeInstanceOf(handler);
    expect(made.tenant).toBe(tenant);
    expect(made.rate ?? made.pool).toBe(tenant === undefined ? pool : 3);
  });

  it('has listeners that Nest has made', async () => {
    const { pool } = await ran(QueueModule.around(AppModule, options), () => Events.dispatch(new Shipped()));

    expect(seen).toEqual([expect.any(ShippedListener)]);
    expect((seen[0] as ShippedListener).pool).toBe(pool);
  });

  it('is told why inject() cannot give what has to be waited for', async () => {
    const { failures } = await ran(QueueModule.around(AppModule, options), () => Ask.dispatch());
    expect(failures).toEqual([
      expect.objectContaining({ message: expect.stringContaining('inject(Tenant)') as string }),
    ]);
  });

  it('gets the same from a container without the module', async () => {
    const app = await NestFactory.createApplicationContext(AppModule, QUIET);
    for (const container of [nestContainer(app), nestContainer(app.get(ModuleRef))]) {
      Queue.configure({ ...configuration, container });
      await Bus.dispatchNow(new Order());
      await Queue.close();
    }
    await app.close();
    expect(seen).toEqual([expect.any(OrderHandler), expect.any(Tenant), expect.any(OrderHandler), expect.any(Tenant)]);
  });
});

describe('QueueModule', () => {
  it('stops its workers before the pools of their jobs are closed', async () => {
    const app = await NestFactory.createApplicationContext(QueueModule.around(AppModule, options), QUIET);
    const running = new Promise<void>((resolve) => (said = (line) => (lines.push(line), resolve())));
    await Slow.dispatch();
    await running;
    const closed = app.close();
    release();
    await closed;

    expect(lines).toEqual(['the job runs', 'the job ends, the pool is open', 'the pool is closed']);
  });

  it('takes options from a function, with what Nest injects', async () => {
    const factory = {
      imports: [PoolModule],
      inject: ['rate'],
      useFactory: async (rate: number) => ({ configuration, workers: [{ queue: 'mail', concurrency: rate }] }),
    };
    await ran(QueueModule.aroundAsync(AppModule, factory), () => Invite.dispatch());
    expect(seen).toHaveLength(5);
  });

  it('is only one in a process; when it is closed, the next may come', async () => {
    const first = await NestFactory.createApplicationContext(QueueModule.around(AppModule, { configuration }), QUIET);
    const second = NestFactory.createApplicationContext(QueueModule.around(AppModule, { configuration }), QUIET);
    await expect(second).rejects.toMatchObject({ code: 'E_ALREADY_CONFIGURED' });
    await first.close();
    const third = await NestFactory.createApplicationContext(QueueModule.around(AppModule, { configuration }), QUIET);
    await third.close();
  });

  it('warns once if nothing would stop its workers at a signal', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const warned = new Promise<void>((resolve) => void warn.mockImplementation(() => resolve()));
    const app = await NestFactory.createApplicationContext(
      QueueModule.around(AppModule, { configuration, workers: [{ queue: 'mail' }, { queue: 'reports' }] }),
      QUIET,
    );
    await warned;
    await app.close();
    expect(warn.mock.calls).toEqual([[expect.stringContaining('Call app.enableShutdownHooks()')]]);
    warn.mockRestore();
  });

  it.each<[problem: string, wrong: () => unknown]>([
    ['around() has no configuration', () => QueueModule.around(AppModule, {} as never)],
    ['around() has an option worker', () => QueueModule.around(AppModule, { ...options, worker: [] } as never)],
    [
      'around() has workers that are no list',
      () => QueueModule.around(AppModule, { ...options, workers: {} } as never),
    ],
    ['the application is undefined', () => QueueModule.around(undefined as never, options)],
    ['aroundAsync() has no useFactory', () => QueueModule.aroundAsync(AppModule, options as never)],
  ])('refuses what it cannot use: %s', (problem, wrong) => {
    expect(wrong).toThrow(expect.objectContaining({ code: 'E_QUEUE_MODULE', facts: { problem } }));
  });
});
