import { noFailedStore } from '../../src/application/failed/errors';
import type { FailedStore } from '../../src/connections/failed-store';
import { Job } from '../../src/job/job';
import { connectMemory } from '../../src/connections/memory/connection';
import type { Connection, Settlement } from '../../src/connections/contract';
import { QueueUnavailableError } from '../../src/connections/errors';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, type TestApplication } from '../support/application';

type End = 'completes' | 'releases' | 'fails';

let ran: string[];
let told: string[];
let application: TestApplication;
let connection: Connection;
/** The error with which the store refuses a settlement. Undefined if it accepts it. */
let refusal: (settlement: Settlement) => Error | undefined;
let worker: Worker;
let ended: Promise<unknown>;

@Job({ tries: 2, maxExceptions: 1 })
class Probe extends Job {
  constructor(
    readonly text: string,
    readonly end: End = 'completes',
  ) {
    super();
  }
  handle(): void {
    ran.push(this.text);
    if (this.end === 'releases') this.release('1m');
    if (this.end === 'fails') throw new Error(`broken ${'x'.repeat(2000)} 😀`);
  }
  failed(error: Error & { code?: string }): void {
    told.push(`${this.text} ${error.code ?? error.name}`);
  }
}

const refused = Object.assign(new Error('value too long. Widen the column.'), { code: 'E_PROBE' });

/** Whether the settlement is for the job with this text. */
const isOf = ({ reservation }: Settlement, text: string): boolean => reservation.payload.includes(`"${text}"`);

/** The connection with some of its parts replaced. */
const changed = (target: Connection, parts: Partial<Connection>): Connection =>
  new Proxy(target, {
    get(_, property): unknown {
      if (property in parts) return parts[property as keyof Connection];
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

function refusing(target: Connection): Connection {
  const check = (settlements: readonly Settlement[]): void => {
    for (const settlement of settlements) {
      const error = refusal(settlement);
      if (error !== undefined) throw error;
    }
  };
  return changed(target, {
    exchange: async (settlements, wanted) => {
      check(settlements);
      return target.exchange(settlements, wanted);
    },
  });
}

beforeEach(() => {
  ran = [];
  told = [];
  refusal = () => undefined;
});

afterEach(async () => {
  refusal = () => undefined;
  const stopped = worker.stop();
  await elapse(application.clock, 1);
  await stopped;
  await ended;
  await application.manager.close();
});

/** @param own changes the connection as a test needs it */
function start(
  concurrency = 5,
  own: (connection: Connection) => Connection = (given) => given,
  maxJobs?: number,
): void {
  application = testApplication({
    connections: { memory: { driver: 'memory' }, other: { driver: 'memory' } },
    default: 'memory',
    failed: 'other',
  });
  application.manager.addConnector('memory', (config, context) => {
    const made = connectMemory(config, context);
    return context.name === 'memory' ? own(refusing(made)) : made;
  });
  connection = application.manager.driver();
  worker = new Worker({ concurrency, maxJobs }, application.manager);
  ended = worker.run();
}

const dispatch = async (...jobs: readonly Probe[]): Promise<void> => {
  for (const job of jobs) await application.bus.dispatch(job);
};
const texts = Array.from({ length: 20 }, (_, index) => `good ${index}`);
const others = texts.map((text) => new Probe(text));
const errors = (): string[] => application.log.messages('error');

/** A connection whose failed jobs are kept elsewhere. */
const withoutFailedStore = (given: Connection): Connection => changed(given, { failed: undefined });

describe.each([1, 5])('an outcome that the store refuses for good, at concurrency %d', (concurrency) => {
  it('makes the job fail, whose retry goes on with its chain, and does not hold up others', async () => {
    start(concurrency);
    refusal = (settlement) => (isOf(settlement, 'bad') && settlement.outcome === 'completed' ? refused : undefined);
    await dispatch(new Probe('bad'), ...others);

    await elapse(application.clock, 5);

    expect(ran.toSorted()).toEqual(['bad', ...texts].toSorted());
    expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 20, failed: 1 } });
    expect(told).toEqual(['bad E_OUTCOME_REFUSED']);
    expect(errors()[0]).toMatch(
      /^The store refused to remove Probe .* as completed: it was kept as failed\. .*Widen the column\.$/,
    );
    expect(application.log.lines.find(({ level }) => level === 'error')?.facts).toMatchObject({
      code: 'E_PROBE',
      job: 'Probe',
    });
  });

  it('is left to its lease if the store does not take the failure either, and does not hold up others', async () => {
    start(concurrency);
    refusal = (settlement) => (isOf(settlement, 'bad') ? refused : undefined);
    await dispatch(new Probe('bad'), ...others);

    await elapse(application.clock, 5);
    expect(ran.toSorted()).toEqual(['bad', ...texts].toSorted());
    expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 20 } });
    expect(errors()).toEqual([
      expect.stringMatching(/^The store refused to remove Probe .*: it runs again when its lease ends\./),
    ]);

    refusal = () => undefined;
    await elapse(application.clock, 60);
    expect(worker.health().outcomes).toMatchObject({ completed: 21, lost: 0 });
    expect(ran.filter((text) => text === 'bad')).toHaveLength(2);
  });

  it('makes a job fail that was released', async () => {
    start(concurrency);
    refusal = ({ outcome }) => (outcome === 'released' ? refused : undefined);
    await dispatch(new Probe('bad', 'releases'), ...others);

    await elapse(application.clock, 5);

    expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 20, failed: 1, released: 0 } });
    expect(told).toEqual(['bad E_OUTCOME_REFUSED']);
    expect(await application.manager.failed.list()).toMatchObject([
      { name: 'Probe', exception: expect.stringContaining('Widen the column.') as string },
    ]);
  });

  it('is stored with a shortened error if the job failed', async () => {
    start(concurrency);
    refusal = (settlement) =>
      settlement.outcome === 'failed' && /[^\n -~]/u.test(settlement.failure.exception) ? refused : undefined;
    await dispatch(new Probe('bad', 'fails'), ...others);

    await elapse(application.clock, 5);

    const [entry] = await application.manager.failed.list();
    expect(entry!.exception).toMatch(/^Error: broken x+$/);
    expect(told).toEqual(['bad Error']);
    expect(errors()).toEqual([
      expect.stringMatching(/its error cut short\. value too long/) as string,
      expect.stringMatching(/^Probe failed: broken/) as string,
    ]);
    expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 20, failed: 1 } });
  });
});

