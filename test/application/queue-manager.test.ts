import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { Job } from '../../src/job/job';
import type { Connector, ConnectorContext, Connectors } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { watchedApplication, KeptLog } from '../support/watched-application';

/** Connectors of all drivers, which record what they are asked for. */
function recordingConnectors() {
  const asked: { config: object; context: ConnectorContext }[] = [];
  const connect: Connector<object> = (config, context) => {
    asked.push({ config, context });
    return new MemoryConnection(context.name, new MemoryStore(context.name, context.clock));
  };
  const connectors: Connectors = { redis: connect, database: connect, memory: connect, sync: connect };
  return { asked, connectors };
}

describe('a queue manager', () => {
  it('opens a connection once, when it is first used, with its settings', () => {
    const { asked, connectors } = recordingConnectors();
    const config = { driver: 'memory', retryAfter: '2m', queue: 'mails' } as const;
    const manager = new QueueManager({ connectors, logger: new KeptLog() }, { connections: { main: config } });
    expect(asked).toEqual([]);

    const driver = manager.driver();

    expect(manager.driver('main')).toBe(driver);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.config).toBe(config);
    expect(asked[0]?.context.deadline).toBe(5);
    expect(asked[0]?.context).toMatchObject({
      name: 'main',
      queue: 'mails',
      retryAfter: 120,
      origin: undefined,
    });
    expect(manager.settings()).toMatchObject({ name: 'main', driver: 'memory', queue: 'mails', retryAfter: 120 });
  });

  it('can be reconfigured until a connection is used, but not after it was closed', async () => {
    const { manager } = watchedApplication();
    expect(manager.connection('main').defaultQueue).toBe('default');
    manager.configure({ connections: { main: { driver: 'memory', queue: 'mails' } } });
    expect(manager.connection('main').defaultQueue).toBe('mails');
    manager.driver();

    expect(() => manager.configure({ connections: { third: { driver: 'memory' } } })).toThrow(
      "Queue.configure() came too late: 'main' is already in use, from given to Queue.configure.",
    );
    await manager.close();
    expect(() => manager.configure({})).toThrow(expect.objectContaining({ code: 'E_MANAGER_CLOSED' }));
  });

  it('accepts the same configuration again, as a reloaded module gives it', () => {
    const { manager } = watchedApplication();
    const configuration = (container = { resolve: () => undefined as never }) => ({
      connections: { main: { driver: 'memory' as const, queue: 'mails' } },
      jobs: [Job({ name: 'configured-again' })(class ConfiguredAgain extends Job {})],
      container,
    });
    manager.configure(configuration());
    const driver = manager.driver();

    manager.configure(configuration());

    expect(manager.driver()).toBe(driver);
    expect(() => manager.configure({ ...configuration(), maxPayload: '2MB' as never })).toThrow('came too late');
    expect(() => manager.configure({ ...configuration(), jobs: [] })).toThrow('came too late');
  });

  it('reports all mistakes of a configuration, and keeps its current one', () => {
    const { manager } = watchedApplication();

    expect(() =>
      manager.configure({ connections: { main: { driver: 'memory', retryAfter: 0, queue: 'a b' } } }),
    ).toThrow(
      /^The configuration \(given to Queue\.configure\) has 2 mistakes:\n {2}connections\.main\.queue: .*\n {2}connections\.main\.retryAfter: /,
    );
    expect(manager.settings().queue).toBe('default');
  });

  it('does not look for a configuration file if its argument is undefined', () => {
    const { manager } = watchedApplication();

    expect(() => manager.configure(undefined as never)).toThrow(/expected an object like .*, got undefined/);
  });

  it('suggests the connection that was probably meant', () => {
    const { manager } = watchedApplication({ connections: { primary: { driver: 'memory' } } });

    expect(() => manager.connection('primray')).toThrow(
      /No connection 'primray' .*it has primary\. Did you mean 'primary'\?/,
    );
    expect(() => manager.driver('elsewhere')).toThrow(expect.objectContaining({ code: 'E_UNKNOWN_CONNECTION' }));
  });

  it('accepts a custom driver, even one added after the configuration', () => {
    const configuration = { connections: { mine: { driver: 'pigeons', wings: 2 } } } as object;
    const { manager, clock } = watchedApplication(configuration);
    const addConnector = manager.addConnector.bind(manager) as (driver: string, connector: Connector) => void;
    expect(() => manager.driver()).toThrow(
      /'mine' has the driver 'pigeons', which is none of .*Queue\.addConnector\('pigeons', …\)/,
    );

    expect(() => addConnector('pigeons', undefined as never)).toThrow("Queue.addConnector('pigeons', (…)");
    addConnector('pigeons', (_config, { name }) => new MemoryConnection(name, new MemoryStore(name, clock)));

    expect(manager.driver().name).toBe('mine');
  });

  it('refuses a connection that its connector gave another name', () => {
    const { manager, clock } = watchedApplication();
    manager.addConnector('memory', () => new MemoryConnection('own', new MemoryStore('own', clock)));

    expect(() => manager.driver('main')).toThrow(expect.objectContaining({ code: 'E_MISNAMED_CONNECTION' }));
  });

  it.each([
    ['reserve', { exchange: undefined, reserve: () => undefined }],
    ['pushOnce', { pushOnce: () => undefined, keys: undefined }],
    ['capabilities.isDivided', { capabilities: { isDivided: true } }],
    ['capabilities.failed', { capabilities: { failed: true } }],
    ['capabilities.ties', { capabilities: { ties: true } }],
    ['queues()', { queues: () => Promise.resolve([]) }],
  ])('refuses a driver that is made for an older version: %s', (member, ofOlder) => {
    const { manager, clock } = watchedApplication();
    manager.addConnector('memory', (_config, { name }) =>
      Object.assign(new MemoryConnection(name, new MemoryStore(name, clock)), ofOlder as object),
    );

    expect(() => manager.driver('main')).toThrow(
      expect.objectContaining({ code: 'E_OLDER_DRIVER', message: expect.stringContaining(`'${member}'`) as string }),
    );
  });

  it('has a sync connection by default', () => {
    const { manager } = watchedApplication();

    expect(manager.driver('sync')).toMatchObject({ name: 'sync', driver: 'sync' });
    expect(manager.connectionNames()).toEqual(['main']);
  });

  it('provides locks of its default connection, and names the drivers that have locks if one has none', async () => {
    const { manager } = watchedApplication({
      default: 'main',
      connections: { main: { driver: 'memory' }, none: { driver: 'null' } },
    });

    expect(await manager.lock('report', '10s').acquire()).toBe(true);
    await expect(manager.lock('report', '10s', 'none').acquire()).rejects.toMatchObject({ code: 'E_CAPABILITY' });
  });
});

