import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import type { Configuration } from '../../../src/application/configuration/configuration';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { type BeanstalkdServer, startBeanstalkd } from '../../support/beanstalkd-server';

const ran: (readonly [attempts: number, fence: number])[] = [];
let isWell = false;

@Job({ tries: 2 })
class Sick extends Job {
  handle(): void {
    ran.push([this.attempts, this.fence]);
    if (!isWell) throw new Error('not yet');
  }
}

let server: BeanstalkdServer;
let manager: QueueManager;
let log: RecordingLogger;

beforeEach(async () => {
  server = await startBeanstalkd();
  ran.length = 0;
  isWell = false;
});

afterEach(async () => {
  await manager.close();
  await server.stop();
});

const open = (more: Omit<Configuration, 'connections'>, connections: Configuration['connections'] = {}): void => {
  log = new RecordingLogger();
  const main = { driver: 'beanstalkd', url: server.url } as const;
  const configuration = { ...more, connections: { main, ...connections } };
  manager = new QueueManager({ connectors: builtInConnectors, logger: log }, configuration);
};
const work = () => new Worker({ stopWhenEmpty: true }, manager).run();
const dispatch = () => new JobBus(() => manager).dispatch(new Sick());

it('without a failed store a failed job is buried and its error logged, and a retry of all kicks it', async () => {
  open({});
  await dispatch();
  await work();

  expect(log.messages('error').join('\n')).toContain('not yet');
  expect(await manager.driver().buried!.count('default')).toBe(1);
  isWell = true;
  expect(await manager.failed.retry('all')).toBe(1);
  await work();

  expect(ran).toEqual([
    [1, 1],
    [2, 2],
    [1, 3],
  ]);
  expect(await manager.driver().buried!.count('default')).toBe(0);
});

it('without a failed store a payload that is not JSON is buried too, and the jobs around it run', async () => {
  isWell = true;
  open({});
  await manager.connection().pushRaw('not json');
  await dispatch();
  await work();

  expect(ran).toHaveLength(1);
  expect(await manager.driver().buried!.count('default')).toBe(1);
  expect(await manager.failed.flush()).toBe(1);
});

it('with a failed store elsewhere a failed job is kept there instead of buried, and a retry brings it back', async () => {
  open({ default: 'main', failed: 'kept' }, { kept: { driver: 'memory' } });
  const id = await dispatch();
  await work();

  const [entry] = await manager.failed.list();
  expect(entry).toMatchObject({ id, connection: 'main', name: 'Sick', attempts: 2 });
  expect(await manager.driver('main').buried!.count('default')).toBe(0);
  isWell = true;
  expect(await manager.failed.retry(id)).toBe(true);
  await work();

  expect(ran.at(-1)).toEqual([1, 3]);
  expect(await manager.connection('main').size()).toBe(0);
});

it('with a failed store elsewhere jobs that others buried are left alone', async () => {
  open({ default: 'main', failed: 'kept' }, { kept: { driver: 'memory' } });
  await server.say('put 1024 0 60 2\r\n{}\r\nreserve\r\nbury 1 1024');

  expect(await manager.failed.retry('all')).toBe(0);
  expect(await manager.failed.flush()).toBe(0);
  expect(await manager.driver('main').buried!.count('default')).toBe(1);
});