describe('a failed store of another connection', () => {
  const keeper = (): FailedStore => application.manager.driver('other').failed ?? raise();

  it('that refuses one failure does not hold up other outcomes', async () => {
    start(5, withoutFailedStore);
    const put = jest.spyOn(keeper(), 'put').mockRejectedValue(refused);
    await dispatch(new Probe('bad', 'fails'), ...others);

    await elapse(application.clock, 5);

    expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 20, failed: 0 } });
    expect(await connection.queues.counts('default')).toMatchObject({ reserved: 1 });
    expect(errors()).toEqual([expect.stringContaining('The store refused to keep Probe')]);

    put.mockRestore();
    await elapse(application.clock, 60);
    expect(await application.manager.failed.list()).toMatchObject([{ connection: 'memory', name: 'Probe' }]);
    expect(ran).toHaveLength(22);
  });

  it('that refuses one failure leaves the job buried in its own store, if that can bury jobs', async () => {
    const buried: string[] = [];
    const burying = (given: Connection): Connection =>
      changed(withoutFailedStore(given), {
        buried: { count: async () => 0, kick: async () => 0, flush: async () => 0 },
        exchange: async (settlements, wanted) => {
          buried.push(...settlements.filter(({ outcome }) => outcome === 'failed').map(({ outcome }) => outcome));
          return given.exchange(settlements, wanted);
        },
      });
    start(5, burying);
    jest.spyOn(keeper(), 'put').mockRejectedValue(refused);
    await dispatch(new Probe('bad', 'fails'), ...others);

    await elapse(application.clock, 5);

    expect(buried).toEqual(['failed']);
    expect(errors()[0]).toContain('it was buried where it is');
    expect(worker.health().outcomes).toMatchObject({ completed: 20, failed: 1 });
  });

  it('that is away does not hold up other outcomes', async () => {
    start(5, withoutFailedStore);
    const facts = { connection: 'other', store: 'Probe', address: 'there', consequence: 'nothing was kept' };
    const put = jest.spyOn(keeper(), 'put').mockRejectedValue(new QueueUnavailableError(facts));
    await dispatch(new Probe('bad', 'fails'), ...others);

    await elapse(application.clock, 60);
    expect(worker.health().outcomes).toMatchObject({ completed: 20, failed: 0 });

    put.mockRestore();
    await elapse(application.clock, 5);
    expect(worker.health().outcomes).toMatchObject({ failed: 1 });
    expect(await application.manager.failed.list()).toHaveLength(1);
  });
});

