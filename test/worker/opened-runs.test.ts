/** A container that opens a scope of its own for each run, and makes things in it that have to be waited for. */
import { JobBus } from '../../src/dispatch/bus';
import { EventBus } from '../../src/dispatch/events';
import { Inject } from '../../src/container/parameters';
import { inject, type Container, type RunContainer } from '../../src/container/scope';
import { Handles, Listens } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { JobContext } from '../../src/job/job-context';
import { runJob } from '../../src/testing';
import { Queue } from '../../src/application/queue';
import { Worker } from '../../src/worker/worker';
import { watchedApplication, type WatchedApplication } from '../support/watched-application';

class Tenant {
  constructor(readonly of: unknown) {}
}
class Mailer {}
class Broken {}
const mailer = new Mailer();

let seen: unknown[];
let opened: number;
let closed: unknown[];
let extra: Partial<RunContainer>;

/** As of Nest or AdonisJS: one tenant for each run, made asynchronously. */
const container: Container = {
  resolve: () => mailer,
  async open({ job }) {
    opened += 1;
    const tenant = new Tenant(job);
    return {
      async resolve(token) {
        if (token === Broken) throw new Error('it has no address');
        return token === Tenant ? tenant : mailer;
      },
      dispose: () => void closed.push(job?.name),
      ...extra,
    };
  },
};

class Layer {
  async handle(_job: JobContext, next: () => Promise<unknown>, @Inject(Tenant) tenant: Tenant) {
    seen.push(tenant);
    return next();
  }
}

@Job()
class Invite extends Job {
  middleware() {
    return [new Layer()];
  }
  handle(@Inject(Tenant) tenant: Tenant, @Inject(Mailer) given: Mailer, @Inject(JobContext) context: JobContext) {
    seen.push(tenant, given, context);
  }
}

@Job({ tries: 1 })
class Refuse extends Job {
  handle(@Inject(Broken) _broken: Broken) {}
  failed(error: Error, @Inject(Tenant) tenant: Tenant) {
    seen.push(error, tenant);
  }
}

@Job()
class Ask extends Job {
  handle() {
    seen.push(inject(Tenant));
  }
}

@Job()
class Order {}

@Handles(Order)
class OrderHandler {
  readonly context = inject(JobContext);
  constructor(@Inject(Tenant) readonly tenant: Tenant) {}
  handle(_order: Order, @Inject(Tenant) tenant: Tenant) {
    seen.push(this.tenant, tenant, this);
  }
}

class Shipped {}

@Listens(Shipped)
class ShippedListener {
  shouldQueue(_event: Shipped, @Inject(Tenant) tenant: Tenant) {
    seen.push(tenant);
    return true;
  }
  handle(_event: Shipped, @Inject(Tenant) tenant: Tenant) {
    seen.push(tenant);
  }
}

@Job({ together: { most: 10, wait: '1s' } })
class Index extends Job {
  static handleAll(_jobs: readonly Index[], @Inject(Tenant) tenant: Tenant) {
    seen.push(tenant);
  }
}

let application: WatchedApplication;
let bus: JobBus;
beforeEach(() => {
  [seen, closed, opened, extra] = [[], [], 0, {}];
  application = watchedApplication({ connections: { main: { driver: 'memory' } }, container });
  bus = new JobBus(() => application.manager);
});
afterEach(() => application.manager.close());

const work = (): Promise<unknown> => new Worker({ stopWhenEmpty: true }, application.manager).run();
const tenants = (): Tenant[] => seen.filter((one) => one instanceof Tenant);
const theContext = expect.any(JobContext) as JobContext;

it('is asked once for each run, and waited for: in handle(), and in middleware', async () => {
  await bus.bulk([new Invite(), new Invite()]);
  await work();

  const [first, second] = [seen.slice(0, 4), seen.slice(4)];
  expect(first).toEqual([tenants()[0], tenants()[0], mailer, theContext]);
  expect(first[0]).toBe(first[1]);
  expect((first[0] as Tenant).of).toBe(first[3]);
  expect(second[0]).toBe(second[1]);
  expect(second[0]).not.toBe(first[0]);
  expect([opened, closed]).toEqual([2, ['Invite', 'Invite']]);
});

it('makes the handler if it can; otherwise the handler gets what the container makes for it', async () => {
  await bus.dispatch(new Order());
  await work();
  const given = new Tenant('given');
  extra = { construct: async (target) => (target === OrderHandler ? new OrderHandler(given) : undefined) };
  await bus.dispatch(new Order());
  await work();

  expect(seen).toEqual([
    tenants()[0],
    tenants()[0],
    expect.any(OrderHandler),
    given,
    tenants()[3],
    expect.any(OrderHandler),
  ]);
});

it('says which parameter it could not make, and opens another run for failed()', async () => {
  await bus.dispatch(new Refuse());
  await work();

  const error = {
    code: 'E_RESOLUTION',
    message: expect.stringMatching(/^Refuse\.handle, parameter 0 .*Broken could not/),
  };
  expect(seen).toEqual([expect.objectContaining(error), expect.any(Tenant)]);
  expect(opened).toBe(2);
});

it('says that inject() cannot wait', async () => {
  await expect(bus.dispatchNow(new Ask())).rejects.toThrow('and not in inject() or make()');
  expect(closed).toEqual(['Ask']);
});

it('serves listeners, jobs that are handled together, and jobs that run in place', async () => {
  const { manager } = application;
  await new EventBus(() => manager).dispatch(new Shipped());
  await work();
  await bus.dispatch(new Index());
  await work();
  await bus.dispatchNow(new Invite());

  expect(ShippedListener.name).toBe('ShippedListener');
  expect(tenants().map(({ of }) => (of as JobContext | undefined)?.name)).toEqual([
    undefined,
    'ShippedListener',
    undefined,
    'Invite',
  ]);
});

it('is not asked for what a test replaces', async () => {
  const stub = new Tenant('stub');
  Queue.configure({ connections: { main: { driver: 'memory' } }, container });
  const { outcome } = await runJob(new Invite(), { stubs: [[Tenant, stub]] });
  await Queue.close();

  expect([outcome, ...seen]).toEqual(['completed', stub, stub, mailer, theContext]);
  expect(closed).toEqual(['Invite']);
});

it('makes no handler that asks for what a test replaces, in the words of Nest either', async () => {
  const stub = new Tenant('stub');
  const ofNest = class {
    constructor(readonly tenant: unknown) {}
    handle(): void {
      seen.push(this.tenant);
    }
  };
  Reflect.defineMetadata('self:paramtypes', [{ index: 0, param: 'tenant' }], ofNest);
  @Job()
  class Bill {}
  Handles(Bill)(ofNest);
  extra = { construct: async (target) => new (target as typeof OrderHandler)(new Tenant('real')) };
  Queue.configure({ connections: { main: { driver: 'memory' } }, container });
  await runJob(new Order(), { stubs: [[Tenant, stub]] });
  await runJob(new Bill(), { stubs: [['tenant', stub]] });
  await Queue.close();

  expect(seen).toEqual([stub, stub, expect.any(OrderHandler), stub]);
});

it('fails the attempt if it cannot open a run, or gives something that is none', async () => {
  const broken = watchedApplication({
    connections: { main: { driver: 'memory' } },
    container: { resolve: () => mailer, open: () => ({}) as RunContainer },
  });
  await expect(new JobBus(() => broken.manager).dispatchNow(new Order())).rejects.toMatchObject({
    code: 'E_INVALID_CONTAINER',
  });
  await broken.manager.close();
});
