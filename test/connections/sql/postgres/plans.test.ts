/**
 * What the statements read on tables that were never analysed, such as those of a queue that grew within the last minute. A
 * plan that the server makes from its guesses may read all rows for the sake of a hundred.
 */
import type { Entry } from '../../../../src/connections/contract';
import { eventually } from '../../../support/eventually';
import type { PostgresServer } from '../../../support/postgres-server';
import { payload } from '../open-database';
import { PostgresWorld } from './open-postgres';
import { reserveFrom } from '../../../support/exchange';

/** Rows in each table. */
const ROWS = 20_000;
/** The most rows that a step may read, apart from skipped rows, of which a statement passes 5,000 at most. */
const FEW = 5200;

const explaining = {
  autovacuum: 'off',
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
};
const args = Object.entries(explaining).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

class ExplainedWorld extends PostgresWorld {
  /** What the server has logged since the last whole plan. */
  #log = '';
  readonly #plans: Explained[] = [];
  #marks = 0;

  constructor() {
    super({ args });
  }

  override async start(): Promise<PostgresServer> {
    const server = await super.start();
    server.process.stderr!.on('data', (chunk: Buffer) => this.#read(chunk.toString()));
    return server;
  }

  /** The highest number of rows that a step of a plan has read, with its statement. */
  async mostRead(work: () => Promise<unknown>): Promise<readonly [rows: number, statement: string]> {
    const read = (await this.plansOf(work)).map(({ Plan, 'Query Text': text }): [number, string] => [
      readBy(Plan),
      text,
    ]);
    return read.reduce((most, one) => (one[0] > most[0] ? one : most), [0, '']);
  }

  async plansOf(work: () => Promise<unknown>): Promise<readonly Explained[]> {
    const before = await this.#mark();
    await work();
    const after = await this.#mark();
    return this.#plans.slice(before, after - 1);
  }

  /** How many plans the log has up to here. The answers of earlier statements may have overtaken their plans. */
  async #mark(): Promise<number> {
    const statement = `SELECT 'mark ${++this.#marks}'`;
    await this.rows(statement);
    return eventually(() => this.#plans.findIndex(({ 'Query Text': text }) => text === statement) + 1);
  }

  #read(chunk: string): void {
    this.#log += chunk;
    const whole = /plan:\n((?:\t.*\n)*?\t\}\n)/g;
    let end = 0;
    for (const match of this.#log.matchAll(whole)) {
      this.#plans.push(JSON.parse(match[1]!) as Explained);
      end = match.index + match[0].length;
    }
    this.#log = this.#log.slice(end);
  }
}

interface Explained {
  readonly Plan: Step;
  readonly 'Query Text': string;
}

interface Step {
  /** With those of the steps below it. */
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Step[];
}

function readBy(step: Step): number {
  const removed = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Index Recheck'] ?? 0);
  const own = step['Relation Name'] === undefined ? 0 : (step['Actual Rows'] + removed) * step['Actual Loops'];
  return Math.max(own, ...(step.Plans ?? []).map(readBy));
}

function indexesOf({ 'Index Name': name, Plans = [] }: Step): readonly string[] {
  return [...(name === undefined ? [] : [name]), ...Plans.flatMap(indexesOf)];
}

const world = new ExplainedWorld().forTests();

/** Fills the tables directly, because as many pushes would take a minute. */
async function fill(): Promise<void> {
  const { table } = world;
  const numbers = `generate_series(1, ${ROWS}) AS n`;
  const columns = 'queue, payload, uuid, attempts, available_at, created_at';
  const values = (queue: string) => `'${queue}', '{"id":"' || n || '"}', n::text, 0, 2000000000, 0`;
  await world.rows(`INSERT INTO ${table} (${columns}, place) SELECT ${values('ready')}, n FROM ${numbers}`);
  await world.rows(`INSERT INTO ${table} (${columns}) SELECT ${values('delayed')} FROM ${numbers}`);
  await world.rows(
    `INSERT INTO ${table} (${columns}, reserved_at, lease_until) SELECT ${values('reserved')}, 1, 2e9 + n / 100 FROM ${numbers}`,
  );
  await world.rows(
    `INSERT INTO ${table}_records (kind, id, value, ends_at) SELECT 'end', n::text, '{}', 2e9 + n FROM ${numbers}`,
  );
  await world.rows(
    `INSERT INTO failed_${table} (uuid, connection, queue, payload, exception, failed_ms)
      SELECT n::text, 'database', 'ready', '{}', repeat(md5(n::text), 20), 4e12 FROM ${numbers}`,
  );
  await world.rows(
    `INSERT INTO ${table}_sums (name, field, amount, ends_at) SELECT 's' || n / 30, n::text, 1, 2e9 + n FROM ${numbers}`,
  );
}

/** Calls with a statement that reads more rows. */
async function tooMuch(calls: Readonly<Record<string, () => Promise<unknown>>>) {
  const found: Record<string, readonly [rows: number, statement: string]> = {};
  for (const [name, call] of Object.entries(calls)) {
    const most = await world.mostRead(call);
    if (most[0] > FEW) found[name] = most;
  }
  return found;
}

