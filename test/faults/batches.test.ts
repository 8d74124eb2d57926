import { JobBus } from '../../src/dispatch/bus';
import { builtInConnectors, QueueManager, silentLogger, Worker } from '../../src/index';
import { Job } from '../../src/job/job';
import { elapse } from '../support/application';
import { eventually } from '../support/eventually';
import { requireBuild } from '../support/project';
import { type RedisServer, startRedisServer } from '../support/redis-server';
import { faultyApplication } from './faulty-connection';
import { FaultyProxy } from './kit/faulty-proxy';
import { Link } from './kit/programs/jobs';
import { Stage } from './kit/stage';
import type { WorkerProcess } from './kit/worker-process';

/** Seconds. The lease of a worker that is killed or frozen. The leases of the others last as long as they need. */
const BRIEF = 0.2;
const [THEN, CAUGHT, FINALLY] = [7, 8, 9];

let ran: string[];
let inHandle: () => void;

@Job({ tries: 1 })
class Step extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
    inHandle();
  }
}

beforeAll(() => requireBuild());
beforeEach(() => {
  ran = [];
  inHandle = () => undefined;
});

const batchOf = (bus: JobBus) =>
  bus
    .batch([new Step('a'), [new Step('b'), new Step('c')]])
    .then(new Step('then'))
    .catch(new Step('catch'))
    .finally(new Step('finally'));

const ONCE = ['a', 'b', 'c', 'finally', 'then'];

describe.each(['redis', 'sqlite'] as const)('a batch on %s', (store) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await Stage.open(store);
  });
  afterEach(() => stage.close());

  /** The numbers of the started jobs, sorted, because a callback held by a killed worker may come after another. */
  const started = (): number[] =>
    stage.ledger.lines
      .filter(({ event }) => event === 'started')
      .map(({ note }) => Number(note.split(' ')[1]))
      .toSorted((one, other) => one - other);
  const dispatch = (...jobs: readonly Link[]) =>
    stage.bus.batch(jobs).then(new Link(0, THEN)).catch(new Link(0, CAUGHT)).finally(new Link(0, FINALLY)).dispatch();
  const hireHalting = (by: 'SIGKILL' | 'SIGSTOP', when: 'before' | 'after'): WorkerProcess =>
    stage.hire({}, { lease: BRIEF, halts: { by, when } });
  const finished = async (): Promise<void> => {
    await stage.drained();
    await stage.dismiss();
  };

  it.each([
    ['before', [1, 1, THEN, FINALLY]],
    ['after', [1, THEN, FINALLY]],
  ] as const)(
    'finishes once if the worker of its last job is killed %s the outcome was recorded',
    async (when, all) => {
      const batch = await dispatch(new Link(0, 1));
      await hireHalting('SIGKILL', when).exited;
      stage.hire();
      await finished();

      expect(started()).toEqual(all);
      expect(await batch.refresh()).toMatchObject({ pending: 0, completed: 1, isFinished: true });
    },
  );

  it.each([
    ['before', [1, 1, THEN, FINALLY]],
    ['after', [1, THEN, FINALLY]],
  ] as const)(
    'counts a job once whose worker was frozen %s the outcome was recorded, and then comes back',
    async (when, all) => {
      const batch = await dispatch(new Link(0, 1));
      const frozen = hireHalting('SIGSTOP', when);
      await eventually(() => frozen.isFrozen, { of: 'the freeze' });
      stage.hire();
      await stage.drained();
      frozen.thaw();
      await eventually(() => stage.ledger.count(when === 'before' ? 'lost' : 'completed') > 0, { of: 'its outcome' });
      await finished();

      expect(started()).toEqual(all);
      expect(await batch.refresh()).toMatchObject({ pending: 0, completed: 1 });
    },
  );

  it.each([
    ['before', [1, 1, CAUGHT, FINALLY]],
    ['after', [1, CAUGHT, FINALLY]],
  ] as const)('sends its catch callback once if a worker is killed %s it recorded a failure', async (when, all) => {
    const batch = await dispatch(new Link(0, 1, 0, true));
    await hireHalting('SIGKILL', when).exited;
    stage.hire();
    await finished();

    expect(started()).toEqual(all);
    expect(await batch.refresh()).toMatchObject({ pending: 0, failed: 1, isCancelled: true });
  });
});

