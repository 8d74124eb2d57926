import { builtInConnectors } from '../../../src/connections/built-in';
import { MemoryConnection } from '../../../src/connections/memory/connection';
import { QueueUnavailableError } from '../../../src/connections/errors';
import { Job } from '../../../src/job/job';
import { uniqueKey, withTies, type Ties } from '../../../src/payload/ties';
import type { Connection, Entry } from '../../../src/connections/contract';
import type { Size } from '../../../src/connections/driver';
import { QueueManager } from '../../../src/application/queue-manager';
import { TestClock } from '../../../src/testing/test-clock';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';

type Mood = 'well' | 'away' | 'uncertain' | 'refusing' | 'broken';

/** A memory connection in a mood that the test sets. `refusing`: it answers but accepts no jobs. */
class Moody {
  mood: Mood = 'well';
  pushes = 0;
  looks = 0;

  constructor(readonly connection: Connection) {
    const { push, queues } = connection;
    const { counts } = queues;
    connection.push = async (queue, entries) => {
      this.pushes += 1;
      if (this.mood === 'broken') throw new TypeError('a mistake of its own');
      if (this.mood === 'uncertain') await push.call(connection, queue, entries);
      if (this.mood !== 'well') throw this.#unavailable();
      return push.call(connection, queue, entries);
    };
    queues.counts = async (queue) => {
      this.looks += 1;
      if (this.mood === 'away' || this.mood === 'uncertain') throw this.#unavailable();
      return counts.call(queues, queue);
    };
  }

  get texts(): Promise<readonly string[]> {
    return this.connection.queues.peek!('default', 'ready', 100).then((jobs) =>
      jobs.map(({ payload }) => String(payload)),
    );
  }

  #unavailable(): QueueUnavailableError {
    const { name } = this.connection;
    return new QueueUnavailableError({
      connection: name,
      store: 'Memory',
      address: name,
      consequence: 'nothing was queued',
      reason: `${name} is ${this.mood}`,
      uncertain: this.mood === 'uncertain',
    });
  }
}

@Job()
class Ring extends Job {
  handle(): void {}
}

@Job()
class Carry extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {}
}

const entry = (payload: string): Entry => ({ payload });
/** A job whose unique key is its id. An id that begins with `large` makes it fill a page. */
const tied = (id: string): Entry => {
  const ties: Ties = { unique: { key: uniqueKey('Ring', id), until: 'end' } };
  const text = 'x'.repeat(id.startsWith('large') ? 600_000 : 1);
  return {
    payload: withTies(
      `{"displayName":"Ring","job":"onqueue","data":{},"text":"${text}","id":"${id}","attempts":0}`,
      ties,
    ),
    ties,
  };
};

let clock: TestClock;
let log: RecordingLogger;
let manager: QueueManager;
let first: Moody;
let second: Moody;
let both: Connection;

beforeEach(() => {
  clock = new TestClock();
  log = new RecordingLogger();
  manager = new QueueManager(
    { connectors: builtInConnectors, logger: log, clock, random: () => 1 },
    {
      default: 'both',
      connections: {
        first: { driver: 'memory' },
        second: { driver: 'memory' },
        both: { driver: 'failover', connections: ['first', 'second'] },
      },
    },
  );
  first = new Moody(manager.driver('first'));
  second = new Moody(manager.driver('second'));
  both = manager.driver('both');
});

afterEach(() => manager.close());

const push = (text: string): Promise<unknown> => both.push('default', [entry(text)]);
/** Makes the first connection fail, and a push notice it. */
const lose = async (mood: Mood = 'away'): Promise<void> => {
  first.mood = mood;
  await push('lost');
};
const said = (): string[] => log.lines.map(({ level, message }) => `${level}: ${message}`);

