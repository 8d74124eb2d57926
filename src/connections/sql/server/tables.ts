/** The tables on a database server. Only `onqueue migrate` creates them. */
import type { Seconds, Clock, Milliseconds } from '../../../base/clock';
import type { Diagnosis, Migrations } from '../../contract';
import { latencyOf } from '../../kit/requirements';
import { repeatable, type Tables } from '../database';
import { numberOf, raw, run, sql, rowsOf, written, type Sql, type SqlRow, type Work } from '../statement';
import { areTablesOutOfReach, foreignTable, newerTables, notMigrated, serverTooOld, wrongIsolation } from '../errors';
import { areTooNew, sinceRow, VERSIONS_TABLE, type TableNames } from '../address';
import type { ServerCaller } from './caller';
import type { Logger } from '../../../base/logger';

/** How a product creates the tables, and describes what exists. */
export interface Schema {
  /** The version of the tables that our statements need. */
  readonly version: number;
  readonly names: TableNames;
  /** The name of the table of versions, as written in statements. */
  readonly versions: Sql;
  server(): Work<Server>;
  /** Rows of table, column and type, for those of the given tables that exist. */
  columns(tables: readonly string[]): Work<readonly SqlRow[]>;
  /** What is missing in tables of the right version, and slows them down only, as a clause. */
  lack(): Work<string | undefined>;
  /** How the tables are made, or get what they lack. */
  migration(log: Log): Steps;
  /** The same as SQL text, for users who run it themselves. It can be run again, and on Laravel's tables. */
  sql(): string;
  /** What hinders the server, for `onqueue check`. */
  findings(): Work<readonly Diagnosis[]>;
  /**
   * Gives jobs that Laravel's workers have reserved an end of their lease. Otherwise jobs of a worker that died would stay
   * reserved for ever.
   */
  readonly adoption: Sql;
}

export interface Server {
  /** Product and version, for display: `MariaDB 10.11.14`. */
  readonly server: string;
  /** The version that is needed, if this one is too old. */
  readonly needed: string | undefined;
  /** Its default isolation level, if our calls cannot use it and cannot change it. */
  readonly isolation?: string | undefined;
}

/** What a server has, before its tables are used. */
interface Found extends Server {
  /** The types of columns, by `table.column`. */
  readonly columns: ReadonlyMap<string, string>;
  /** The version of our tables; 0 if there are none. */
  readonly version: number;
  /** Whether programs of our version would lose data on them. */
  readonly isTooNew: boolean;
  /** What is wrong with tables of the right version, as a clause: `jobs.attempts is smallint, where bigint is needed`. */
  readonly flaw: string | undefined;
}

/** The columns by which a table of that name is recognised as Laravel's or ours. */
const NEEDED: Readonly<Record<keyof TableNames, readonly string[]>> = {
  jobs: ['id', 'queue', 'payload', 'attempts', 'reserved_at', 'available_at', 'created_at'],
  failed: ['id', 'uuid', 'connection', 'queue', 'payload', 'exception', 'failed_at'],
  queues: ['name'],
  locks: ['name', 'token', 'expires_at'],
  orders: ['kind', 'value'],
  calls: ['client', 'called_at'],
  batches: ['id', 'callbacks'],
  uniqueKeys: ['unique_key', 'holder'],
  records: ['kind', 'id', 'value'],
  sums: ['name', 'field', 'amount'],
  lanes: ['queue', 'lane', 'running'],
};

/** Building an index over millions of jobs takes time. */
const MIGRATION_DEADLINE: Seconds = 3600;

export class ServerTables implements Tables {
  readonly migrations: Migrations;
  readonly #schema: Schema;
  readonly #caller: ServerCaller;
  readonly #log: Log;
  #checked: Promise<void> | undefined;

  constructor(schema: Schema, caller: ServerCaller, log: Log) {
    this.#schema = schema;
    this.#caller = caller;
    this.#log = log;
    this.migrations = {
      version: schema.version,
      sql: () => schema.sql(),
      run: () => this.#migrate(),
      check: () => this.#begin(),
    };
  }

