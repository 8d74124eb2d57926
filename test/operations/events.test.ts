/** What happens to jobs, as another process hears of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { Queue as Front } from 'onqueue';
import { builtInConnectors } from '../../src/connections/built-in';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { Job } from '../../src/job/job';
import type { JobEvent } from '../../src/operations/events/job-event';
import { EVENTS, LISTENERS } from '../../src/operations/events/job-event';
import type { EventsOptions } from '../../src/operations/events/job-events';
import { Worker } from '../../src/worker/worker';
import { Gate, RecordingLogger, testApplication, until, elapse } from '../support/application';
import { eventually } from '../support/eventually';
import { startMariadbServer } from '../support/mariadb-server';
import { startPostgresServer } from '../support/postgres-server';
import { startRedisServer } from '../support/redis-server';

let gate: Gate;

beforeEach(() => {
  gate = new Gate();
});

@Job({ tries: 2 })
class Film extends Job {
  constructor(readonly title: string) {
    super();
  }

  async handle(): Promise<void> {
    this.job.progress(0.5, 'half');
    if (this.title === 'waits') await gate.opened;
    if (this.title === 'broken') throw new Error('no film, password=hunter2');
  }
}

@Job()
class Other extends Job {
  handle(): void {
    // Nobody listens to it.
  }
}

interface Store {
  readonly config: ConnectionConfig;
  readonly stop: () => Promise<void> | void;
}

const server = async (
  started: Promise<{ readonly url: string; stop(): Promise<void> }>,
  driver: 'redis' | 'database',
): Promise<Store> => {
  const { url, stop } = await started;
  return { config: { driver, url } as ConnectionConfig, stop };
};

/** How many connections that listen were cut. */
type Cut = (url: string) => Promise<unknown>;

const cutRedis: Cut = async (url) => {
  const client = new Redis(url);
  const count = await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await client.quit();
  return count;
};

const cutPostgres: Cut = async (url) => {
  const client = new Client(url);
  await client.connect();
  const those = `FROM pg_stat_activity WHERE query LIKE 'LISTEN "onqueue_jobs_told"%'`;
  const { rowCount } = await client.query(`SELECT pg_terminate_backend(pid) ${those}`);
  await client.end();
  return rowCount;
};

interface Started {
  readonly name: string;
  readonly start: () => Promise<Store>;
  /** Undefined where listening opens no connection. */
  readonly cut?: Cut;
}

const STORES: readonly Started[] = [
  { name: 'Redis', start: () => server(startRedisServer(), 'redis'), cut: cutRedis },
  {
    name: 'SQLite',
    start: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'onqueue-events-'));
      const config = { driver: 'database' as const, url: `sqlite:${join(folder, 'jobs.sqlite')}` };
      return { config, stop: () => rmSync(folder, { recursive: true }) };
    },
  },
  { name: 'PostgreSQL', start: () => server(startPostgresServer(), 'database'), cut: cutPostgres },
  { name: 'MariaDB', start: () => server(startMariadbServer(), 'database') },
];

/** Reads in the background what a listener hears. */
function heardBy(
  manager: QueueManager,
  options?: EventsOptions,
): { readonly events: JobEvent[]; readonly end: Promise<void> } {
  const events: JobEvent[] = [];
  const iteration = manager.connection().events(options);
  const read = async (): Promise<void> => {
    for await (const event of iteration) events.push(event);
  };
  return { events, end: read() };
}

const typesOf = (events: readonly JobEvent[]): string[] => events.map(({ type }) => type);

