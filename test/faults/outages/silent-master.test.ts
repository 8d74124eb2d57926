import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import type { Connection } from '../../../src/connections/contract';
import { givenBack } from '../../../src/connections/kit/connection';
import { QueueManager } from '../../../src/application/queue-manager';
import type { StopReason } from '../../../src/worker/stop';
import { Worker } from '../../../src/worker/worker';
import { Gate, RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { RedisCluster } from '../../support/redis-cluster';
import type { RedisServer } from '../../support/redis-server';
import { meantToPass } from '../../support/meant-to-pass';
import { reserveFrom, settleIn } from '../../support/exchange';

const RETRY_AFTER = meantToPass(8);

let ran: string[];
let held: string[];
let aborted: string[];
let gates: Record<string, Gate>;

@Job({ timeout: 0 })
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

/** Runs until the test opens its gate. */
@Job({ timeout: 0 })
class Held extends Job {
  constructor(readonly text: string) {
    super();
  }
  async handle(): Promise<void> {
    this.signal.addEventListener('abort', () => aborted.push(this.text));
    const gate = (gates[this.text] = new Gate());
    held.push(this.text);
    await gate.opened;
    ran.push(this.text);
  }
}

describe('a worker on a cluster one of whose masters is silent', () => {
  let cluster: RedisCluster;
  let prefixes = 0;
  /** Queues on different masters. */
  let queues: [string, string, string];
  let silent: RedisServer;
  let log: RecordingLogger;
  let managers: QueueManager[];
  let worker: Worker;
  let driver: Connection;
  let bus: JobBus;
  let ended: Promise<StopReason>;

  beforeAll(async () => {
    // The silent master is not given up during a test, and the others are served meanwhile.
    cluster = await RedisCluster.start({ args: ['--cluster-node-timeout', '60000'] });
  });

  beforeEach(async () => {
    [ran, held, aborted, gates, managers] = [[], [], [], {}, []];
    log = new RecordingLogger();
    const prefix = `silent${(prefixes += 1)}:`;
    const masters = await findQueues(prefix);
    silent = masters[0]!;
    const open = (logger: RecordingLogger): QueueManager => {
      const store = {
        driver: 'redis',
        cluster: cluster.urls,
        prefix,
        deadline: meantToPass('3s'),
        retryAfter: RETRY_AFTER,
      } as const;
      const manager = new QueueManager({ connectors: builtInConnectors, logger }, { connections: { store } });
      managers.push(manager);
      return manager;
    };
    const dispatching = open(new RecordingLogger());
    bus = new JobBus(() => dispatching);
    driver = dispatching.driver();
    worker = new Worker({ queue: queues, concurrency: 5, grace: meantToPass('200ms') }, open(log));
    ended = worker.run();
  });

  afterEach(async () => {
    silent.process.kill('SIGCONT');
    for (const gate of Object.values(gates)) gate.open();
    await Promise.all(managers.map((manager) => manager.close()));
  });

  afterAll(() => cluster.stop());

  async function findQueues(prefix: string): Promise<readonly RedisServer[]> {
    const found = new Map<RedisServer, string>();
    for (let number = 0; found.size < cluster.masters.length; number += 1) {
      const master = await cluster.masterOf(`${prefix}{q${number}}`);
      if (!found.has(master)) found.set(master, `q${number}`);
    }
    queues = [...found.values()] as [string, string, string];
    return [...found.keys()];
  }

  async function hold(text: string, queue: string): Promise<void> {
    await bus.dispatch(new Held(text)).onQueue(queue);
    await eventually(() => held.includes(text), { of: `the start of ${text}` });
  }

  /** The number of jobs, waiting or running. */
  async function left(queue: string): Promise<number> {
    const { ready, delayed, reserved } = await driver.queues.counts(queue);
    return ready + delayed + reserved;
  }

  /** Dispatches jobs to the other masters and waits until they have run. */
  async function othersWork(name: string, count = 30): Promise<void> {
    const texts = Array.from({ length: count }, (_, at) => `${name}${at}`);
    const { completed } = worker.health().outcomes;
    for (const [at, text] of texts.entries()) await bus.dispatch(new Note(text)).onQueue(queues[1 + (at % 2)]!);
    await eventually(() => texts.every((text) => ran.includes(text)), { of: `the runs of ${name}` });
    await eventually(() => worker.health().outcomes.completed >= completed + count, { of: `the ends of ${name}` });
  }

  const twice = (): string[] => ran.filter((text, at) => ran.indexOf(text) !== at);
  const untold = { lost: 0, failed: 0, released: 0, cancelled: 0 };

  it('runs and settles jobs of the others while an outcome waits for the silent one, which is written when that answers', async () => {
    await hold('waits', queues[0]);
    silent.process.kill('SIGSTOP');
    gates['waits']!.open();

    await othersWork('early');
    await othersWork('late');
    const { outcomes } = worker.health();
    const node = `127.0.0.1:${silent.port}`;
    // Without those at the start, about a Redis that keeps nothing on disk and queues that are none of a job's.
    const warnings = (): readonly string[] => log.messages('warn').filter((text) => text.startsWith('Redis at '));
    await eventually(() => warnings().length > 0, { of: 'a warning' });
    // Named by its address, or as one of the cluster if its connection was given up first.
    expect(warnings()).toEqual([
      expect.stringMatching(new RegExp(`^Redis at .*\\b${node}\\b.* did not answer in 3 s`)),
    ]);
    silent.process.kill('SIGCONT');

    expect(outcomes).toEqual({ ...untold, completed: 60 });
    await eventually(async () => (await left(queues[0])) === 0, { of: 'the outcome that waited' });
    await eventually(() => worker.health().outcomes.completed === 61);
    await othersWork('after');
    expect([twice(), worker.health().outcomes.lost]).toEqual([[], 0]);
    const isBack = (line: string): boolean => line.includes(' answers again');
    await eventually(() => log.messages('info').some(isBack), { of: 'a line on its return' });
  });

  it('keeps jobs of the others beyond their leases, although leases of the silent one cannot be renewed', async () => {
    await hold('long', queues[1]);
    await hold('waits', queues[0]);
    await hold('stays', queues[0]);
    silent.process.kill('SIGSTOP');
    gates['waits']!.open();

    // The lease of the job on the silent master ends meanwhile and is reported as over.
    await eventually(() => aborted.includes('stays'), { of: 'the end of its lease' });
    for (let round = 0; round < 3; round += 1) {
      await othersWork(`round${round}:`);
      const before = Date.now();
      await eventually(() => Date.now() - before > RETRY_AFTER * 500);
    }

    expect(aborted).toEqual(['stays']);
    gates['long']!.open();
    await eventually(() => worker.health().outcomes.completed === 91, { of: 'the end of the long job' });
    expect(worker.health().outcomes).toEqual({ ...untold, completed: 91 });
  });

  it('writes the outcome to the replica that is promoted in its place', async () => {
    await hold('waits', queues[0]);
    await cluster.replicated();
    silent.process.kill('SIGSTOP');
    gates['waits']!.open();
    await othersWork('early');

    const replica = cluster.replicaOf(silent);
    await cluster.call(replica, 'cluster', 'failover', 'takeover');

    await eventually(() => worker.health().outcomes.completed === 31, { of: 'the outcome that waited' });
    await eventually(async () => (await left(queues[0])) === 0, { of: 'the settled job' });
    expect([twice(), worker.health().outcomes.lost]).toEqual([[], 0]);
  });

  it('ends at the end of its grace and logs the outcomes that it leaves', async () => {
    await hold('waits', queues[0]);
    await hold('ends', queues[1]);
    silent.process.kill('SIGSTOP');
    gates['waits']!.open();
    await othersWork('early');

    const stopped = worker.stop();
    gates['ends']!.open();
    await eventually(async () => (await left(queues[1])) === 0, { of: 'the outcome of a master that answers' });
    await stopped;

    expect(await ended).toBe('stopped');
    expect(log.messages('error').join()).toContain('1 had ended, but their outcomes were not stored');
  });

  it('fails all calls to the silent one at the deadline, although others answer meanwhile', async () => {
    await worker.stop();
    await Promise.all(queues.map((queue) => left(queue)));
    silent.process.kill('SIGSTOP');
    let unanswered = 3050;
    const failed = (): void => void (unanswered -= 1);
    for (let at = 0; at < 3000; at += 1) driver.push(queues[0], [{ payload: `{"id":"${at}"}` }]).catch(failed);
    for (let at = 0; at < 50; at += 1) driver.control!.cancel(String(at), queues[0]).catch(failed);

    // These take several deadlines. One call after another would take many more.
    const other = managers[1]!.driver();
    let isOver = false;
    const waited = (async () => {
      for (let time = 0; time < 3; time += 1)
        await expect(other.queues.counts(queues[0])).rejects.toThrow('not counted');
      isOver = true;
    })();
    while (!isOver) await driver.queues.counts(queues[1]);
    await waited;
    expect(unanswered).toBe(0);
  });

  it('does not hold up the reserve of another queue that is sent with an outcome for the silent one', async () => {
    await worker.stop();
    await bus.bulk([new Note('ended').onQueue(queues[0]), new Note('waits').onQueue(queues[1])]);
    const from = (queue: string) => ({ queues: [queue], limit: 1, lease: 30 });
    const [ended] = (await reserveFrom(driver, from(queues[0]))).reservations;
    silent.process.kill('SIGSTOP');

    const settlement = { outcome: 'completed', reservation: ended! } as const;
    const settled = settleIn(driver, [settlement]);
    const { reservations } = await reserveFrom(driver, from(queues[1]));
    silent.process.kill('SIGCONT');

    expect(reservations).toHaveLength(1);
    await expect(settled).resolves.toEqual(['settled']);
  });

  it('writes what was given back and not answered before the connection closes, if the silent one answers by then', async () => {
    await worker.stop();
    await bus.bulk([new Note('back').onQueue(queues[0])]);
    const { reservations } = await reserveFrom(driver, { queues, limit: 1, lease: 600 });
    silent.process.kill('SIGSTOP');
    expect(await settleIn(driver, reservations.map(givenBack))).toEqual(['unanswered']);

    const closed = driver.close();
    silent.process.kill('SIGCONT');
    await closed;

    const other = managers[1]!.driver();
    expect(await other.queues.counts(queues[0])).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('still notices that a job of another master was cancelled', async () => {
    await worker.stop();
    await bus.bulk([new Note('stays').onQueue(queues[0])]);
    const id = await bus.dispatch(new Note('cancelled')).onQueue(queues[1]);
    const { reservations } = await reserveFrom(driver, { queues, limit: 2, lease: 30 });
    await driver.control!.cancel(id, queues[1], 'enough');
    silent.process.kill('SIGSTOP');

    const told = await driver.control!.cancelled!(reservations);

    expect(told).toEqual([false, 'enough']);
  });
});