describe('without a configuration', () => {
  function unconfigured(variables: NodeJS.ProcessEnv) {
    const recorded = recordingConnectors();
    const log = new KeptLog();
    const manager = new QueueManager({
      connectors: recorded.connectors,
      logger: log,
      folder: '/nowhere/at/all',
      variables,
    });
    return { ...recorded, log, manager };
  }

  it('jobs go to the Redis server in REDIS_URL, and errors mention it', () => {
    const { asked, log, manager } = unconfigured({ REDIS_URL: 'redis://10.0.0.1:6379' });

    expect(manager.driver().name).toBe('redis');
    expect(asked[0]?.config).toEqual({ driver: 'redis', url: 'redis://10.0.0.1:6379' });
    expect(asked[0]?.context.origin).toBe('REDIS_URL came from the environment');
    expect(log.texts).toEqual([]);
  });

  it('an invalid REDIS_URL is an error, and no other store is used', () => {
    const { manager } = unconfigured({ REDIS_URL: 'ada:hunter2@localhost:6379' });

    expect(() => manager.driver()).toThrow(
      /^The configuration \(REDIS_URL\) has a mistake:\n {2}connections\.redis\.url: .* got '\*\*\*@localhost:6379'$/,
    );
  });

  it('a malformed REDIS_URL is refused without showing its password', () => {
    const { manager } = unconfigured({ REDIS_URL: 'redis://ada:hunter2#x@localhost:6379' });

    expect(() => manager.driver()).toThrow(
      /^The configuration \(REDIS_URL\) has a mistake:\n {2}connections\.redis\.url: 'redis:\/\/\*\*\*@localhost:6379' cannot be read/,
    );
  });

  it("jobs go to a SQLite file in the project's folder, which is logged once, on first use", () => {
    const { asked, log, manager } = unconfigured({});
    expect(manager.settings().name).toBe('database');
    manager.driver('sync');
    expect(log.texts).toEqual([]);

    manager.driver();
    manager.driver('database');

    expect(asked[1]?.config).toEqual({ driver: 'database', url: 'sqlite:/nowhere/at/all/onqueue.sqlite' });
    expect(log.texts).toEqual([
      expect.stringMatching(/^info: .* jobs are stored in \/nowhere\/at\/all\/onqueue\.sqlite\.$/),
    ]);
  });

  it('the implicit store is logged as a warning in production', () => {
    const { log, manager } = unconfigured({ NODE_ENV: 'production' });

    manager.driver();

    expect(log.texts).toEqual([expect.stringMatching(/^warn: No connection is configured/)]);
  });

  it('a configuration without connections keeps its other settings and uses the implicit store', () => {
    const { asked, manager } = unconfigured({ REDIS_URL: 'redis://h' });
    const container = { resolve: () => undefined };
    manager.configure({ container });

    expect(manager.driver().name).toBe('redis');
    expect(manager.container).toBe(container);
    expect(asked[0]?.context.origin).toBe('REDIS_URL came from the environment');
  });
});

