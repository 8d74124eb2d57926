/** The page shows what each driver can do; what a driver says of itself is proved by its own run of the suite. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Capabilities } from '../../src/queue/connection';
import type { ConnectionConfig } from '../../src/queue/configuration';
import { QueueManager } from '../../src/queue/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { silentLogger } from '../../src/logger/console-logger';
import { root } from '../support/project';

const DRIVERS: Readonly<Record<string, ConnectionConfig>> = {
  redis: { driver: 'redis' },
  SQLite: { driver: 'database', url: 'sqlite:./never-opened.sqlite' },
  PostgreSQL: { driver: 'database', url: 'postgres://127.0.0.1/never-opened' },
  MySQL: { driver: 'database', url: 'mysql://127.0.0.1/never-opened' },
  beanstalkd: { driver: 'beanstalkd', url: 'beanstalk://127.0.0.1:11300' },
  sqs: { driver: 'sqs', region: 'eu-west-1' },
  memory: { driver: 'memory' },
  sync: { driver: 'sync' },
  null: { driver: 'null' },
};

const MEANINGS: Readonly<Record<keyof Capabilities, string>> = {
  delay: '`delay`: jobs wait for a moment',
  reserve: '`reserve`: workers get jobs',
  renew: '`renew`: leases are renewed',
  counts: '`counts`: jobs are counted by state, exactly',
  clear: '`clear`: a queue is emptied',
  peek: '`peek`: waiting jobs are shown',
  wake: '`wake`: idle workers are woken',
  failed: '`failed`: failed jobs are kept',
  locks: '`locks`',
  control: '`control`: jobs are cancelled, queues paused, workers restarted',
};

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

async function matrix(): Promise<string> {
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    { connections: DRIVERS, default: 'redis' },
  );
  const names = Object.keys(DRIVERS);
  const capabilities = names.map((name) => manager.driver(name).capabilities);
  await manager.close();
  const rows = (Object.keys(MEANINGS) as (keyof Capabilities)[]).map((capability) =>
    row([MEANINGS[capability], ...capabilities.map((of) => (of[capability] ? 'yes' : '–'))]),
  );
  return [row(['', ...names]), `|${'---|'.repeat(names.length + 1)}`, ...rows].join('\n');
}

it('the page on connections shows what each driver says of itself', async () => {
  expect(readFileSync(join(root, 'docs/connections.md'), 'utf8').replaceAll('|  |', '| |')).toContain(
    (await matrix()).replaceAll('|  |', '| |'),
  );
});
