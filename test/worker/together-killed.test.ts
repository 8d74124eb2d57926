import { Queue, Worker } from '../../src/index';
import { TemporaryDatabase } from '../connections/sql/open-database';
import { Child } from '../support/child-process';
import { Gathered, handling } from './together-killed';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
  Queue.configure({
    connections: { main: { driver: 'database', url: `sqlite:${database.file}`, retryAfter: 60 } },
    jobs: [Gathered],
  });
});

afterEach(async () => {
  await Queue.close();
  await database.dispose();
});

const program = (how: string): Child => new Child(require.resolve('./together-program'), database.file, how);

it('a process that is killed while it handles jobs together costs each of them a crash and no try', async () => {
  const recovered: unknown[] = [];
  Queue.recovered(({ crashes, job }) => recovered.push([crashes, job.attempts]));
  const handled: number[][] = [];
  handling.all = (jobs) => handled.push(jobs.map(({ place }) => place));
  await Queue.bulk([new Gathered(1), new Gathered(2), new Gathered(3)]);

  const child = program('for ever');
  await child.said(1);
  await child.kill();
  await new Worker({ maxJobs: 3, concurrency: 3 }).run();

  expect(child.lines).toEqual(['handles 3']);
  expect(recovered).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
  ]);
  expect(handled.flat().toSorted()).toEqual([1, 2, 3]);
  expect(await Queue.failed.list()).toEqual([]);
  expect(await Queue.size()).toBe(0);
});

it('a process that is told to end while it gathers handles what it has, and then ends', async () => {
  await Queue.bulk([new Gathered(1), new Gathered(2)]);

  const child = program('until stopped');
  await child.said(2);
  child.end();
  await child.exited;

  expect(child.lines).toEqual(['gathers', 'gathers', 'handles 2']);
  expect(await Queue.size()).toBe(0);
});
