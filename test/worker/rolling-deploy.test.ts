import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { JobRegistry } from '../../src/job/registry';
import { QueueManager } from '../../src/application/queue-manager';
import { TestClock } from '../../src/testing/test-clock';
import { Worker } from '../../src/worker/worker';
import { endOfTurn } from '../../src/base/clock';
import { RecordingLogger } from '../support/application';
import { payloadOf } from '../support/reservation';

let done: number;

@Job({ queue: 'deploys' })
class New extends Job {
  constructor(readonly number: number) {
    super();
  }
  handle(): void {
    done += 1;
  }
}

/** A manager of an older deploy, which does not have the class yet. */
class OldManager extends QueueManager {
  override readonly registry = new JobRegistry();
}

it('an older worker delays jobs of a new class by seconds at most', async () => {
  done = 0;
  const clock = new TestClock();
  const log = new RecordingLogger();
  const store = new MemoryConnection('memory', new MemoryStore('memory', clock));
  const environment = { connectors: { memory: () => store.duplicate() }, logger: log, clock, random: () => 0.5 };
  const configuration = { connections: { memory: { driver: 'memory' } } } as const;
  const managers = [new OldManager(environment, configuration), new QueueManager(environment, configuration)];
  const workers = managers.map((manager) => new Worker({ queue: 'deploys' }, manager));
  const ended = workers.map((worker) => worker.run());
  await endOfTurn();

  await store.push(
    'deploys',
    Array.from({ length: 20 }, (_, number) => ({ payload: payloadOf(new New(number)).toString() })),
  );
  for (let second = 0; second < 10 && done < 20; second += 1) {
    await clock.advance('1s');
    for (let turn = 0; turn < 100; turn += 1) await endOfTurn();
  }

  expect(done).toBe(20);
  // The old worker has met some of them and logged it once.
  expect(workers[0]!.health().outcomes.released).toBeGreaterThan(0);
  expect(log.messages('warn').filter((line) => line.includes("No job 'New' here"))).toHaveLength(1);
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(ended);
  await Promise.all(managers.map((manager) => manager.close()));
});

it('a worker that knows neither the job nor the mark gives a chain back unchanged', async () => {
  done = 0;
  const clock = new TestClock();
  const store = new MemoryConnection('memory', new MemoryStore('memory', clock));
  const environment = { connectors: { memory: () => store.duplicate() }, logger: new RecordingLogger(), clock };
  const configuration = { connections: { memory: { driver: 'memory' } } } as const;
  const manager = new QueueManager(environment, configuration);
  const old = new OldManager(environment, configuration);
  const id = await new JobBus(() => manager).chain([new New(0), new New(1), new New(2)]).dispatch();
  const textOf = async (state: 'ready' | 'delayed') =>
    (await store.queues.peek('deploys', state, 1))[0]!.payload.toString();
  const sent = await textOf('ready');

  await new Worker({ queue: 'deploys', once: true }, old).run();
  expect(await textOf('delayed')).toBe(sent.replace(/"attempts":0\}$/, '"releases":1,"attempts":0}'));
  await clock.advance('1m');
  await new Worker({ queue: 'deploys', stopWhenEmpty: true }, manager).run();

  expect([done, await store.queues.counts('deploys')]).toMatchObject([3, { ready: 0, delayed: 0, reserved: 0 }]);
  // Version 0.1.0 sees our mark as we see this one: as the name of an unknown string job.
  const unknown = sent.replace('"onqueue+"', '"onqueue++"').replace(id, 'u');
  await store.push('deploys', [{ payload: unknown }]);
  await new Worker({ queue: 'deploys', once: true }, manager).run();
  expect(await textOf('delayed')).toBe(unknown.replace(/"attempts":0\}$/, '"releases":1,"attempts":0}'));
  await Promise.all([manager.close(), old.close()]);
});
