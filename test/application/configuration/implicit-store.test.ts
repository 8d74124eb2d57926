import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '../../../src/application/configuration/configuration';
import { builtInConnectors } from '../../../src/connections/built-in';
import { QueueManager } from '../../../src/application/queue-manager';
import { KeptLog } from '../../support/watched-application';

describe('the implicit store', () => {
  const told = (isNamed: boolean): string[] => {
    const log = new KeptLog();
    const manager = new QueueManager({
      connectors: builtInConnectors,
      logger: log,
      folder: '/nowhere/named',
      variables: {},
    });
    if (isNamed) manager.leaveStoreUnnamed();
    manager.driver();
    return log.texts;
  };

  it('is logged once in a process, but not if another process has already logged it', () => {
    expect(told(true)).toEqual([]);
    expect(told(false)).toHaveLength(1);
    expect(told(false)).toEqual([]);
  });
});

describe('a store of one machine, in production', () => {
  type Connection = NonNullable<Configuration['connections']>[string];
  const told = async (main: Connection, NODE_ENV = 'production'): Promise<string[]> => {
    const log = new KeptLog();
    const connections = { main, other: { driver: 'memory' as const } };
    const environment = { connectors: builtInConnectors, logger: log, variables: { NODE_ENV } };
    const manager = new QueueManager(environment, { default: 'main', connections });
    for (const name of ['main', 'main', 'other']) manager.driver(name);
    await manager.close();
    return log.texts.filter((text) => text.startsWith('warn'));
  };
  const sqlite: Connection = { driver: 'database', url: `sqlite:${join(tmpdir(), 'never-opened.sqlite')}` };

  it.each<[what: string, connection: Connection]>([
    ['keeps jobs in a SQLite file', sqlite],
    ['keeps jobs in the memory', { driver: 'memory' }],
    ['runs jobs within their dispatch', { driver: 'sync' }],
  ])('is named in a warning, once, if it is the default: %s', async (what, connection) => {
    expect(await told(connection)).toEqual([expect.stringContaining(`the connection 'main' ${what}`)]);
    expect(await told(connection)).toEqual([]);
  });

  it('is not named in development, nor is a server in production', async () => {
    expect(await told({ driver: 'memory' }, 'development')).toEqual([]);
    expect(await told({ driver: 'database', url: 'postgres://127.0.0.1:1/none' })).toEqual([]);
    expect(await told({ driver: 'redis', url: 'redis://127.0.0.1:1' })).toEqual([]);
  });
});
