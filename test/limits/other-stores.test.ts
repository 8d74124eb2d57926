/** Limits of jobs whose store keeps no records: another connection keeps them, or none does. */
import { builtInConnectors } from '../../src/connections/built-in';
import type { ConnectionConfig } from '../../src/connections/driver';
import { Job } from '../../src/job/job';
import type { Middleware } from '../../src/job/middleware';
import { QueueManager } from '../../src/application/queue-manager';
import { JobBus } from '../../src/dispatch/bus';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { startBeanstalkd, type BeanstalkdServer } from '../support/beanstalkd-server';
import { eventually } from '../support/eventually';
import { SqsServer } from '../support/sqs-server';
import { nameOf } from '../../src/limits/deferral';
import { rateLimited } from '../../src/limits/rate-limited';
import { throttleExceptions } from '../../src/limits/throttle-exceptions';
import { withoutOverlapping } from '../../src/limits/without-overlapping';

let beanstalkd: BeanstalkdServer;
let sqs: SqsServer;
let manager: QueueManager;
let worker: Worker;
let ran: number;
let layer: () => Middleware;

beforeEach(async () => {
  ran = 0;
  [beanstalkd, sqs] = await Promise.all([startBeanstalkd(), SqsServer.start()]);
  sqs.createQueue('default');
});
afterEach(async () => {
  await worker.stop();
  await manager.close();
  await Promise.all([beanstalkd.stop(), sqs.stop()]);
});

const configs: Readonly<Record<string, () => ConnectionConfig>> = {
  beanstalkd: () => ({ driver: 'beanstalkd', url: beanstalkd.url }),
  sqs: () => {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    return { driver: 'sqs', region: 'eu-west-1', endpoint: sqs.endpoint, prefix: sqs.prefix, credentials };
  },
};

@Job({ tries: 3 })
class Limited extends Job {
  middleware(): Middleware[] {
    return [layer()];
  }
  handle(): void {
    ran += 1;
  }
}

/** Dispatches two jobs and starts a worker for them. */
async function begin(config: ConnectionConfig, operations?: string): Promise<void> {
  manager = new QueueManager(
    { connectors: builtInConnectors, logger: new RecordingLogger() },
    {
      default: 'main',
      connections: { main: config, ...(operations !== undefined && { [operations]: { driver: 'memory' } }) },
      operations,
      failed: operations,
    },
  );
  await new JobBus(() => manager).bulk([new Limited(), new Limited()]);
  worker = new Worker({ concurrency: 2 }, manager);
}

describe.each(['beanstalkd', 'sqs'])('a job on %s', (driver) => {
  it('is limited by the records of `operations`', async () => {
    layer = () => rateLimited('psp', { allow: 1, every: '1m' });
    await begin(configs[driver]!(), 'records');
    const delays: number[] = [];
    manager.hooks.on('released', ({ delay }) => void delays.push(delay));
    void worker.run();
    await eventually(() => ran + delays.length >= 2, { of: 'both runs' });
    expect(ran).toBe(1);
    expect(delays[0]).toBeGreaterThan(50);
  });

  it('does not overlap with another one that holds the lock of `operations`', async () => {
    layer = () => withoutOverlapping('card', { wait: '10m' });
    await begin(configs[driver]!(), 'records');
    await manager.driver('records').locks!.acquire(nameOf('overlap', 'Limited', 'card'), 'another process', 600);
    const delays: number[] = [];
    manager.hooks.on('released', ({ delay }) => void delays.push(delay));
    void worker.run();
    await eventually(() => delays.length >= 2, { of: 'both runs' });
    expect(ran).toBe(0);
  });
});

it.each([
  ['rateLimited', () => rateLimited('psp', { allow: 1, every: '1m' })],
  ['withoutOverlapping', () => withoutOverlapping('card')],
  ['throttleExceptions', () => throttleExceptions({ after: 1, within: '1m', wait: '1m' })],
])('a job does not run if nobody keeps its limits, and its error says what to configure: %s', async (_name, limit) => {
  layer = limit;
  await begin(configs['beanstalkd']!());
  const errors: Error[] = [];
  manager.hooks.on('exceptionOccurred', ({ exception }) => void errors.push(exception));
  void worker.run();
  await eventually(() => errors.length >= 2, { of: 'both attempts' });
  expect(ran).toBe(0);
  expect(errors[0]).toMatchObject({
    code: 'E_NO_RECORDS',
    message: expect.stringMatching(/^Connection 'main' keeps no records, which Limited needs\. Name one that does/),
  });
});