  /** Looks at the tables once. */
  check(consequence: string): Promise<void> {
    if (this.#checked === undefined) {
      this.#checked = this.#look(consequence);
      this.#checked.catch(() => (this.#checked = undefined));
    }
    return this.#checked;
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    const purpose = { consequence: 'it was not examined' };
    const found = await this.#caller.run(purpose, () => look(this.#schema));
    const isWhole = found.version === this.#schema.version && found.flaw === undefined;
    const lack = isWhole ? await this.#caller.run(purpose, () => this.#schema.lack()) : undefined;
    const ask = (): Promise<unknown> => this.#caller.run(purpose, () => run(raw('SELECT 1')));
    const { server, needed, isolation } = found;
    const wrong = isolation && wrongIsolation(this.#caller.settings.name, server, isolation, 'its calls are refused');
    return [
      ...(wrong ? [{ level: 'error', subject: 'isolation', message: wrong.message } as const] : []),
      needed === undefined
        ? { level: 'ok', subject: 'version', message: server }
        : { level: 'error', subject: 'version', message: `${server} is too old: ${needed} or newer is needed.` },
      lack === undefined
        ? this.#diagnosisOf(found)
        : { level: 'warning', subject: 'tables', message: `${lack}. Run: onqueue migrate` },
      ...(await this.#caller.run(purpose, () => this.#schema.findings())),
      await latencyOf(this.#caller.settings.clock, 'at least one', ask),
    ];
  }

  #diagnosisOf({ version, isTooNew, flaw }: Found): Diagnosis {
    const known = this.#schema.version;
    const subject = 'tables';
    if (version === known && flaw === undefined) return { level: 'ok', subject, message: `version ${version}` };
    if (version > known) {
      const message = `version ${version}, and this Onqueue knows ${known}${isTooNew ? '' : ', which still works'}. Update onqueue here as well.`;
      return { level: isTooNew ? 'error' : 'warning', subject, message };
    }
    const older = version === 0 ? 'not there' : `version ${version}, and ${known} is needed`;
    const problem = version === known ? `version ${version}, but ${flaw}` : older;
    return { level: 'error', subject, message: `${problem}. Run: onqueue migrate` };
  }

  /** Called when a worker starts. */
  async #begin(): Promise<void> {
    const purpose = repeatable('nothing was done');
    try {
      await this.check(purpose.consequence);
      await this.#caller.run(purpose, () => written(this.#schema.adoption));
    } catch (error) {
      // Other errors will be reported, and retried, by the first reserve.
      if (areTablesOutOfReach(error)) throw error;
    }
  }

  async #look(consequence: string): Promise<void> {
    const { name, address } = this.#caller.settings;
    const { version, flaw, server, isolation } = await this.#serverIsNew(consequence);
    if (isolation !== undefined) throw wrongIsolation(name, server, isolation, consequence);
    if (version < this.#schema.version) throw notMigrated({ connection: name, address, consequence });
    if (flaw !== undefined) throw notMigrated({ connection: name, address, consequence, flaw });
  }

  async #migrate(): ReturnType<Migrations['run']> {
    const consequence = 'its tables were not brought up to date';
    const { version, ...found } = await this.#serverIsNew(consequence);
    const to = this.#schema.version;
    if (version > to) return { from: version, to: version };
    const isNew = version === to;
    const lack = isNew ? await this.#caller.run({ consequence }, () => this.#schema.lack()) : undefined;
    const flaw = found.flaw ?? lack;
    if (isNew && flaw === undefined) return { from: to, to };
    const purpose = { ...repeatable(consequence), deadline: MIGRATION_DEADLINE };
    const from = await this.#caller.run(purpose, () => this.#makeTables());
    return { from, to, ...(isNew && { mended: flaw }) };
  }