describe('a dispatch through a failover', () => {
  it('goes to the first of its connections, and to no other', async () => {
    await push('a');
    expect([await first.texts, await second.texts]).toEqual([['a'], []]);
  });

  it('goes to the second while the first is away, and the first is not waited for again', async () => {
    await lose();
    await push('a');
    await push('b');
    expect(await second.texts).toEqual(['lost', 'a', 'b']);
    expect(first.pushes).toBe(1);
  });

  it('returns the results of unique jobs from the store that took them, even over several pages', async () => {
    const pushes = (ids: readonly string[]) => both.push('default', ids.map(tied));
    expect(await pushes(['a', 'large', 'larger'])).toBeUndefined();
    const held = (duplicate: string) => ({ duplicate });
    const again = [held('large'), held('larger'), held('a'), held('b'), 'queued', held('large')];
    expect(await pushes(['b', 'large', 'larger', 'a', 'b', 'c', 'large'])).toEqual(['queued', ...again]);
    await lose();
    expect(await pushes(['a', 'a'])).toEqual(['queued', { duplicate: 'a' }]);
  });

  it('skips connections without unique keys for a unique job, and is refused if no other takes it', async () => {
    Object.assign(second.connection, { keys: undefined });
    await lose();
    await expect(both.push('default', [tied('a')])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.not.stringContaining('Neither did') as string,
    });
    expect(await second.texts).toEqual(['lost']);
    first.mood = 'well';
    expect(await both.push('default', [tied('a')])).toBeUndefined();
  });

  it('returns to the first connection when that answers, with one dispatch as a trial', async () => {
    await lose();
    first.mood = 'well';
    await push('before anybody looked');
    await clock.advance(1);
    await push('who has it looked at');
    await clock.advance(0);
    await Promise.all([push('first to try'), push('beside it')]);
    await push('after it');
    expect(await first.texts).toEqual(['first to try', 'after it']);
    expect(await second.texts).toEqual(['lost', 'before anybody looked', 'who has it looked at', 'beside it']);
  });

  it('shows the connection in use in the health of workers while it is not the first', async () => {
    const worker = new Worker({}, manager);
    const ended = worker.run();
    const standIns = (): object => worker.health().standIns;
    await push('well');
    expect(standIns()).toEqual({});
    await lose();
    expect(standIns()).toEqual({ both: 'second' });

    first.mood = 'well';
    await clock.advance(1);
    await push('who has it looked at');
    await clock.advance(0);
    await push('first again');

    expect(standIns()).toEqual({});
    await worker.stop();
    await ended;
  });

  it('checks a connection that is away once a second, however much is dispatched', async () => {
    await lose();
    for (let number = 0; number < 30; number += 1) {
      await push(`${number}`);
      await clock.advance('100ms');
    }
    expect([first.looks, first.pushes]).toEqual([2, 1]);
  });

  it('tries a connection that answers but accepts nothing less and less often', async () => {
    await lose('refusing');
    const tried: number[] = [];
    for (let second = 0; second < 60; second += 1) {
      await push(`${second}`);
      await clock.advance('500ms');
      await push(`${second}`);
      await clock.advance('500ms');
      if (first.pushes > tried.length + 1) tried.push(second);
    }
    expect(tried.length).toBeGreaterThan(2);
    expect(tried.length).toBeLessThan(6);
    expect(await first.texts).toEqual([]);
  });

  it('is refused if its answer was lost, because the first connection may have the job', async () => {
    first.mood = 'uncertain';
    await expect(push('a')).rejects.toMatchObject({ facts: { connection: 'first', uncertain: true } });
    await push('b');
    expect([await first.texts, await second.texts]).toEqual([['a'], ['b']]);
  });

  it('is refused with the errors of all connections if none accepts it, and then tries all of them again', async () => {
    first.mood = second.mood = 'away';
    const refused = manager.connection().pushRaw('{"job":"probe","displayName":"Probe"}');
    await expect(refused).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { connection: 'second' } });
    await expect(refused).rejects.toThrow(/second is away.*was not queued.*'first' \(first is away\)/);
    first.mood = 'well';
    await push('a');
    expect(await first.texts).toEqual(['a']);
  });

  it('fails if a connection throws an unexpected error', async () => {
    first.mood = 'broken';
    await expect(push('a')).rejects.toThrow(TypeError);
    expect(await second.texts).toEqual([]);
  });

  it('goes page by page, so that no job is pushed to both', async () => {
    const take = first.connection.push.bind(first.connection);
    first.connection.push = async (queue, entries) => {
      await take(queue, entries);
      first.mood = 'away';
    };
    await both.push(
      'default',
      Array.from({ length: 150 }, (_, at) => entry(`${at}`)),
    );
    expect([await first.texts, await second.texts].map(({ length }) => length)).toEqual([100, 50]);
  });

  it('keeps its delay and its queue', async () => {
    first.mood = 'away';
    await manager.connection().laterOn('slow', '5m', new Ring());
    expect(await second.connection.queues.counts('slow')).toEqual({ ready: 0, delayed: 1, reserved: 0 });
  });
});

