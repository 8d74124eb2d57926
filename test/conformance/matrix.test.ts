/** The page shows what each driver can do; what a driver says of itself is proved by its own run of the suite. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Capabilities } from '../../src/connections/contract';
import type { ConnectionConfig } from '../../src/connections/configs';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { silentLogger } from '../../src/base/console-logger';
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
  delay: '`delay`: jobs wait',
  moments: '`moments`: … until a moment by the clock of the store',
  reserve: '`reserve`: workers get jobs',
  renew: '`renew`: leases are renewed',
  counts: '`counts`: jobs are counted by state',
  exactCounts: '`exactCounts`: … and not by estimates',
  order: '`order`: jobs come out as they were pushed',
  requeue: '`requeue`: what comes back goes to the tail',
  clear: '`clear`: a queue is emptied',
  peek: '`peek`: waiting jobs are shown',
  wake: '`wake`: idle workers are woken',
  failed: '`failed`: failed jobs are kept',
  locks: '`locks`',
  control: '`control`: jobs are cancelled, queues paused, workers restarted',
};

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** A failover has what the first of its connections has. */
const FAILOVER = 'failover';
const AS_FIRST = 'as its first';

const manager = new QueueManager(
  { connectors: builtInConnectors, logger: silentLogger },
  { connections: DRIVERS, default: 'redis' },
);

afterAll(() => manager.close());

function matrix(): string {
  const names = Object.keys(DRIVERS);
  const capabilities = names.map((name) => manager.driver(name).capabilities);
  const rows = (Object.keys(MEANINGS) as (keyof Capabilities)[]).map((capability) =>
    row([MEANINGS[capability], ...capabilities.map((of) => (of[capability] ? 'yes' : '–')), AS_FIRST]),
  );
  return [row(['', ...names, FAILOVER]), `|${'---|'.repeat(names.length + 2)}`, ...rows]
    .join('\n')
    .replaceAll('|  |', '| |');
}

it('the page on connections shows what each driver says of itself, and the run prints it', () => {
  const shown = matrix();
  process.stdout.write(`${shown}\n`);

  expect(readFileSync(join(root, 'docs/connections.md'), 'utf8')).toContain(shown);
});

it.each(Object.keys(DRIVERS).filter((name) => !['sync', 'null'].includes(name)))(
  'a failover can do what its first connection can: %s',
  async (first) => {
    const second = first === 'memory' ? 'redis' : 'memory';
    const failover = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger },
      { connections: { ...DRIVERS, both: { driver: 'failover', connections: [first, second] } }, default: 'both' },
    );

    expect(failover.driver().capabilities).toEqual(manager.driver(first).capabilities);
    await failover.close();
  },
);
