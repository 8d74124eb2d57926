/** Where jobs go that name no queue, and when they are sent. */
import { Job } from '../../src/job/job';
import { Transaction } from '../../src/dispatch/transaction';
import { QueueManager } from '../../src/application/queue-manager';
import { silentLogger } from '../../src/base/logger';
import { builtInConnectors } from '../../src/connections/built-in';
import { testApplication, type TestApplication } from '../support/application';

abstract class Slow extends Job {
  async handle(): Promise<void> {}
}

@Job()
class Report extends Slow {}

@Job()
class Yearly extends Report {}

@Job({ queue: 'own' })
class Own extends Slow {}

@Job()
class Other extends Job {
  async handle(): Promise<void> {}
}

@Job({ afterCommit: true })
class Patient extends Job {
  async handle(): Promise<void> {}
}

@Job({ afterCommit: false })
class Hasty extends Job {
  async handle(): Promise<void> {}
}

let application: TestApplication;

beforeEach(() => {
  application = testApplication({
    connections: {
      memory: { driver: 'memory' },
      second: { driver: 'memory' },
      waits: { driver: 'memory', afterCommit: true },
    },
  });
});

afterEach(() => application.manager.close());

const ready = async (connection: string, queue = 'default'): Promise<number> =>
  (await application.manager.connection(connection).counts(queue)).ready;

describe('Queue.route()', () => {
  it('routes jobs of a class and its subclasses unless they have a queue of their own', async () => {
    application.manager.routes.set(Slow, { connection: 'second', queue: 'slow' });
    application.manager.routes.set(Yearly, { queue: 'yearly' });

    await application.bus.bulk([new Report(), new Yearly(), new Own(), new Other()]);

    expect(await ready('second', 'slow')).toBe(1);
    expect(await ready('second', 'yearly')).toBe(1);
    expect(await ready('second', 'own')).toBe(1);
    expect(await ready('memory')).toBe(1);
  });

  it('yields to the dispatch and the instance', async () => {
    application.manager.routes.set(Report, { connection: 'second', queue: 'slow' });

    await application.bus.dispatch(new Report()).onQueue('chosen').onConnection('memory');
    await application.bus.dispatch(new Report().onQueue('chosen'));
    await application.manager.connection('memory').push(new Report());

    expect(await ready('memory', 'chosen')).toBe(1);
    expect(await ready('second', 'chosen')).toBe(1);
    expect(await ready('memory', 'slow')).toBe(1);
  });

  it.each<[string, unknown, object]>([
    ['a name', 'Report', { queue: 'slow' }],
    ['an invalid queue', Report, { queue: 'a b' }],
    ['an unknown field', Report, { queues: 'slow' }],
    ['a connection without a name', Report, { connection: '' }],
  ])('refuses %s', (_what, job, route) => {
    expect(() => application.manager.routes.set(job as typeof Report, route)).toThrow(/Queue\.route\(/);
  });

  it('refuses an unknown connection, even if the configuration comes later', () => {
    const { manager } = application;
    expect(() => manager.route(Report, { connection: 'secnod' })).toThrow(
      /No connection 'secnod' .*Did you mean 'second'\? Queue\.route\(\) sends Report there\.$/,
    );

    const later = new QueueManager({ connectors: builtInConnectors, logger: silentLogger });
    later.route(Report, { connection: 'elsewhere' });
    expect(() => later.configure({ connections: { main: { driver: 'memory' } } })).toThrow(
      expect.objectContaining({ code: 'E_UNKNOWN_CONNECTION' }),
    );
  });
});

describe('afterCommit', () => {
  it.each<[string, () => Patient | Hasty | Other, string, number]>([
    ['of @Job() holds its jobs back', () => new Patient(), 'memory', 0],
    ['of a connection holds all its jobs back', () => new Other(), 'waits', 0],
    ['of @Job() overrides that of the connection', () => new Hasty(), 'waits', 1],
    ['is off by default', () => new Other(), 'memory', 1],
  ])('%s', async (_what, job, connection, meanwhile) => {
    let seen: number | undefined;

    await Transaction.run(async () => {
      expect(await application.bus.dispatch(job()).onConnection(connection)).toMatch(/^[\da-f-]{36}$/);
      seen = await ready(connection);
    });

    expect(seen).toBe(meanwhile);
    expect(await ready(connection)).toBe(1);
  });

  it('sends nothing if the transaction fails, and sends at once outside a transaction', async () => {
    const failing = Transaction.run(() => {
      void application.bus.dispatch(new Patient());
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await ready('memory')).toBe(0);

    await application.bus.dispatch(new Patient());

    expect(await ready('memory')).toBe(1);
  });

  it('sends dispatches that were not awaited', async () => {
    await Transaction.run(() => void application.bus.dispatch(new Patient()));

    expect(await ready('memory')).toBe(1);
  });

  it('yields to beforeCommit()', async () => {
    let seen: number | undefined;

    await Transaction.run(async () => {
      await application.bus.dispatch(new Patient()).beforeCommit();
      seen = await ready('memory');
    });

    expect(seen).toBe(1);
  });

  it('is refused if it is not a boolean', () => {
    expect(() =>
      testApplication({ connections: { memory: { driver: 'memory', afterCommit: 'yes' as never } } }),
    ).toThrow(/connections\.memory\.afterCommit: expected true or false/);
    expect(() => Job({ afterCommit: 1 as never })(class Wrong extends Job {})).toThrow(/afterCommit on Wrong/);
  });

  it.each<[string, () => Patient | Hasty | Other, string, number]>([
    ['of @Job() holds it back', () => new Patient(), 'memory', 0],
    ['of a connection holds it back', () => new Other(), 'waits', 0],
    ['of @Job() overrides that of the connection', () => new Hasty(), 'waits', 1],
  ])('for a push: %s', async (_what, job, connection, meanwhile) => {
    const queue = application.manager.connection(connection);
    let seen: number | undefined;

    await Transaction.run(async () => {
      await queue.push(job());
      seen = await ready(connection);
    });

    expect([seen, await ready(connection)]).toEqual([meanwhile, 1]);
  });
});
