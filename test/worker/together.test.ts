/** Jobs that are handled together: one call for many, and an outcome for each. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject } from '../../src/container/parameters';
import { Job } from '../../src/job/job';
import type { MiddlewareFunction } from '../../src/job/middleware';
import { Handles } from '../../src/job/declare';
import { Worker } from '../../src/worker/worker';
import { runJob } from 'onqueue/testing';
import { elapse, Gate, testApplication, type TestApplication, until } from '../support/application';

class Search {
  readonly name = 'search';
}

let calls: number[][];
let gate: Gate;
let application: TestApplication;
let says: (jobs: readonly Index[]) => void;

@Job({ name: 'Index', tries: 2, together: { most: 100, wait: '1s' } })
class Index extends Job {
  constructor(readonly n: number) {
    super();
  }
  static async handleAll(jobs: readonly Index[], @Inject(Search) search: Search): Promise<void> {
    expect(search.name).toBe('search');
    calls.push(jobs.map(({ n }) => n));
    await gate.opened;
    says(jobs);
  }
}

beforeEach(() => {
  calls = [];
  gate = new Gate();
  gate.open();
  says = () => undefined;
  application = testApplication();
});
afterEach(() => application.manager.close());

const push = (count: number): Promise<readonly string[]> =>
  application.manager.connection().bulk(Array.from({ length: count }, (_, n) => new Index(n)));

const worker = (concurrency = 100): Worker => new Worker({ stopWhenEmpty: true, concurrency }, application.manager);

it('a full group is called at once, the rest when it has waited, and each job completes', async () => {
  await push(250);
  const running = worker().run();
  await until(application.clock, () => calls.flat().length === 200);
  await elapse(application.clock, 1);
  await running;

  expect(calls.map(({ length }) => length)).toEqual([100, 100, 50]);
  expect(await application.manager.connection().size()).toBe(0);
});

it('one of a hundred fails by itself, another one comes back, and the others complete', async () => {
  await push(100);
  says = (jobs) => {
    if (jobs.length !== 100) return;
    jobs[7]!.fail(new Error('refused'));
    jobs[8]!.release('10s');
  };
  await worker().run();

  const failed = await application.manager.failed.list();
  expect(failed).toMatchObject([{ name: 'Index', attempts: 1, exception: expect.stringMatching(/refused/) as string }]);
  expect(await application.manager.connection().counts()).toMatchObject({ ready: 0, delayed: 1, reserved: 0 });
});

it('each job of a group has steps of its own, and its next attempt goes on after those that it has done', async () => {
  const done: string[] = [];
  @Job({ name: 'Steps', tries: 2, checkpoints: true, together: { most: 3, wait: '1s' } })
  class Steps extends Job {
    constructor(readonly n: number) {
      super();
    }
    static async handleAll(jobs: readonly Steps[]): Promise<void> {
      for (const job of jobs) await job.step('prepare', () => done.push(`prepare ${job.n}`));
      for (const job of jobs) if (job.n === 1 && job.attempts === 1) job.release();
      for (const job of jobs)
        if (job.n !== 1 || job.attempts > 1) await job.step('send', () => done.push(`send ${job.n}`));
    }
  }
  const ids = await application.manager.connection().bulk([0, 1, 2].map((n) => new Steps(n)));

  const running = worker(3).run();
  await elapse(application.clock, 3);
  await running;

  expect(done).toEqual(['prepare 0', 'prepare 1', 'prepare 2', 'send 0', 'send 2', 'send 1']);
  expect(await application.manager.connection().find(ids[1]!)).toMatchObject({ state: 'completed', attempts: 2 });
});

it('runs in the async context of none of its jobs, and each job goes on in its own', async () => {
  const tenant = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  @Job({ name: 'Tenants', together: { most: 2, wait: '1s' } })
  class Tenants extends Job {
    constructor(readonly tenant: string) {
      super();
    }
    middleware(): MiddlewareFunction[] {
      return [
        (_job, next) =>
          tenant.run(this.tenant, async () => {
            await next();
            seen.push(tenant.getStore());
          }),
      ];
    }
    static handleAll(jobs: readonly Tenants[]): void {
      seen.push(`${jobs.length} of ${tenant.getStore()}`);
    }
  }
  await application.manager.connection().bulk(['acme', 'globex', 'initech'].map((name) => new Tenants(name)));

  const running = worker(3).run();
  await until(application.clock, () => seen.length === 3);
  await elapse(application.clock, 2);
  await running;

  expect(seen).toEqual(['2 of undefined', 'acme', 'globex', '1 of undefined', 'initech']);
  seen.length = 0;
  await runJob(new Tenants('alone'));
  expect(seen).toEqual(['1 of alone', 'alone']);
});

it('an error fails the attempt of all that have not said otherwise', async () => {
  await push(10);
  let left = 1;
  says = (jobs) => {
    if (left-- <= 0) return;
    jobs[0]!.delete();
    throw new Error('the index is away');
  };
  const running = worker(10).run();
  await until(application.clock, () => calls.length === 1);
  await elapse(application.clock, 2);
  await running;

  expect(calls.map((call) => call.toSorted((a, b) => a - b))).toEqual([
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  ]);
  expect(await application.manager.failed.list()).toEqual([]);
});

it('a group is called when all slots wait, and the log says that it can never be full', async () => {
  await push(20);
  await worker(10).run();

  expect(calls.map(({ length }) => length)).toEqual([10, 10]);
  expect(application.log.messages('warn')).toEqual([
    'Index gathers up to 100 jobs, but its worker has 10 slots, so that its groups have no more: raise concurrency to 100, or lower most.',
  ]);
});

it('a worker that stops calls the group that it gathers at once', async () => {
  await push(3);
  const one = new Worker({ concurrency: 100 }, application.manager);
  const running = one.run();
  await until(application.clock, () => [...application.manager.drivers].length > 0);
  for (let turn = 0; turn < 50; turn += 1) await application.clock.advance(0);
  expect(calls).toEqual([]);

  await one.stop();
  await running;

  expect(calls).toEqual([[0, 1, 2]]);
  expect(await application.manager.connection().size()).toBe(0);
});

it('a job whose next crash would be its last takes no others with it', async () => {
  const suspect = `{"job":"Index","data":{"n":99},"id":"suspect","crashes":2,"attempts":0}`;
  await application.manager.driver().push('default', [{ payload: suspect }]);
  await push(2);
  const running = worker(10).run();
  await elapse(application.clock, 5);
  await running;

  expect(calls).toEqual([[0, 1], [99]]);
});

it('a cancelled job leaves the group, and the others go on', async () => {
  const ids = await push(3);
  const running = worker().run();
  for (let turn = 0; turn < 50; turn += 1) await application.clock.advance(0);
  await application.manager.connection().cancel(ids[1]!);
  await elapse(application.clock, 12);
  await running;

  expect(calls.flat()).not.toContain(1);
  expect(await application.manager.connection().size()).toBe(0);
  expect(await application.manager.failed.list()).toEqual([]);
});

it('a single run, a sync dispatch and a drain call it with one job', async () => {
  const { outcome } = await runJob(new Index(1));
  await application.bus.dispatchSync(new Index(2));

  expect(outcome).toBe('completed');
  expect(calls).toEqual([[1], [2]]);
});

it('what cannot work is refused when it is declared', () => {
  const declare =
    (options: object, target = class Refused extends Job {}) =>
    () =>
      Job(options)(target);
  const both = class Both extends Job {
    static handleAll(): void {}
    handle(): void {}
  };
  const all = class All extends Job {
    static handleAll(): void {}
  };

  expect(declare({ together: 100 })).toThrow(
    "give { most, wait }, such as { most: 100, wait: '1s' }".replace('give', 'Give'),
  );
  expect(declare({ together: { most: 1, wait: '1s' } })).toThrow('most is a number from 2');
  expect(declare({ together: { most: 9, wait: '2m' } }, all)).toThrow('give a shorter wait');
  expect(declare({ together: { most: 9, wait: '1s' } }, both)).toThrow('has handle() and handleAll(): remove one');
  expect(declare({ together: { most: 9, wait: '1s' } })).toThrow('no method `static async handleAll(jobs)`');
  expect(declare({}, all)).toThrow('needs together');
  expect(() => {
    @Handles(Index as never)
    class Other {
      handle(): void {}
    }
    return Other;
  }).toThrow('its own handleAll() handles its jobs');
});
