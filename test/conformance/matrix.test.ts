/**
 * The page shows what each driver can do according to the list of drivers. The run of the conformance suite for each driver
 * proves these capabilities. `WRITE_DOCS=1 npx jest test/conformance/matrix` writes the table anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Capabilities } from '../../src/connections/contract';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors, drivers } from '../../src/connections/built-in';
import { silentLogger } from '../../src/base/logger';
import { root } from '../support/project';

/** The configurations of stores that need more than the name of their driver. */
const CONFIGS: Readonly<Record<string, ConnectionConfig>> = {
  SQLite: { driver: 'database', url: 'sqlite:./never-opened.sqlite' },
  PostgreSQL: { driver: 'database', url: 'postgres://127.0.0.1/never-opened' },
  MySQL: { driver: 'database', url: 'mysql://127.0.0.1/never-opened' },
  sqs: { driver: 'sqs', region: 'eu-west-1' },
};

const MEANINGS: Readonly<Record<keyof Capabilities, string>> = {
  delay: '`delay`: jobs can wait for a time',
  moments: '`moments`: … or until a moment, by the clock of the store',
  reserve: '`reserve`: workers get jobs',
  renew: '`renew`: leases are renewed',
  counts: '`counts`: jobs are counted by state',
  exactCounts: '`exactCounts`: … exactly, not as an estimate',
  order: '`order`: jobs are handed out in the order they were pushed',
  requeue: '`requeue`: jobs that come back go to the tail',
  clear: '`clear`: a queue can be emptied',
  peek: '`peek`: waiting jobs can be listed',
  failed: '`failed`: failed jobs are kept',
  locks: '`locks`: there are [locks](#locks)',
  follows: '`follows`: an outcome and the job that follows it are written in one step',
  ties: '`ties`: there are [unique](unique-jobs.md) and [debounced](debounced-jobs.md) jobs',
  batches: '`batches`: there are [batches](batches.md)',
  control: '`control`: jobs can be cancelled, queues paused, workers restarted',
  operations: '`operations`: jobs can be found by id; schedules, histories and figures are kept',
  recordWake: '`recordWake`: a wait for a [result](results.md) is woken',
};

type Column = readonly [head: string, capabilities: Capabilities | undefined];

/** Undefined if the driver can do what the first of its connections can. */
const columns = drivers.flatMap(({ name, stores }): Column[] =>
  Object.keys(stores).length === 0 ? [[name, undefined]] : Object.entries<Capabilities>(stores),
);

/** A connection for each store, under the name of the store. */
const connections = Object.fromEntries(
  drivers.flatMap(({ name, stores }) =>
    Object.keys(stores).map((store) => [store, CONFIGS[store] ?? ({ driver: name } as ConnectionConfig)]),
  ),
);

const manager = new QueueManager(
  { connectors: builtInConnectors, logger: silentLogger },
  { connections, default: 'redis' },
);

afterAll(() => manager.close());

const PAGE = join(root, 'docs/connections.md');

function matrix(): string {
  const rows = (Object.keys(MEANINGS) as (keyof Capabilities)[]).map((capability) => [
    MEANINGS[capability],
    ...columns.map(([, of]) => (of === undefined ? 'as its first' : of[capability] === true ? 'yes' : '–')),
  ]);
  const [head, ...lines] = [['', ...columns.map(([name]) => name)], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [head!.replace('|  |', '| |'), `|${'---|'.repeat(columns.length + 1)}`, ...lines, ''].join('\n');
}

it('the page on connections shows what each driver can do', () => {
  const page = readFileSync(PAGE, 'utf8');
  const found = /(?<=\n## What each can do\n\n)(?:\|.*\n)*/.exec(page)?.[0] ?? '';
  const table = matrix();
  if (process.env['WRITE_DOCS'] === '1')
    writeFileSync(
      PAGE,
      page.replace(found, () => table),
    );

  expect(process.env['WRITE_DOCS'] ?? found).toBe(process.env['WRITE_DOCS'] ?? table);
});

it.each(drivers.map(({ name }) => name))('the page on connections has a section on %s', (name) => {
  expect(readFileSync(PAGE, 'utf8')).toContain(`\n## ${name}\n`);
});

it.each(columns.filter(([, capabilities]) => capabilities !== undefined))(
  'a connection declares the capabilities that the list of drivers gives its store: %s',
  (store, capabilities) => {
    expect(manager.driver(store).capabilities).toEqual(capabilities);
  },
);

it.each(drivers.filter(({ stores }) => Object.values<Capabilities>(stores).some(({ reserve }) => reserve)))(
  'the list of drivers says that a driver pushes within transactions exactly if its connections have `within`: $name',
  ({ stores, transactions }) => {
    const able = Object.keys(stores).map((store) => manager.driver(store).within !== undefined);

    expect(able).toEqual(able.map(() => transactions === true));
  },
);

it.each(columns.filter(([, capabilities]) => capabilities?.reserve === true))(
  'a failover can do what its first connection can: %s',
  async (first) => {
    const second = first === 'memory' ? 'redis' : 'memory';
    const failover = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger },
      { connections: { ...connections, both: { driver: 'failover', connections: [first, second] } }, default: 'both' },
    );

    expect(failover.driver().capabilities).toEqual(manager.driver(first).capabilities);
    await failover.close();
  },
);