  /** If two processes migrate, the second finds the work done. Returns the version before. */
  *#makeTables(): Work<number> {
    const schema = this.#schema;
    const { address, clock } = this.#caller.settings;
    const { columns, version, flaw } = yield* look(schema);
    if (version > schema.version) throw newerTables(address, version, schema.version);
    if (version === 0 || flaw !== undefined) checkForeign(columns, schema.names, address);
    return yield* migration(schema.migration(this.#log), clock, this.#log);
  }

  /**
   * @throws E_DATABASE_SERVER_VERSION the server is too old
   * @throws E_DATABASE_NEWER_TABLES this Onqueue is too old
   */
  async #serverIsNew(consequence: string): Promise<Found> {
    const { name, address } = this.#caller.settings;
    const found = await this.#caller.run({ consequence }, () => look(this.#schema));
    const { server, needed, version, isTooNew } = found;
    if (needed !== undefined) throw serverTooOld(name, server, needed, consequence);
    if (isTooNew) throw newerTables(address, version, this.#schema.version);
    return found;
  }
}

function* look(schema: Schema): Work<Found> {
  const { names, versions } = schema;
  const server = yield* schema.server();
  const isThere = (yield* schema.columns([VERSIONS_TABLE])).some(([, column]) => column === 'version');
  const numberIn = (name: string): Sql => sql`(SELECT version FROM ${versions} WHERE name = ${name})`;
  const ours = sql`SELECT ${numberIn(names.jobs)}, ${numberIn(sinceRow(names))}`;
  const [version = 0, since] = isThere ? (yield* rowsOf(ours))[0]!.map(numberOf) : [];
  // Read after the version: while tables are being created, the columns read first might be fewer than the version promises.
  const rows = yield* schema.columns(Object.values(names));
  const columns = new Map(rows.map(([table, column, type]) => [`${String(table)}.${String(column)}`, String(type)]));
  const isTooNew = areTooNew(version, since, schema.version);
  return {
    ...server,
    columns,
    version,
    isTooNew,
    flaw: version === schema.version ? flawIn(columns, names) : undefined,
  };
}

/** Laravel's migrations make some columns too narrow, and may recreate a table without our columns. */
function flawIn(columns: Found['columns'], { jobs, failed, orders }: TableNames): string | undefined {
  const ours = [`${jobs}.lease_until`, `${jobs}.cancel_reason`, `${failed}.failed_ms`, `${orders}.ends_at`];
  const missing = ours.find((name) => !columns.has(name));
  if (missing !== undefined) return `${missing} is missing`;
  const type = columns.get(`${jobs}.attempts`);
  return type === 'bigint' ? undefined : `${jobs}.attempts is ${type}, where bigint is needed`;
}

/** @throws E_DATABASE_FOREIGN_TABLE a table is somebody else's */
function checkForeign(columns: Found['columns'], names: TableNames, address: string): void {
  for (const [table, needed] of Object.entries(NEEDED)) {
    const name = names[table as keyof TableNames];
    const isThere = [...columns.keys()].some((column) => column.startsWith(`${name}.`));
    if (isThere && !needed.every((column) => columns.has(`${name}.${column}`))) throw foreignTable(address, name);
  }
}

export type Log = Pick<Logger, 'info' | 'warn'>;

/** A part of the migration. It can be run again, and changes nothing that is as it should be. */
export type Step = () => Work<unknown>;

export interface Holder extends OldTransaction {
  readonly table: string;
}

/** Somebody is in the way, and will not be in a moment. */
export class HeldUp extends Error {}

export interface Steps {
  /** Keeps other processes from migrating at the same time; throws `HeldUp` if one does. Absent if the steps do so. */
  readonly begin?: Step;
  readonly end?: Step;
  readonly steps: readonly Step[];
  /** Writes the version. Returns the one before: that of this Onqueue if another process has done the work. */
  readonly finish: () => Work<number>;
  /** Whether the step was undone because of others. */
  readonly isHeldUp: (error: unknown) => boolean;
  /** The oldest transaction that may be in the way, and the table that it holds. */
  readonly holder: () => Work<Holder | undefined>;
  readonly pause: (seconds: Seconds) => Sql;
}

/** Between two tries. The first are short: usually somebody has just committed. */
const PAUSES: readonly Seconds[] = [0.1, 0.2, 0.5, 1, 2];

/** How often a wait is told of. */
const TOLD_EVERY: Milliseconds = 30_000;

/** Shorter ones are the traffic. */
const SHORT: Seconds = 1;

/**
 * Changes the tables of a database server while workers and dispatches go on.
 *
 * A change waits for all who use its table, and everybody who comes later waits behind it. So each step waits for half a
 * second or one at most, and is tried again after a pause in which the others go on: a backup or a forgotten transaction
 * delays the migration, and nothing else.
 *
 * Returns the version before.
 */
export function* migration(steps: Steps, clock: Clock, log: Log): Work<number> {
  let toldAt = -Infinity;
  let toldOf = '';
  const patiently = function* <T>(step: () => Work<T>): Work<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return yield* step();
      } catch (error) {
        if (!(error instanceof HeldUp) && !steps.isHeldUp(error)) throw error;
        const holder = yield* steps.holder();
        const isKnown = holder?.who === toldOf && clock.monotonic() - toldAt < TOLD_EVERY;
        if (holder !== undefined && holder.age > SHORT && !isKnown) {
          [toldAt, toldOf] = [clock.monotonic(), holder.who];
          const { who, age, table } = holder;
          const wait = 'The migration waits for its end; workers and dispatches go on.';
          log.warn({ who, age }, `A transaction of ${ageText(age)} holds ${table}: ${who}. ${wait}`);
        }
        yield* run(steps.pause(PAUSES[tries] ?? PAUSES.at(-1)!));
      }
    }
  };
  if (steps.begin !== undefined) yield* patiently(steps.begin);
  try {
    for (const step of steps.steps) yield* patiently(step);
    return yield* patiently(steps.finish);
  } finally {
    if (steps.end !== undefined) yield* steps.end();
  }
}

/** Our own calls take milliseconds. */
export const LONG: Seconds = 10;

export interface OldTransaction {
  /** `pid 123 (idle in transaction)` */
  readonly who: string;
  readonly age: Seconds;
}

export const ageText = (age: Seconds): string =>
  age < 120 ? `${Math.max(Math.round(age), 1)} s` : `${Math.round(age / 60)} min`;

/**
 * Transactions of others that have been open for long. A server keeps what jobs have left behind until they end, and a
 * change of a table waits for them.
 */
export function oldTransactionWarning({ who, age }: OldTransaction): Diagnosis {
  const message =
    `a transaction of ${ageText(age)} keeps the server from cleaning up what jobs have left, so that claims get slower: ` +
    `${who}. End it, and find out who left it open.`;
  return { level: 'warning', subject: 'transactions', message };
}