describe('an outage of the first connection', () => {
  it('is logged once at its start and once at its end', async () => {
    await lose();
    await push('a');
    await clock.advance(1);
    first.mood = 'well';
    await push('b');
    await clock.advance(0);
    await push('c');
    expect(said()).toEqual([
      expect.stringMatching(/^error: 'first' takes no jobs of 'both'.*first is away/),
      "info: 'first' takes jobs of 'both' again.",
    ]);
  });

  it('is passed to onError', async () => {
    const heard: unknown[] = [];
    manager.onError((error, { connection }) => heard.push([connection, error]));
    await lose();
    expect(heard).toEqual([['first', expect.any(QueueUnavailableError)]]);
    expect(said()).toEqual([]);
  });
});

describe('a worker of a failover', () => {
  it('takes jobs of the first connection only, and logs it once', async () => {
    await lose();
    first.mood = 'well';
    await manager.connection('first').push(new Ring());
    await new Worker({ once: true }, manager).run();
    expect(await second.texts).toEqual(['lost']);
    expect(said().filter((line) => line.includes('onqueue work second'))).toHaveLength(1);
  });

  it('checks the tables of the first connection before it takes a job', async () => {
    const check = jest.fn(async () => undefined);
    Object.defineProperty(first.connection, 'migrations', { value: { check } });
    await new Worker({ stopWhenEmpty: true }, manager).run();
    expect(check).toHaveBeenCalledTimes(1);
  });

  it('makes as many calls at once as the first connection allows', () => {
    Object.defineProperty(first.connection, 'atOnce', { value: { calls: 2, pushes: 9 } });
    expect(both.atOnce).toEqual({ calls: 2 });
  });

  it('keeps failed jobs in the store of the first connection, where each is listed once', async () => {
    await manager.connection().pushRaw('{"displayName":"Nobody","job":"onqueue","data":null,"attempts":9}');
    await new Worker({ once: true, tries: 1 }, manager).run();
    const listed = await manager.failed.list();
    expect(listed.map(({ connection }) => connection)).toEqual(['first']);
    expect(await manager.failed.retry('all')).toBe(1);
    expect(await first.texts).toHaveLength(1);
  });
});

describe('the check of a failover', () => {
  const check = () => both.diagnose();

  it('says where jobs go', async () => {
    expect(await check()).toEqual([{ level: 'ok', subject: 'both', message: "jobs go to 'first'" }]);
  });

  it('names connections that take no jobs, and where jobs go instead', async () => {
    first.mood = 'away';
    expect(await check()).toEqual([
      { level: 'ok', subject: 'both', message: "jobs go to 'second'" },
      { level: 'warning', subject: 'both', message: expect.stringContaining('first is away') },
    ]);
    second.mood = 'away';
    expect((await check())[0]).toMatchObject({ level: 'error', message: 'no connection takes jobs' });
  });

  it('reports jobs that wait where no worker of the failover looks', async () => {
    await second.connection.push('default', [entry('a')]);
    expect((await check())[1]?.message).toMatch(/^1 job.*onqueue work second/);
  });

  it('shows the addresses of all connections', () => {
    expect(both.address).toBe(`${first.connection.address}, else ${second.connection.address}`);
    expect(first.connection).toBeInstanceOf(MemoryConnection);
  });
});

it.each([
  ['the first', { first: '2kb', second: '8kb' }],
  ['the second', { first: '8kb', second: '2kb' }],
  ['the failover itself', { first: '8kb', second: '8kb', both: '2kb' }],
] as const)('accepts no longer payload than %s, whichever is away', async (_who, limits: Record<string, Size>) => {
  const sized = new QueueManager(
    { connectors: builtInConnectors, logger: log, clock },
    {
      default: 'both',
      connections: {
        first: { driver: 'memory', maxPayload: limits['first'] },
        second: { driver: 'memory', maxPayload: limits['second'] },
        both: { driver: 'failover', connections: ['first', 'second'], maxPayload: limits['both'] },
      },
    },
  );

  await sized.connection().push(new Carry('x'.repeat(1024)));
  await expect(sized.connection().push(new Carry('x'.repeat(2048)))).rejects.toMatchObject({
    code: 'E_PAYLOAD_TOO_LARGE',
    facts: { connection: 'both', limit: 2048 },
  });
  await sized.close();
});
