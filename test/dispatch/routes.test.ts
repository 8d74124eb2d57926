/** Where jobs go that say nothing themselves, and when. */
import { Job } from '../../src/job/job';
import { Transaction } from '../../src/dispatch/transaction/transaction';
import { QueueManager } from '../../src/application/queue-manager';
import { silentLogger } from '../../src/base/console-logger';
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
  it('sends jobs of a class, and of those that extend it, where they say nothing themselves', async () => {
    application.manager.routes.set(Slow, { connection: 'second', queue: 'slow' });
    application.manager.routes.set(Yearly, { queue: 'yearly' });

    await application.bus.bulk([new Report(), new Yearly(), new Own(), new Other()]);

    expect(await ready('second', 'slow')).toBe(1);
    expect(await ready('second', 'yearly')).toBe(1);
    expect(await ready('second', 'own')).toBe(1);
    expect(await ready('memory')).toBe(1);
  });

  it('is weaker than the dispatch and the instance', async () => {
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
    ['a queue that cannot be', Report, { queue: 'a b' }],
    ['a field that there is not', Report, { queues: 'slow' }],
    ['a connection without a name', Report, { connection: '' }],
  ])('refuses %s', (_what, job, route) => {
    expect(() => application.manager.routes.set(job as typeof Report, route)).toThrow(/Queue\.route\(/);
  });

  it('refuses a connection that there is not, also one that the configuration then lacks', () => {
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
    ['of @Job() has its jobs wait', () => new Patient(), 'memory', 0],
    ['of a connection has all that goes to it wait', () => new Other(), 'waits', 0],
    ['of @Job() is stronger than that of the connection', () => new Hasty(), 'waits', 1],
    ['is off where nobody says so', () => new Other(), 'memory', 1],
  ])('%s', async (_what, job, connection, meanwhile) => {
    let seen: number | undefined;

    await Transaction.run(async () => {
      expect(await application.bus.dispatch(job()).onConnection(connection)).toMatch(/^[\da-f-]{36}$/);
      seen = await ready(connection);
    });

    expect(seen).toBe(meanwhile);
    expect(await ready(connection)).toBe(1);
  });

  it('sends nothing where the transaction fails, and at once outside of one', async () => {
    const failing = Transaction.run(() => {
      void application.bus.dispatch(new Patient());
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await ready('memory')).toBe(0);

    await application.bus.dispatch(new Patient());

    expect(await ready('memory')).toBe(1);
  });

  it('sends what was not awaited', async () => {
    await Transaction.run(() => void application.bus.dispatch(new Patient()));

    expect(await ready('memory')).toBe(1);
  });

  it('gives way to beforeCommit()', async () => {
    let seen: number | undefined;

    await Transaction.run(async () => {
      await application.bus.dispatch(new Patient()).beforeCommit();
      seen = await ready('memory');
    });

    expect(seen).toBe(1);
  });

  it('is refused where it is no boolean', () => {
    expect(() =>
      testApplication({ connections: { memory: { driver: 'memory', afterCommit: 'yes' as never } } }),
    ).toThrow(/connections\.memory\.afterCommit: expected true or false/);
    expect(() => Job({ afterCommit: 1 as never })(class Wrong extends Job {})).toThrow(/afterCommit on Wrong/);
  });

  it.each<[string, () => Patient | Hasty | Other, string, number]>([
    ['of @Job() has it wait', () => new Patient(), 'memory', 0],
    ['of a connection has it wait', () => new Other(), 'waits', 0],
    ['of @Job() is stronger than that of the connection', () => new Hasty(), 'waits', 1],
  ])('of a push: %s', async (_what, job, connection, meanwhile) => {
    const queue = application.manager.connection(connection);
    let seen: number | undefined;

    await Transaction.run(async () => {
      await queue.push(job());
      seen = await ready(connection);
    });

    expect([seen, await ready(connection)]).toEqual([meanwhile, 1]);
  });
});
