import { connectMemory } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import { ConsoleLogger } from '../../src/base/logger';
import { readCounters } from '../../src/payload/counters';
import { Worker } from '../../src/worker/worker';
import { Faults, faulty } from '../faults/faulty-connection';
import { elapse, testApplication, type TestApplication } from '../support/application';

let application: TestApplication;
let ran: string[];
let thrown: () => unknown;

beforeEach(() => {
  application = testApplication();
  ran = [];
});

afterEach(() => application.manager.close());

@Job()
class Throws extends Job {
  constructor(readonly name: string) {
    super();
  }
  handle(): void {
    ran.push(this.name);
    if (this.name === 'bad') throw thrown();
  }
  failed(): void {
    ran.push('failed()');
  }
}

@Job({ tries: 2 })
class ThrowsTwice extends Throws {}

@Job({ tries: 2 })
class BadBackoff extends Job {
  backoff(): number {
    throw new Error('backoff is broken');
  }
  handle(): void {
    ran.push('run');
    throw new Error('the real reason');
  }
}

const work = (): Promise<string> => new Worker({ stopWhenEmpty: true }, application.manager).run();

it('an error whose message is not a string does not affect the jobs reserved with it', async () => {
  thrown = () => Object.assign(new Error('x'), { message: { code: 7 } });
  await application.bus.bulk(['bad', 'good 1', 'good 2'].map((name) => new Throws(name)));

  await work();

  expect(ran).toEqual(['bad', 'failed()', 'good 1', 'good 2']);
});

const throwing = (property: string): PropertyDescriptorMap => ({
  [property]: {
    get() {
      throw new Error('it cannot be read');
    },
  },
});

const oddities: Readonly<Record<string, () => unknown>> = {
  'has neither message nor name': () => Object.assign(new Error(''), { name: undefined }),
  'has a symbol for a name': () => Object.assign(new Error('x'), { name: Symbol('name') }),
  'has a message that cannot be read': () => Object.defineProperties(new Error('x'), throwing('message')),
  'has a cause that cannot be read': () => Object.defineProperties(new Error('x'), throwing('cause')),
  'has a code that cannot be read': () => Object.defineProperties(new Error(''), throwing('code')),
  'has a method then': () => Object.assign(new Error('x'), { then: () => undefined }),
  'is a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    return proxy;
  },
};

it.each(Object.keys(oddities))('an error that %s ends its attempt like any other', async (oddity) => {
  thrown = oddities[oddity]!;
  await application.bus.bulk([new ThrowsTwice('bad'), new Throws('good')]);

  await work();

  expect(ran).toEqual(['bad', 'good', 'bad', 'failed()']);
  expect(await application.manager.connection().size()).toBe(0);
  expect(await application.manager.failed.list()).toHaveLength(1);
});

it.each(Object.keys(oddities))('a hook whose error %s changes no outcome', async (oddity) => {
  application.manager.hooks.on('before', () => {
    throw oddities[oddity]!();
  });
  application.manager.hooks.on('after', () => {
    throw oddities[oddity]!();
  });
  await application.bus.bulk([new Throws('one'), new Throws('two')]);

  await work();

  expect(ran).toEqual(['one', 'two']);
  expect(application.log.messages('error')).toHaveLength(4);
});

it('a hook that throws changes no outcome even if the logger throws too', async () => {
  const broken = (): never => {
    throw new Error('the disk is full');
  };
  application = testApplication({ logger: { debug: broken, info: broken, warn: broken, error: broken } });
  application.manager.hooks.on('before', broken);
  application.manager.hooks.on('after', broken);
  await application.bus.bulk([new Throws('one'), new Throws('two')]);

  await work();

  expect(ran).toEqual(['one', 'two']);
});

it('a store that is away is asked again even if the logger throws', async () => {
  const broken = (): never => {
    throw new Error('the disk is full');
  };
  application = testApplication({ logger: { debug: broken, info: broken, warn: broken, error: broken } });
  const faults = new Faults();
  const { manager, clock } = application;
  manager.addConnector('memory', (config, context) => faulty(connectMemory(config, context), faults));
  faults.next('reserve', { kind: 'reject', error: new Error('away') });
  await application.bus.dispatch(new Throws('one'));

  const ended = work();
  await elapse(clock, 1);
  await ended;

  expect(ran).toEqual(['one']);
});

it('a logger that throws changes no outcome', async () => {
  const broken = (): never => {
    throw new Error('the disk is full');
  };
  application = testApplication({ logger: { debug: broken, info: broken, warn: broken, error: broken } });
  await application.bus.bulk(['one', 'two'].map((name) => new Throws(name)));

  await work();

  expect(ran).toEqual(['one', 'two']);
  expect(await application.manager.connection().size()).toBe(0);
});

it('a hook whose error has a cycle changes no outcome', async () => {
  application = testApplication({ logger: new ConsoleLogger({ write: () => true }) });
  const error: Error & { self?: unknown } = new Error('cyclic');
  error.self = { error };
  application.manager.hooks.on('before', () => {
    throw error;
  });
  await application.bus.dispatch(new Throws('good'));

  await work();

  expect(ran).toEqual(['good']);
});

it('the code of an error is logged if its message is empty', async () => {
  thrown = () =>
    Object.assign(new AggregateError([new Error('refused on ::1'), new Error('refused on 127.0.0.1')]), {
      code: 'ECONNREFUSED',
    });
  await application.bus.dispatch(new Throws('bad'));

  await work();

  expect(application.log.messages('error')).toEqual(['Throws failed: ECONNREFUSED']);
  expect((await application.manager.failed.list())[0]?.exception).toContain('refused on 127.0.0.1');
});

it('a backoff() that throws costs no tries and does not hide the error of the attempt', async () => {
  await application.bus.dispatch(new BadBackoff());

  await work();

  expect(ran).toEqual(['run', 'run']);
  expect((await application.manager.failed.list())[0]?.exception).toContain('the real reason');
});

it('a failed store elsewhere keeps the counters of the failure', async () => {
  application = testApplication({
    connections: { memory: { driver: 'memory' }, keeper: { driver: 'memory' } },
    failed: 'keeper',
  });
  application.manager.addConnector('memory', (config, context) => {
    const connection = connectMemory(config, context);
    if (context.name === 'keeper') return connection;
    return Object.create(connection, {
      failed: { value: undefined },
      ...boundTo(connection),
    }) as typeof connection;
  });
  thrown = () => new Error('no');
  await application.bus.dispatch(new Throws('bad'));

  await work();

  const [entry] = await application.manager.driver('keeper').failed!.list({ limit: 1 });
  expect(readCounters(entry!.payload)?.counters).toMatchObject({ attempts: 1, exceptions: 1 });
});

/** Methods that read private fields must be called on the instance that has them. */
function boundTo(target: object): PropertyDescriptorMap {
  const prototype = Object.getPrototypeOf(target) as object;
  const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(
    ([name, { value }]) => name !== 'constructor' && typeof value === 'function',
  );
  return Object.fromEntries(
    methods.map(([name, { value }]) => [name, { value: (value as (...args: never[]) => unknown).bind(target) }]),
  );
}
