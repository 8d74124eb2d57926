import { late } from '../../src/base/late-parts';
import {
  addDefaultConnector,
  closeDefaultManager,
  defaultManager,
  replaceDefaultManager,
} from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import { QueueManager } from '../../src/application/queue-manager';
import { TestClock } from '../../src/testing/test-clock';
import { KeptLog, WatchedConnection } from '../support/watched-application';

const clock = new TestClock();
const memory = { connections: { main: { driver: 'memory' } } } as const;

beforeEach(() => {
  replaceDefaultManager(undefined);
  const connectors = { memory: (_config: object, { name }: { name: string }) => new WatchedConnection(name, clock) };
  late.manager = () => new QueueManager({ connectors, logger: new KeptLog(), clock, folder: '/nowhere' });
});

afterEach(() => closeDefaultManager());

describe('the manager behind Queue', () => {
  it('is a single one, and a new one after it was closed', async () => {
    Queue.configure(memory);
    const first = defaultManager();
    Queue.before(() => undefined);
    first.driver();

    await Queue.close();
    Queue.configure({ connections: { other: { driver: 'memory' } } });

    expect(defaultManager()).not.toBe(first);
    expect(defaultManager().hooks.hears.before).toBe(false);
    expect(Queue.connection().name).toBe('other');
  });

  it('keeps its last configuration after it was closed, so that late dispatches go to the same store', async () => {
    let ended = 0;
    Queue.configure({ connections: { main: { driver: 'memory', queue: 'usual' } }, close: () => (ended += 1) });
    await Queue.push('early');
    await Queue.close();

    await Queue.push('late');

    expect((await defaultManager().driver('main').queues.counts('usual')).ready).toBe(1);
    expect(defaultManager().configurationSource).toBe('given to Queue.configure');
    await Queue.close();
    expect(ended).toBe(1);
  });

  it('keeps neither a refused configuration nor that of a manager that replaced it', async () => {
    Queue.configure(memory);
    expect(() => Queue.configure({ connections: { main: { driver: 'memory', queue: 'a b' } } })).toThrow('queue');
    replaceDefaultManager(
      new QueueManager({ connectors: {}, logger: new KeptLog() }, { connections: { own: { driver: 'sync' } } }),
    );
    await Queue.close();

    expect(defaultManager().connectionNames()).toEqual(['main']);
  });

  it('does not wait for itself if the application that it ends closes it too', async () => {
    const closedBoth: string[] = [];
    const close = async (): Promise<void> => {
      await Queue.close();
      closedBoth.push('by the application');
    };
    Queue.configure({ connections: { main: { driver: 'memory' } }, close });
    await Queue.push('early');

    await Queue.close();

    expect(closedBoth).toEqual(['by the application']);
  });

  it('still works while it closes', async () => {
    Queue.configure(memory);
    const manager = defaultManager();
    const used: unknown[] = [];
    manager.track({ close: async () => void used.push(defaultManager(), Queue.connection().name) });

    await Queue.close();

    expect(used).toEqual([manager, 'main']);
  });

  it('keeps added connectors after it was closed', async () => {
    const asked: string[] = [];
    addDefaultConnector('null', (_config, { name }) => (asked.push(name), new WatchedConnection(name, clock)));
    Queue.configure({ connections: { first: { driver: 'null' } } });
    defaultManager().driver();
    await Queue.close();

    Queue.configure({ connections: { second: { driver: 'null' } } });
    defaultManager().driver();

    expect(asked).toEqual(['first', 'second']);
  });

  it('can be replaced for a test', () => {
    const manager = defaultManager();
    const other = new QueueManager({ connectors: {}, logger: new KeptLog() });

    expect(replaceDefaultManager(other)).toBe(manager);
    expect(defaultManager()).toBe(other);
  });

  it('stays replaced if it was replaced while the old one closed', async () => {
    const other = new QueueManager({ connectors: {}, logger: new KeptLog() });
    defaultManager().track({ close: async () => void replaceDefaultManager(other) });

    await closeDefaultManager();

    expect(defaultManager()).toBe(other);
  });

  it('can be closed before it was used', async () => {
    await expect(Queue.close()).resolves.toBeUndefined();
  });

  it('accepts callbacks before it is configured', async () => {
    const heard: unknown[] = [];
    Queue.onError((error) => void heard.push(error));
    Queue.stopping(({ reason }) => void heard.push(reason));
    Queue.configure(memory);

    defaultManager().report('error', { during: 'a test' });
    await defaultManager().hooks.emit('stopping', { connectionName: 'main', reason: 'empty' });

    expect(heard).toEqual(['error', 'empty']);
  });
});