describe('a statement on tables that were never analysed', () => {
  it('reads no more than it needs', async () => {
    const connection = await world.open();
    await fill();
    const { records } = connection;
    const entry = (id: string, more: Partial<Entry> = {}): Entry => ({ payload: payload(id), ...more });
    const sums = (fields: number) => [
      { name: 'new', amounts: Object.fromEntries(Array.from({ length: fields }, (_, n) => [`f${n}`, 1])), keep: 60 },
    ];
    const all = { queues: ['ready', 'delayed', 'reserved'], limit: 100, lease: 60 };
    const calls: Record<string, () => Promise<unknown>> = {
      push: () => connection.push('ready', [entry('a')]),
      pushDistinct: () => connection.push('delayed', [entry('b', { delay: 60, distinct: true })]),
      pushDistinctWithoutId: () => connection.push('delayed', [{ payload: '{"a":1}', delay: 60, distinct: true }]),
      pushOnce: () => connection.keys.pushOnce({ queue: 'ready', entries: [entry('c')] }, { key: 'k', until: 4e12 }),
      reserve: () => reserveFrom(connection, all),
      find: () => connection.queues.find('7'),
      cancel: () => connection.control.cancel('unknown'),
      'records.put': () => records.put([{ kind: 'end', id: 'x', value: '{}' }], 60),
      'records.put, up to a bound': () =>
        records.put(
          Array.from({ length: 100 }, (_, n) => ({ kind: 'end', id: `y${n}`, value: '{}' })),
          60,
          10_000,
        ),
      'records.list': () => records.list('end', { limit: 100 }),
      'records.list far behind': () => records.list('end', { limit: 100, offset: ROWS - 200 }),
      'records.add': () => records.add(sums(100), 'source', 1),
      'records.sums': () => records.sums(Array.from({ length: 200 }, (_, n) => `s${n}`)),
      'locks.acquire': () => connection.locks.acquire('l', 't', 60),
      'batches.prune': () => connection.batches!.prune({ olderThan: 60, unfinished: true }),
    };
    for (const state of ['ready', 'delayed', 'reserved'] as const) {
      calls[`counts of ${state} jobs`] = () => connection.queues.counts(state);
      calls[`peek of ${state} jobs`] = async () => {
        const first = await connection.queues.peek(state, state, 100);
        await connection.queues.peek(state, state, 100, first.at(-1)!.place);
      };
    }
    expect(await tooMuch(calls)).toEqual({});
  });

  it('clears a queue from where the statement before ended: removed jobs stay in the index for a while', async () => {
    const connection = await world.open();
    await fill();
    for (const queue of ['ready', 'delayed', 'reserved']) {
      let removed = 0;
      const plans = await world.plansOf(async () => void (removed = await connection.queues.clear(queue)));
      const fromTheHead = plans.filter(({ 'Query Text': text }) => text.includes('ready_jobs'));
      expect([queue, removed, fromTheHead.length]).toEqual([queue, ROWS, 2]);
    }
  });

  it('finds a record by its key, not along the ends of its kind', async () => {
    const { records } = await world.open();
    await world.rows(
      `INSERT INTO ${world.table}_records (kind, id, value, ends_at)
        SELECT 'end', lpad(n::text, 36, '0'), repeat('x', 400), 4e9 + n / 100 FROM generate_series(1, ${ROWS}) AS n`,
    );
    const id = '7'.padStart(36, '0');
    // Skips the first queries of the connection.
    await records.get('end', id);
    const plans = await world.plansOf(() => records.get('end', id));
    expect(plans.flatMap(({ Plan }) => indexesOf(Plan))).toEqual([`${world.table}_records_pkey`]);
  });
});

describe('a statement on failed jobs', () => {
  it.each([
    ['a queue', 'ready'],
    ['all queues, which were analysed', undefined],
  ])('reads no more than it needs of %s', async (_which, queue) => {
    const { failed } = await world.open();
    await fill();
    if (queue === undefined) await world.rows(`ANALYZE failed_${world.table}`);
    const calls = {
      list: () => failed.list({ queue, limit: 100 }),
      'list of entries far behind': () => failed.list({ queue, limit: 100, offset: ROWS - 200 }),
      'list behind a place': async () => {
        const [entry] = await failed.list({ queue, limit: 1, offset: 200 });
        return failed.list({ queue, limit: 100, after: entry!.place });
      },
      search: () => failed.list({ queue, limit: 10, search: { error: 'nothing', name: 'none' } }),
      count: () => failed.count(queue),
      'prune by age': () => failed.prune({ queue, olderThan: 60 }),
      'prune by number': () => failed.prune({ queue, keep: ROWS - 100 }),
      flush: () => failed.flush(queue),
    };
    expect(await tooMuch(calls)).toEqual({});
  });

  it('lists no more than 100, however long the list is', async () => {
    const { failed } = await world.open();
    await fill();
    let found: readonly unknown[] = [];
    const list = async (): Promise<void> => void (found = await failed.list({ limit: 1050 }));
    expect((await world.mostRead(list))[0]).toBe(100);
    expect(found).toHaveLength(1050);
  });

  it('does not pass those that were removed before, which stay in the index while somebody reads', async () => {
    const { failed } = await world.open();
    await fill();
    const reader = await world.client();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    const plans = await world.plansOf(() => failed.flush());
    const blocks = plans.map(({ Plan }) => Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks']);
    expect(Math.max(...blocks)).toBeLessThan(1500);
    expect(await failed.count()).toBe(0);
  });
});