describe.each(['redis', 'sqlite'] as const)('a batch in a chain on %s', (store) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await Stage.open(store);
  });
  afterEach(() => stage.close());

  it.each([
    ['before', 1],
    ['after', 1],
    ['before', 2],
    ['after', 3],
  ] as const)('is complete if its worker is killed %s it pushed page %d of 3', async (when, page) => {
    const members = Array.from({ length: 201 }, (_, place) => new Link(0, place));
    await stage.bus.chain([stage.bus.batch(members), new Link(1, 0)]).dispatch();
    await stage.hire({}, { lease: BRIEF, halts: { by: 'SIGKILL', when, page } }).exited;
    stage.hire({ concurrency: 10 });
    await stage.drained();
    await stage.dismiss();

    const notes = stage.ledger.lines.filter(({ event }) => event === 'done').map(({ note }) => note);
    expect(notes.toSorted()).toEqual([...members.map(({ place }) => `0 ${place}`), '1 0'].toSorted());
    const [batch] = await stage.manager.batches.list();
    expect(batch).toMatchObject({ total: 201, completed: 201, isCancelled: false, isFinished: true });
  });
});

describe('if answers of Redis are lost', () => {
  let server: RedisServer;
  let proxy: FaultyProxy;
  let manager: QueueManager;

  beforeEach(async () => {
    server = await startRedisServer();
    proxy = await FaultyProxy.start(server.port);
    manager = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger },
      { connections: { store: { driver: 'redis', url: proxy.url } } },
    );
  });
  afterEach(async () => {
    await manager.close();
    await proxy.stop();
    await server.stop();
  });

  it('a batch counts each job once, although every first answer is lost', async () => {
    inHandle = () => proxy.loseReplies(2);
    proxy.loseReplies(2);
    const batch = await batchOf(new JobBus(() => manager)).dispatch();
    await new Worker({ stopWhenEmpty: true }, manager).run();

    expect(ran.toSorted()).toEqual(ONCE);
    expect(await batch.refresh()).toMatchObject({ total: 3, completed: 3 });
  });

  it.each([1, 2, 5])(
    'a batch of many calls is complete after lost answers (%d at its beginning and later)',
    async (place) => {
      function* steps(): Generator<Step> {
        for (let number = 0; number < 1500; number += 1) {
          // By then the first thousand jobs are being pushed, in several calls at once.
          if (number === 1000 + place) proxy.loseReplies(place);
          yield new Step(String(number));
        }
      }
      proxy.loseReplies(place);
      const batch = await new JobBus(() => manager).batch(steps()).dispatch();

      expect(batch).toMatchObject({ total: 1500 });
      expect(await batch.refresh()).toMatchObject({ pending: 1500, isOpen: false });
      expect(await manager.connection().counts('default')).toMatchObject({ ready: 1500 });
    },
  );
});

it.each([1, 2, 3, 4, 5, 6])('a batch finishes once, although the answer to call %d is lost', async (place) => {
  const application = faultyApplication();
  for (const operation of ['reserve', 'exchange', 'settle'] as const)
    application.faults.nth(operation, place, { kind: 'lose', error: new Error('the reply was lost') });
  const batch = await batchOf(application.bus).dispatch();
  const worker = new Worker({}, application.manager);
  void worker.run();
  // A reserve whose answer is lost has reserved a job that nobody runs until its lease ends.
  await elapse(application.clock, 100);
  await worker.stop();

  expect(ran.toSorted()).toEqual(ONCE);
  expect(await batch.refresh()).toMatchObject({ total: 3, completed: 3 });
  await application.manager.close();
});