describe.each(STORES)('on $name, a process hears of jobs that another one runs', ({ start, cut }) => {
  let store: Store;
  let [working, listening]: QueueManager[] = [];
  const managerOf = (config: ConnectionConfig): QueueManager =>
    new QueueManager(
      { connectors: builtInConnectors, logger: new RecordingLogger() },
      { connections: { main: config }, default: 'main' },
    );

  beforeAll(async () => {
    store = await start();
    working = managerOf(store.config);
    await working.driver().migrations?.run?.();
  });
  beforeEach(() => {
    listening = managerOf(store.config);
  });
  afterEach(() => listening!.close());
  afterAll(async () => {
    await working!.close();
    await store.stop();
  });

  it('by their ids, also what happened before, each once', async () => {
    const worker = new Worker({ concurrency: 5, backoff: 0 }, working);
    const running = worker.run();
    const push = (title: string) => working!.connection().push(new Film(title));
    const early = await push('early');
    await eventually(async () => (await working!.connection().find(early)).state === 'completed');
    const ids = [early, await push('waits'), await push('broken')];
    const { events, end } = heardBy(listening!, { ids });
    const of = (place: number): JobEvent[] => events.filter(({ id }) => id === ids[place]);

    await eventually(() => of(0).length > 0 && of(1).some(({ type }) => type === 'progressed'));
    gate.open();
    await eventually(() => typesOf(of(1)).includes('completed') && typesOf(of(2)).includes('failed'));
    await worker.stop();
    await running;
    await listening!.close();
    await end;

    expect(typesOf(of(0))).toEqual(['completed']);
    expect(typesOf(of(1))).toEqual(['started', 'progressed', 'completed']);
    expect(of(1)[1]).toMatchObject({ name: 'Film', queue: 'default', attempt: 1, value: 0.5, text: 'half' });
    expect(of(2).at(-1)).toMatchObject({ type: 'failed', attempt: 2, error: expect.stringMatching(/^Error: no film/) });
    expect(JSON.stringify(events)).not.toContain('hunter2');
    expect(events.every(({ at }) => at instanceof Date)).toBe(true);
  });

  it('by their queue and names, once its workers know that somebody listens', async () => {
    const worker = new Worker({ queue: 'films,default', concurrency: 5, backoff: 0 }, working);
    const running = worker.run();
    const { events, end } = heardBy(listening!, { queue: 'films', names: ['Film'] });
    const push = (job: Film | Other, queue: string) => working!.connection().push(job, queue);
    await eventually(async () => {
      await push(new Film('first'), 'films');
      return typesOf(events).includes('completed');
    });
    const ids = [
      await push(new Film('broken'), 'films'),
      await push(new Other(), 'films'),
      await push(new Film('x'), 'default'),
    ];
    await eventually(() => events.some(({ id, type }) => id === ids[0] && type === 'failed'));
    await worker.stop();
    await running;
    await listening!.close();
    await end;

    expect(typesOf(events.filter(({ id }) => id === ids[0]))).toEqual([
      'started',
      'progressed',
      'released',
      'started',
      'progressed',
      'failed',
    ]);
    expect(events.some(({ id }) => id === ids[1] || id === ids[2])).toBe(false);
    expect(await working!.driver().records!.list(LISTENERS, { limit: 10 })).toEqual([]);
  });

  if (cut === undefined) return;
  it('also after the connection that listens was cut, which is opened again', async () => {
    const worker = new Worker({}, working);
    const running = worker.run();
    const { events, end } = heardBy(listening!, { names: ['Film'] });
    const isHeard = async (): Promise<boolean> => {
      const before = events.length;
      await working!.connection().push(new Film('x'));
      return eventually(() => events.length > before, { deadline: 1500 }).catch(() => false);
    };
    await eventually(isHeard);

    const { url } = store.config as { readonly url: string };
    expect(await cut(url)).toBe(1);

    await eventually(isHeard);
    await eventually(async () => (await cut(url)) === 1);
    await worker.stop();
    await running;
    await listening!.close();
    await end;
  });
});

