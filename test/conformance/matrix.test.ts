/**
 * The page shows what each driver can do according to the list of drivers. The run of the conformance suite for each driver
 * proves these capabilities. `WRITE_DOCS=1 npx jest test/conformance/matrix` writes the table anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Capabilities, Connection } from '../../src/connections/contract';
import { ALL_CAPABLE, isAble, type Capability, type ConnectionConfig, type Store } from '../../src/connections/driver';
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

const MEANINGS: Readonly<Record<Capability, string>> = {
  delay: '`delay`: jobs can wait for a time',
  moments: '`moments`: … or until a moment, by the clock of the store',
  reserve: '`reserve`: workers get jobs',
  exactCounts: '`exactCounts`: counts are exact, not estimates',
  order: '`order`: jobs are handed out in the order they were pushed',
  requeue: '`requeue`: jobs that come back go to the tail',
  follows: '`follows`: an outcome and the job that follows it are written in one step',
  renew: '`renew`: leases are renewed',
  clear: '`queues.clear`: a queue can be emptied',
  peek: '`queues.peek`: waiting jobs can be listed',
  find: '`queues.find`: … and found by id',
  failed: '`failed`: failed jobs are kept',
  locks: '`locks`: there are [locks](locks.md)',
  keys: '`keys`: there are [unique](unique-jobs.md) and [debounced](debounced-jobs.md) jobs',
  batches: '`batches`: there are [batches](batches.md)',
  lanes: '`lanes`: there are [lanes](lanes.md)',
  control: '`control`: jobs can be cancelled, queues paused, workers restarted',
  reschedule: '`control.reschedule`: delayed jobs can be moved to another moment',
  limits:
    '`control.limit`: only so many jobs of a queue [run at a time](limits.md#at-most-5-reports-at-a-time-over-all-servers)',
  records: '`records`: schedules, histories and figures are kept',
  recordWake: '`records.wake`: a wait for a [result](results.md) is woken',
  transactions: '`within`: jobs can be pushed within a transaction of yours',
};

type Column = readonly [head: string, store: Store | undefined];

/** Undefined if the driver can do what the first of its connections can. */
const columns = drivers.flatMap(({ name, stores }): Column[] =>
  Object.keys(stores).length === 0 ? [[name, undefined]] : Object.entries<Store>(stores),
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

const CAPABILITIES = Object.keys(MEANINGS) as readonly Capability[];

const canDo = ({ capabilities, lacks }: Store, capability: Capability): boolean =>
  capability in ALL_CAPABLE
    ? capabilities[capability as keyof Capabilities] === true
    : !(lacks as readonly Capability[]).includes(capability);

/** The first of its connections does everything but push. */
const ofFailover = (capability: Capability): string => (capability === 'transactions' ? '–' : 'as its first');

function matrix(): string {
  const rows = CAPABILITIES.map((capability) => [
    MEANINGS[capability],
    ...columns.map(([, store]) =>
      store === undefined ? ofFailover(capability) : canDo(store, capability) ? 'yes' : '–',
    ),
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

it.each(drivers.map(({ name }) => name))('the page on connections offers %s', (name) => {
  expect(readFileSync(PAGE, 'utf8').split('\n## ')[0]).toContain(`\`${name}\``);
});

it.each(columns.filter(([, store]) => store !== undefined))(
  'a connection can do what the list of drivers says of its store: %s',
  (name, store) => {
    const connection = manager.driver(name);

    expect(CAPABILITIES.filter((capability) => isAble(connection, capability))).toEqual(
      CAPABILITIES.filter((capability) => canDo(store!, capability)),
    );
  },
);

it.each(columns.filter(([, store]) => store?.capabilities.reserve === true))(
  'a failover can do what its first connection can: %s',
  async (first) => {
    const second = first === 'memory' ? 'redis' : 'memory';
    const failover = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger },
      { connections: { ...connections, both: { driver: 'failover', connections: [first, second] } }, default: 'both' },
    );

    const ableOf = (connection: Connection) =>
      CAPABILITIES.filter((capability) => capability !== 'transactions' && isAble(connection, capability));
    expect(ableOf(failover.driver())).toEqual(ableOf(manager.driver(first)));
    await failover.close();
  },
);
