import { join } from 'node:path';
import { Project, requireBuild, root } from '../support/project';
import { type RedisServer, startRedisServer } from '../support/redis-server';

const programOf = (name: string): string => join('samples', name, 'main.js');

// Concurrent, because whole programs talk to a mail server and wait for delays.

describe('the samples', () => {
  let server: RedisServer | undefined;

  beforeAll(async () => {
    requireBuild();
    server = await startRedisServer();
  });
  afterAll(() => server?.stop());

  /** Runs a sample in a temporary folder that also holds its data. That folder appears as `.` in the result. */
  const run = async (name: string, variables: NodeJS.ProcessEnv = {}, ...line: string[]): Promise<string[]> => {
    const project = new Project();
    try {
      project.linkPackage();
      for (const needed of ['nodemailer', 'smtp-server']) project.link(needed);
      project.copy(join(root, 'build/samples'), 'samples');
      const { code, stdout, stderr } = await project.run([programOf(name), ...line], variables);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout.replaceAll(project.folder, '.').trimEnd().split('\n');
    } finally {
      project.remove();
    }
  };

  const expectAllWelcomed = (lines: readonly string[]): void => {
    const table = Object.fromEntries(
      lines
        .flatMap((line) => [...line.matchAll(/^ (\S.*?) +(\d+)$/g)])
        .map(([, name, figure]) => [name, Number(figure)]),
    );
    expect(table).toEqual({
      subscribers: 200,
      'got the welcome mail': 199,
      '… and the follow-up': 199,
      'refused for the time being': 17,
      'jobs that were tried again': 12,
      'refused for good': 1,
      'jobs left in the queue': 0,
    });
    expect(lines.filter((line) => line.startsWith('Alert: '))).toEqual([
      expect.stringMatching(/@gone\.example.* 550 /),
    ]);
  };

  it.concurrent('welcome-mails sends each mail once, on the default SQLite file', async () => {
    const lines = await run('welcome-mails');
    expect(lines[0]).toContain('./onqueue.sqlite');
    expectAllWelcomed(lines);
  });

  it.concurrent('welcome-mails sends each mail once, on Redis if REDIS_URL is set', async () => {
    const lines = await run('welcome-mails', { REDIS_URL: server?.url });
    expect(lines[0]).toContain(server?.url);
    expectAllWelcomed(lines);
  });

  it.concurrent.each(['SQLite', 'Redis'])('image-pipeline ends its batch of chains once, on %s', async (store) => {
    const lines = await run('image-pipeline', store === 'Redis' ? { REDIS_URL: server?.url } : {});
    expect(lines.filter((line) => line.startsWith('progress'))).toHaveLength(4);
    expect(lines.slice(-3).toSorted()).toEqual([
      '300 pictures, 300 of 300 jobs done, 0 failed.',
      'finally: 300 of 300 jobs done',
      'then: 300 of 300 jobs done',
    ]);
  });

  it.concurrent.each(['SQLite', 'Redis'])(
    'import-with-steps is killed twice, does each step once and goes on with its rows, on %s',
    async (store) => {
      const lines = await run('import-with-steps', store === 'Redis' ? { REDIS_URL: server?.url } : {});
      const begun = lines.slice(0, 3).map((line) => Number(/behind row (\d+)/.exec(line)?.[1]));
      expect(begun[0]).toBe(0);
      expect(begun[1]).toBeGreaterThan(0);
      expect(begun[2]).toBeGreaterThan(begun[1]!);
      expect(lines.slice(3)).toEqual(['downloaded 1 time, charged 1 time, 1000 of 1000 rows', '0 jobs left']);
    },
  );

  it.concurrent('delay-and-retry waits, retries, fails and is retried by hand', async () => {
    const lines = await run('delay-and-retry');
    expect(lines[0]).toBe('4 jobs are ready, 2 are delayed');
    expect(lines.filter((line) => line.startsWith('reminder'))).toEqual([
      'reminder: at once',
      'reminder: at a moment',
      'reminder: in 800 ms',
    ]);
    expect(lines).toEqual(expect.arrayContaining(['figures fetched in attempt 3', 'file found in attempt 3']));
    expect(lines.filter((line) => line === 'PrintReport failed: the printer has no paper')).toHaveLength(2);
    expect(lines.slice(-4)).toEqual([
      'failed for good: PrintReport after 2 attempts',
      'the printer has paper again; jobs retried: 1',
      'report printed in attempt 1',
      'left: 0 jobs, 0 failed ones',
    ]);
  });

  it.concurrent('injection gives each run its own instances, and shares singletons', async () => {
    expect(await run('injection')).toEqual([
      'order of tea and cake: 10 euro',
      '  basket with 10 disposed of',
      'order of tea: 4 euro',
      '  basket with 4 disposed of',
      'receipt for Ada: a tea is 4 (attempt 1)',
      'stock counted with the same price list: true',
    ]);
  });

  it.concurrent('several-queues keeps strict order, shares by weight, and runs two workers', async () => {
    expect(await run('several-queues')).toEqual([
      'strictly in order: high, default, low',
      'fair: 80 jobs ran, both queues got their turn: true',
      'two workers shared the other 80',
      'high: 0 left',
      'default: 0 left',
      'low: 0 left',
    ]);
  });

  it.concurrent('fair-tenants lets a small tenant in beside a big one, and keeps an account in order', async () => {
    expect(await run('fair-tenants')).toEqual([
      'big: 3 in, 997 held',
      'small: 3 in, 7 held',
      'the ten of small ended among the first 30 jobs',
      'at most 3 of big ran at once',
      'with a limit of 5, 5 of big ran at once',
      'in order: rent 1, rent 2, rent 3',
      'in order: food 1, food 2, food 3',
    ]);
  });

  it.concurrent('hooks shows the order of hooks and middleware', async () => {
    const lines = await run('hooks');
    expect(lines.slice(0, 7)).toEqual([
      'before, attempt 1',
      '  { for museum',
      '    cat.png',
      '  }',
      'after',
      'reported: a hook that fails, once',
      'stopping: empty',
    ]);
    expect(lines.slice(-6)).toEqual([
      'before, attempt 2',
      '  { for museum',
      '  }',
      'exception: no picture',
      'failing: Resize after 2 attempts',
      'stopping: empty',
    ]);
  });

  it.concurrent('nightly-report sends its reports on the test clock, even in the night without 02:30', async () => {
    expect(await run('nightly-report')).toEqual([
      'comes up at 2027-03-27 02:30',
      'comes up at 2027-03-28 03:00, clocks change',
      'comes up at 2027-03-29 02:30',
      '3 reports were sent',
      'report 1: 2027-03-27T01:30:00.000Z',
      'report 2: 2027-03-28T01:00:00.000Z',
      'report 3: 2027-03-29T00:30:00.000Z',
      'removed 1, kept 2',
    ]);
  });

  it.concurrent('nightly-report live sends each occurrence once', async () => {
    const lines = await run('nightly-report', {}, 'live');
    const [first, ...ticks] = lines.slice(0, -1);
    expect(first).toMatch(/^a worker keeps its schedule in .*onqueue\.sqlite$/);
    expect(ticks).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^tick \S+:\d\d\.000Z$/) as unknown));
    expect(new Set(ticks).size).toBe(3);
    expect(lines.at(-1)).toMatch(/^every 1 s, last \S+Z$/);
  });

  it.concurrent('own-driver delivers through its custom driver', async () => {
    expect(await run('own-driver')).toEqual([
      'the jobs are kept in: arrays of process this one',
      'delivered to Ada in attempt 1',
      'delivered to Edsger in attempt 1',
      'delivered to Grace in attempt 2',
      'left: 0',
    ]);
  });
});