it('a worker whose store refuses every outcome runs few jobs and is not ready', async () => {
  start(1);
  refusal = () => refused;
  await dispatch(...others);

  await elapse(application.clock, 120);

  expect(new Set(ran).size).toBeLessThan(6);
  expect(worker.health().ready).toBe(false);
  refusal = () => undefined;
  await elapse(application.clock, 120);
  expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 20, lost: 0 } });
});

it('a refused outcome is lost if the job is no longer reserved by its worker', async () => {
  start();
  refusal = (settlement) => {
    if (!isOf(settlement, 'bad')) return undefined;
    void connection.queues.clear!('default');
    return refused;
  };
  await dispatch(new Probe('bad'));

  await elapse(application.clock, 5);

  expect(worker.health().outcomes).toMatchObject({ lost: 1, completed: 0, failed: 0 });
});

it('a worker with maxJobs ends after the last job even if the store refuses its outcome', async () => {
  start(1, undefined, 1);
  let reason: unknown;
  void ended.then((end) => (reason = end));
  refusal = () => refused;
  await dispatch(new Probe('bad'));

  await elapse(application.clock, 5);

  expect(reason).toBe('max-jobs');
  expect(errors().at(-1)).toContain('it runs again when its lease ends');
});

it('jobs that were not started go back one by one if one of them is refused', async () => {
  start(5, (given) => {
    let isFirst = true;
    return changed(given, {
      // The stop comes while the store hands out jobs.
      exchange: async (settlements, wanted) => {
        const settled = await given.exchange(settlements, wanted);
        if (settled.reply.reservations.length > 0 && isFirst) {
          isFirst = false;
          void worker.stop();
        }
        return settled;
      },
    });
  });
  refusal = (settlement) => (isOf(settlement, 'bad') ? refused : undefined);
  await application.bus.bulk([new Probe('bad'), ...others.slice(0, 4)]);

  await elapse(application.clock, 10);
  await ended;

  expect(ran).toEqual([]);
  expect(await connection.queues.counts('default')).toEqual({ ready: 4, delayed: 0, reserved: 1 });
});

it('jobs are settled without a reserve if the store refuses both in one call', async () => {
  start(5, (given) =>
    changed(given, {
      exchange: async (settlements, wanted) => {
        if (settlements.length > 0 && wanted !== undefined) throw refused;
        return given.exchange(settlements, wanted);
      },
    }),
  );
  await dispatch(...others);

  await elapse(application.clock, 10);

  expect(worker.health().outcomes).toMatchObject({ completed: 20 });
  expect(errors()).toEqual([]);
});

function raise(): never {
  throw noFailedStore(['other']);
}

it('an outcome that the store has taken is not written again because the rest of the reply makes no sense', async () => {
  let isSenseless = true;
  start(1, (given) =>
    changed(given, {
      exchange: async (settlements, wanted) => {
        const settled = await given.exchange(settlements, wanted);
        if (settlements.length === 0 || !isSenseless) return settled;
        isSenseless = false;
        return { ...settled, reply: {} as never };
      },
    }),
  );
  await dispatch(new Probe('one'));
  await elapse(application.clock, 5);
  await dispatch(new Probe('two'));
  await elapse(application.clock, 5);

  expect(ran).toEqual(['one', 'two']);
  expect(worker.health().outcomes).toMatchObject({ completed: 2, lost: 0 });
});

it('a wait whose reply makes no sense is followed by another', async () => {
  let waits = 0;
  start(1, (given) =>
    changed(given, {
      exchange: async (settlements, wanted) => {
        const settled = await given.exchange(settlements, wanted);
        if (wanted?.within === undefined) return settled;
        waits += 1;
        return waits === 1 ? { ...settled, reply: { setAside: [] } as never } : settled;
      },
    }),
  );
  await elapse(application.clock, 5);
  expect(waits).toBeGreaterThan(1);

  await dispatch(new Probe('one'));
  await elapse(application.clock, 1);
  expect(ran).toEqual(['one']);
});