describe('a configuration file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'onqueue-manager-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function configuredBy(text: string) {
    writeFileSync(join(folder, 'package.json'), '{}');
    writeFileSync(join(folder, 'onqueue.config.js'), text);
    const recorded = recordingConnectors();
    const variables = { REDIS_URL: 'redis://h' };
    return { ...recorded, manager: new QueueManager({ ...recorded, logger: new KeptLog(), folder, variables }) };
  }

  it('takes precedence over the environment, and is named in errors', () => {
    const { manager } = configuredBy(`module.exports = { connections: { mine: { driver: 'memory' } } }`);

    expect(manager.driver().name).toBe('mine');
    expect(() => manager.driver('other')).toThrow(join(folder, 'onqueue.config.js'));
  });

  it('is an error if it cannot be loaded, and no other store is used', () => {
    jest.resetModules();
    const { asked, manager } = configuredBy(`throw new Error('broken');`);

    expect(() => manager.driver()).toThrow(/onqueue\.config\.js could not be loaded: broken/);
    expect(asked).toEqual([]);
  });

  it('is awaited if it gives a promise, and until then nothing is opened', async () => {
    jest.resetModules();
    const { asked, manager } = configuredBy(
      `module.exports = async () => ({ connections: { mine: { driver: 'memory' } } });`,
    );

    expect(() => manager.driver()).toThrow(/onqueue\.config\.js .*Queue\.configure\(await configuration\(\)\)/);
    const ready = manager.ready();
    expect(() => manager.driver()).toThrow(expect.objectContaining({ code: 'E_CONFIGURATION_LOADING' }));
    expect(asked).toEqual([]);

    await ready;
    expect(manager.driver().name).toBe('mine');
  });

  it('must not use the queue it configures', () => {
    jest.resetModules();
    const { asked, manager } = configuredBy(`globalThis.useQueue(); module.exports = { maxPayload: 1 };`);
    Object.assign(globalThis, { useQueue: () => manager.driver() });

    expect(() => manager.driver()).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ code: 'E_CONFIGURATION_LOADING' }) as object }),
    );
    expect(asked).toEqual([]);
  });
});

describe('errors that nobody awaits', () => {
  it('are logged without passwords unless an onError callback is set', () => {
    const { manager, log } = watchedApplication();
    const heard: unknown[] = [];

    manager.report(new Error('redis://a:hunter2@h is away'), { during: 'a test' });
    const off = manager.onError((error, { during }) => void heard.push([during, (error as Error).message]));
    manager.report(new Error('two'), { during: 'a test' });
    off();
    manager.report('three', { during: 'a test' });

    expect(log.texts).toEqual([
      'error: a test: redis://a:***@h is away',
      'error: a test: a value that is not an error was thrown: three',
    ]);
    expect(heard).toEqual([['a test', 'two']]);
  });

  it('need a callback that is a function, which is checked when it is set', () => {
    const { manager } = watchedApplication();

    expect(() => manager.onError(5 as never)).toThrow('Queue.onError() was given a number instead of a function.');
    expect(() => manager.createPayloadUsing({} as never)).toThrow('Queue.createPayloadUsing() was given an object');
    expect(manager.hearsErrors).toBe(false);
  });

  it('are also logged if the onError callback fails', async () => {
    const { manager, log } = watchedApplication();
    manager.onError(() => Promise.reject(new Error('broken')));

    manager.report(new Error('one'), { during: 'a test' });
    await new Promise(setImmediate);

    expect(log.texts).toEqual(['error: a test: one', 'error: Queue.onError: broken']);
  });

  it('include errors of hooks', async () => {
    const { manager, log } = watchedApplication();
    manager.hooks.on('stopping', () => Promise.reject(new Error('broken')));

    await manager.hooks.emit('stopping', { connectionName: 'main', reason: 'stopped' });

    expect(log.texts).toEqual(['error: the hook stopping: broken']);
  });
});