describe('listening', () => {
  it('a worker observes no job and writes nothing while nobody listens, and stops when the last one has gone', async () => {
    const { manager, clock, bus } = testApplication();
    const worker = new Worker({}, manager);
    const running = worker.run();
    await elapse(clock, 3);
    const { size } = manager.observers;
    const records = manager.driver().records!;
    await bus.dispatch(new Film('x'));
    await elapse(clock, 3);
    expect(await records.list(EVENTS, { limit: 10 })).toEqual([]);

    await records.put([{ kind: LISTENERS, id: 'another process', value: '{"filters":[{"queue":"default"}]}' }], 60);
    await elapse(clock, 3);
    expect(manager.observers.size).toBe(size + 1);
    await bus.dispatch(new Film('y'));
    await elapse(clock, 1);
    expect(await records.list(EVENTS, { limit: 10 })).toHaveLength(1);

    await records.put([{ kind: LISTENERS, id: 'another process', value: '' }], 0);
    await elapse(clock, 3);
    expect(manager.observers.size).toBe(size);
    await worker.stop();
    await running;
    await manager.close();
  });

  it('a process hears at once of the jobs of its own workers, and each only once', async () => {
    const { manager, clock, bus } = testApplication();
    const { events, end } = heardBy(manager);
    const worker = new Worker({}, manager);
    const running = worker.run();
    await elapse(clock, 3);
    const id = await bus.dispatch(new Film('x'));

    await until(clock, () => typesOf(events).includes('completed'));
    await elapse(clock, 10);
    await worker.stop();
    await running;
    await manager.close();
    await end;

    expect(events.map(({ id: of, type }) => [of, type])).toEqual(
      ['started', 'progressed', 'completed'].map((type) => [id, type]),
    );
  });

  it('ends by break, return, an aborted signal and the end of the program', async () => {
    const { manager, clock } = testApplication();
    const connection = manager.connection();
    const before = manager.observers.size;
    const [returned, aborted, late] = [connection.events(), new AbortController(), AbortSignal.abort()];
    const reading = returned.next();
    const stopped = heardBy(manager, { signal: aborted.signal });
    expect(await connection.events({ signal: late }).next()).toEqual({ value: undefined, done: true });

    await returned.return?.();
    aborted.abort();

    expect(await reading).toEqual({ value: undefined, done: true });
    await stopped.end;
    expect(manager.observers.size).toBe(before);
    await clock.advance(0);
    expect(clock.pending).toBe(0);
    const last = heardBy(manager);
    await manager.close();
    await last.end;
  });

  it('a slow reader misses the oldest of more than a thousand events', async () => {
    const { manager, bus } = testApplication();
    const iteration = manager.connection().events({ names: ['Other'] });
    const ids = await bus.bulk(Array.from({ length: 600 }, () => new Other()));
    await new Worker({ stopWhenEmpty: true, concurrency: 100 }, manager).run();

    const events: JobEvent[] = [];
    for await (const event of iteration) if (events.push(event) === 1000) break;

    const ended = events.filter(({ type }) => type === 'completed').map(({ id }) => id);
    expect(ended).toEqual(ids.slice(100));
    await manager.close();
  });

  it('hears nothing from strange records', async () => {
    const { manager, clock, bus } = testApplication();
    const records = manager.driver().records!;
    const { events, end } = heardBy(manager);
    await elapse(clock, 1);
    const texts = [
      '',
      '[]',
      '{"first":1}',
      '{"first":"1","events":[]}',
      '{"first":1,"events":[null,7,{"type":"x"},{"type":"failed","id":1}]}',
    ];
    await records.put(
      texts.map((value, place) => ({ kind: EVENTS, id: `strange ${place}`, value })),
      60,
    );
    await records.put([{ kind: LISTENERS, id: 'strange', value: '{"filters":[null,{"ids":7},{"queue":1}]}' }], 60);
    await bus.dispatch(new Other());

    await new Worker({ stopWhenEmpty: true }, manager).run();
    await elapse(clock, 6);
    await manager.close();
    await end;

    expect(typesOf(events)).toEqual(['started', 'completed']);
  });

  it.each([
    [{ ids: 'a' }, 'ids', "Queue.events({ ids: 'a' }): give a list of 1 to 100 ids, as dispatch returned them."],
    [{ ids: [] }, 'ids', 'give a list of 1 to 100 ids'],
    [{ ids: [''] }, 'ids', 'give a list of 1 to 100 ids'],
    [{ ids: Array.from({ length: 101 }, (_, id) => String(id)) }, 'ids', 'give a list of 1 to 100 ids'],
    [{ ids: [Promise.resolve('a')] }, 'ids', 'give a list of 1 to 100 ids'],
    [{ names: [Film] }, 'names', 'give a list of 1 to 100 names of jobs.'],
    [{ id: 'a' }, 'id', 'give ids, queue, names or signal.'],
    [{ signal: {} }, 'signal', 'give the signal of an AbortController.'],
  ])('refuses %j', async (options, option, message) => {
    const { manager } = testApplication();

    expect(() => manager.connection().events(options as EventsOptions)).toThrow(
      expect.objectContaining({
        code: 'E_INVALID_EVENT_FILTER',
        message: expect.stringContaining(message) as string,
        facts: expect.objectContaining({ option }) as object,
      }),
    );
    await manager.close();
  });

  it('refuses a list of queues, and a connection that keeps no records', async () => {
    const { manager } = testApplication();
    const connection = manager.connection();
    expect(() => connection.events({ queue: 'a,b' })).toThrow(
      expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }),
    );
    Object.assign(manager.driver(), { records: undefined });
    expect(() => connection.events()).toThrow(expect.objectContaining({ code: 'E_NO_RECORDS' }));
    await manager.close();
  });
});

it('in a fake, what drain() runs is heard', async () => {
  const fake = Front.fake();
  const iteration = Front.events({ names: ['Film'] });
  const id = await Front.push(new Film('x'));
  await fake.drain();

  const events: JobEvent[] = [];
  for await (const event of iteration) if (events.push(event) === 3) break;

  expect(events.map(({ type, id: of }) => [type, of])).toEqual(
    ['started', 'progressed', 'completed'].map((type) => [type, id]),
  );
  fake.restore();
  await Front.close();
});
