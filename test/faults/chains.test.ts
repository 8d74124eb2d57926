import { JobBus } from '../../src/dispatch/bus';
import { builtInConnectors, QueueManager, silentLogger, Worker } from '../../src/index';
import { Job } from '../../src/job/job';
import { elapse } from '../support/application';
import { eventually } from '../support/eventually';
import { requireBuild } from '../support/project';
import { startRedisServer } from '../support/redis-server';
import { faultyApplication } from './faulty-connection';
import { FaultyProxy } from './kit/faulty-proxy';
import { Link } from './kit/programs/jobs';
import { Stage } from './kit/stage';
import type { WorkerProcess } from './kit/worker-process';

/** Seconds. The lease of a worker that is killed or frozen. The leases of the others last as long as they need. */
const BRIEF = 0.2;
const CAUGHT = 9;

let ran: number[];
let inHandle: () => void;

@Job({ tries: 1 })
class Step extends Job {
  constructor(readonly place: number) {
    super();
  }
  handle(): void {
    ran.push(this.place);
    inHandle();
  }
}

const steps = [1, 2, 3, 4].map((place) => new Step(place));

beforeAll(() => requireBuild());
beforeEach(() => {
  ran = [];
  inHandle = () => undefined;
});

describe.each(['redis', 'sqlite'] as const)('a chain on %s', (store) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await Stage.open(store);
  });
  afterEach(() => stage.close());

  /** The numbers of the links, in the order of their starts. */
  const started = (): number[] =>
    stage.ledger.lines.filter(({ event }) => event === 'started').map(({ note }) => Number(note.split(' ')[1]));
  const chain = (...links: readonly Link[]) => stage.bus.chain(links).catch(new Link(0, CAUGHT)).dispatch();
  const hireHalting = (by: 'SIGKILL' | 'SIGSTOP', when: 'before' | 'after'): WorkerProcess =>
    stage.hire({}, { lease: BRIEF, halts: { by, when } });
  const finished = async (): Promise<void> => {
    await stage.drained();
    await stage.dismiss();
  };

  it('continues once if each worker is killed after recording a success', async () => {
    await chain(new Link(0, 1), new Link(0, 2), new Link(0, 3), new Link(0, 4));
    for (let killed = 0; killed < 3; killed += 1) await hireHalting('SIGKILL', 'after').exited;
    stage.hire();
    await finished();

    expect(started()).toEqual([1, 2, 3, 4]);
  });

  it('pushes nothing if its worker is killed before recording a success', async () => {
    await chain(new Link(0, 1), new Link(0, 2));
    await hireHalting('SIGKILL', 'before').exited;
    expect(await stage.driver.queues.counts('default')).toMatchObject({ ready: 0, delayed: 0, reserved: 1 });
    stage.hire();
    await finished();

    expect(started()).toEqual([1, 1, 2]);
  });

  it.each([
    ['before', [1, 1, 2, 3]],
    ['after', [1, 2, 3]],
  ] as const)(
    'continues once if a worker was frozen %s it recorded a success, and then comes back',
    async (when, all) => {
      await chain(new Link(0, 1), new Link(0, 2), new Link(0, 3));
      const frozen = hireHalting('SIGSTOP', when);
      await eventually(() => frozen.isFrozen, { of: 'the freeze' });
      stage.hire();
      await stage.drained();
      frozen.thaw();
      await eventually(() => stage.ledger.count('lost') === 1, { of: 'the refusal of what it held' });
      await finished();

      expect(started()).toEqual(all);
    },
  );

  it.each([
    ['before', [1, 2, 2, CAUGHT]],
    ['after', [1, 2, CAUGHT]],
  ] as const)('sends its catch() job once if a worker is killed %s it recorded a failure', async (when, all) => {
    await chain(new Link(0, 1), new Link(0, 2, 0, true), new Link(0, 3));
    const first = stage.hire({ maxJobs: 1 });
    await first.exited;
    await hireHalting('SIGKILL', when).exited;
    stage.hire();
    await finished();

    expect(started()).toEqual(all);
    expect(await stage.manager.failed.list()).toMatchObject([{ name: 'Link' }]);
  });
});

describe.each(['redis', 'sqlite'] as const)('a chain from one connection to another, both on %s', (store) => {
  it('sends the next link once, although the worker of its carrier is killed before recording that', async () => {
    const stage = await Stage.open(store, { hasOther: true });
    try {
      await stage.bus.chain([new Link(0, 1), new Link(0, 2).onConnection('other').onQueue('others')]).dispatch();
      await stage.hire({ maxJobs: 1 }).exited;
      await stage.hire({}, { lease: BRIEF, halts: { by: 'SIGKILL', when: 'before' } }).exited;
      expect(await stage.driver.queues.counts('default')).toMatchObject({ ready: 0, delayed: 0, reserved: 1 });
      stage.hire();
      await stage.drained();
      await stage.dismiss();

      expect(await stage.driver.queues.counts('others')).toMatchObject({ ready: 1, delayed: 0, reserved: 0 });
    } finally {
      await stage.close();
    }
  });
});

it('each link of a chain on Redis runs once, although the first answer to each settle is lost', async () => {
  const server = await startRedisServer();
  const proxy = await FaultyProxy.start(server.port);
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    { connections: { store: { driver: 'redis', url: proxy.url } } },
  );
  inHandle = () => proxy.loseReplies(2);
  try {
    proxy.loseReplies(2);
    await new JobBus(() => manager).chain(steps).dispatch();
    await new Worker({ stopWhenEmpty: true }, manager).run();

    expect(ran).toEqual([1, 2, 3, 4]);
    expect(proxy.connections).toBeGreaterThan(4);
  } finally {
    await manager.close();
    await proxy.stop();
    await server.stop();
  }
});

it.each([1, 2, 3, 4, 5, 6])('each link of a chain runs once, although the answer to call %d is lost', async (place) => {
  const application = faultyApplication();
  for (const operation of ['reserve', 'exchange', 'settle'] as const)
    application.faults.nth(operation, place, { kind: 'lose', error: new Error('the reply was lost') });
  await application.bus.chain(steps).dispatch();
  const worker = new Worker({}, application.manager);
  void worker.run();
  // A reserve whose answer is lost has reserved a job that nobody runs until its lease ends.
  await elapse(application.clock, 100);
  await worker.stop();
  await application.manager.close();

  expect(ran).toEqual([1, 2, 3, 4]);
});

it('a link on another connection is sent once, although the answer to its push is lost', async () => {
  const application = faultyApplication({
    connections: { memory: { driver: 'memory' }, other: { driver: 'memory', queue: 'others' } },
  });
  await application.bus.chain([new Step(1), new Step(2).onConnection('other')]).dispatch();
  for (const operation of ['push', 'pushOnce'] as const)
    application.faults.next(operation, { kind: 'lose', error: new Error('the reply was lost') });
  const worker = new Worker({}, application.manager);
  void worker.run();
  await elapse(application.clock, 10);
  await worker.stop();
  const { ready } = await application.manager.driver('other').queues.counts('others');
  await application.manager.close();

  expect(ready).toBe(1);
});