describe('closing a manager', () => {
  it('sends pending dispatches, stops workers, sends what they dispatched, and closes connections, in this order', async () => {
    const { manager, watched } = watchedApplication();
    const steps: string[] = [];
    const close = watched().close.bind(watched());
    jest.spyOn(watched(), 'close').mockImplementation(() => (steps.push('connection'), close()));
    void manager.outbox.send(async () => steps.push('sent'));
    manager.track({
      close: async () => {
        steps.push('worker');
        void manager.outbox.send(async () => steps.push("sent by the worker's last job"));
      },
    });

    const closing = manager.close();

    expect(manager.close()).toBe(closing);
    await closing;
    expect(steps).toEqual(['sent', 'worker', "sent by the worker's last job", 'connection']);
    expect(() => manager.driver()).toThrow(expect.objectContaining({ code: 'E_MANAGER_CLOSED' }));
  });

  it('closes what the configuration opened last, and reports if that fails', async () => {
    const { manager, log, watched } = watchedApplication();
    const steps: string[] = [];
    manager.configure({
      connections: { main: { driver: 'memory' } },
      close: async () => {
        steps.push('configuration');
        throw new Error('no');
      },
    });
    jest.spyOn(watched(), 'close').mockImplementation(async () => void steps.push('connection'));

    await manager.close();

    expect(steps).toEqual(['connection', 'configuration']);
    expect(log.texts).toEqual(['error: close() of the configuration: no']);
  });

  it('does not load a configuration', async () => {
    const { connectors } = recordingConnectors();
    const manager = new QueueManager({ connectors, logger: new KeptLog(), folder: '/nowhere' });

    await manager.close();

    expect(manager.isConfigured).toBe(false);
  });

  it('loads it for a dispatch that was not awaited', async () => {
    const { connectors } = recordingConnectors();
    const manager = new QueueManager({ connectors, logger: new KeptLog(), folder: '/nowhere', variables: {} });

    const sent = manager.outbox.send(() => manager.defaultConnection);
    await manager.close();

    expect(await sent).toBe('database');
  });

  it('goes on without a step that takes too long, and warns', async () => {
    const { manager, clock, log, watched } = watchedApplication();
    const forever = new Promise<never>(() => undefined);
    jest.spyOn(watched(), 'close').mockReturnValue(forever);
    void manager.outbox.send(() => forever);
    manager.track({ close: () => forever, closeDeadline: 30 });

    const closing = manager.close();
    await clock.advance('1m');
    await closing;

    expect(log.texts).toEqual([
      'warn: Queue.close(): sending what was dispatched and not awaited took longer than 10 s; going on without it.',
      'warn: Queue.close(): stopping a worker took longer than 30 s; going on without it.',
      'warn: Queue.close(): sending what was dispatched and not awaited took longer than 10 s; going on without it.',
      "warn: Queue.close(): closing the connection 'main' took longer than 5 s; going on without it.",
    ]);
    expect(clock.pending).toBe(0);
  });

  it('goes on if a step fails, and reports it', async () => {
    const { manager, log, watched } = watchedApplication();
    jest.spyOn(watched(), 'close').mockRejectedValue(new Error('no'));
    manager.track({ close: () => Promise.reject(new Error('never')) });

    await manager.close();

    expect(log.texts).toEqual(['error: stopping a worker: never', "error: closing the connection 'main': no"]);
  });

  it('skips what is no longer tracked', async () => {
    const { manager } = watchedApplication();
    const close = jest.fn();
    manager.track({ close })();

    await manager.close();

    expect(close).not.toHaveBeenCalled();
  });
});
