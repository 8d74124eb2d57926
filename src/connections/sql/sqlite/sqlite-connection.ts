/**
 * The `database` driver on an embedded SQLite file, which several processes may share.
 *
 * The clock of the process is the clock of the store: all that share a file share a machine. What is pushed is on disk
 * when its promise resolves; the end of a job may be lost with the power, and then the job runs again.
 */
import { ALL_CAPABLE } from '../../kit/all-capable';
import type { Clock, Milliseconds, Seconds } from '../../../base/clock';
import type { Logger } from '../../../base/logger';
import type {
  Connection,
  Counts,
  Diagnosis,
  Entry,
  PeekedJob,
  RenewResult,
  Reservation,
  ReserveReply,
  ReserveRequest,
  Settlement,
  SettleResult,
  ThreadAccess,
  Waiter,
  WaitingState,
} from '../../contract';
import type { Migrations } from '../../migrations';
import { threadModule } from '../../../base/thread-module';
import { ConnectionClosedError, DuplicatePayloadError } from '../../errors';
import { OpenWaiters } from '../../kit/open-waiters';
import { diagnose } from './diagnosis';
import { watchOf } from './file-watch';
import type { FileWatch } from './file-watch';
import { areTablesOutOfReach } from '../errors';
import { newJob, shownText } from '../job-text';
import { delayAt, toMicroseconds } from './moment';
import { pushWithin } from './push-within';
import { idleReply, nextIn, reserve } from './reserve';
import type { ReservationToken } from './reserve';
import { settle } from './settle';
import { SqliteControl } from './sqlite-control';
import { SqliteFailedStore } from './sqlite-failed-store';
import { SqliteLockStore } from './sqlite-lock-store';
import { SqliteStore } from './sqlite-store';
import { SqliteTables } from './sqlite-tables';
import { SqliteWaiter } from './sqlite-waiter';
import { tableNames } from '../table-names';
import type { TableNames } from '../table-names';
import { prepareTables, TABLES_VERSION, tablesSql } from './tables';
import type { ThreadData } from './thread-store';
import { userTransaction } from './user-transaction';

export interface SqliteOptions {
  /** The connection's name in the configuration. */
  readonly name: string;
  /** Its canonical path. */
  readonly file: string;
  readonly table: string;
  /** Seconds until a call gives up on a file that others keep locked. */
  readonly deadline: Seconds;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where the address came from, as a clause, if not from the configuration. */
  readonly origin: string | undefined;
}

/** What one transaction pushes or removes at most, so that neither the file nor the event loop is held for long. */
const PAGE_JOBS = 250;
const PAGE_CHARACTERS = 1024 * 1024;

const SETTLED_NOTHING = 'no outcome was recorded';
const RESERVED_NOTHING = 'no job was reserved';

export class SqliteConnection implements Connection {
  readonly name: string;
  readonly driver = 'database';
  readonly address: string;
  readonly capabilities = ALL_CAPABLE;
  readonly threadAccess: ThreadAccess;
  readonly failed: SqliteFailedStore;
  readonly locks: SqliteLockStore;
  readonly control: SqliteControl;
  readonly migrations: Migrations;
  readonly #clock: Clock;
  readonly #names: TableNames;
  readonly #store: SqliteStore<SqliteTables>;
  readonly #watch: FileWatch;
  readonly #waiters = new OpenWaiters();
  #closed = false;
  /** How many replacements of the file were told. */
  #heard = 0;

  constructor({ name, file, table, deadline, clock, logger, origin }: SqliteOptions) {
    const names = tableNames(table, name);
    this.name = name;
    this.address = file;
    this.#clock = clock;
    this.#names = names;
    const data: ThreadData = { name, file, table, deadline, origin };
    this.threadAccess = { module: threadModule('connections/sql/sqlite/thread-store'), data };
    this.#watch = watchOf(file);
    this.#store = new SqliteStore({ connection: name, file, deadline, logger, origin }, (database) => {
      const found = prepareTables(database, names, file);
      return new SqliteTables(database, names, found);
    });
    const store = this.#store;
    const checkOpen = (operation: string): void => this.#checkOpen(operation);
    const wroteTo = (queue: string): void => this.#watch.wroteTo(queue);
    this.failed = new SqliteFailedStore({ store, clock, checkOpen, wroteTo });
    this.locks = new SqliteLockStore(store, clock, checkOpen);
    this.control = new SqliteControl({ store, checkOpen, now: () => this.#now, wroteTo });
    this.migrations = {
      version: TABLES_VERSION,
      sql: () => tablesSql(names),
      check: async () => {
        await store
          .read('nothing was done', () => undefined)
          .catch((error: unknown) => {
            if (areTablesOutOfReach(error)) throw error;
          });
      },
      run: async () => {
        checkOpen('migrate');
        // Opening brings them up to date.
        const from = await store.read('its tables were not brought up to date', (tables) => tables.foundVersion);
        return { from, to: TABLES_VERSION };
      },
    };
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.#checkOpen('push');
    let pushed = 0;
    for (const page of pagesOf(entries)) {
      const before = pushed === 0 ? '' : `the first ${pushed} of ${entries.length} jobs were queued, `;
      const consequence = `${before}${entries.length - pushed === 1 ? 'the job was' : 'the other jobs were'} not queued`;
      await this.#store.write({ consequence, durable: true }, (tables) => this.#insert(tables, queue, page));
      this.#watch.wroteTo(queue);
      pushed += page.length;
    }
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    this.#checkOpen('reserve');
    // Mostly an idle worker's look: it takes no lock, and so hinders nobody.
    const idle = await this.#store.read(RESERVED_NOTHING, (tables) => idleReply(tables, request.queues, this.#now));
    if (idle !== undefined) return this.#withNews(idle);
    const reply = await this.#store.write({ consequence: RESERVED_NOTHING }, (tables) =>
      reserve(tables, request, this.name, this.#now),
    );
    return this.#withNews(reply);
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    this.#checkOpen('settle');
    if (settlements.length === 0) return [];
    const results = await this.#store.write({ consequence: SETTLED_NOTHING }, (tables) =>
      this.#settle(tables, settlements),
    );
    this.#announce(settlements);
    return results;
  }

  async settleAndReserve(
    settlements: readonly Settlement[],
    request: ReserveRequest,
  ): Promise<{ readonly results: readonly SettleResult[]; readonly reply: ReserveReply }> {
    this.#checkOpen('settleAndReserve');
    if (settlements.length === 0) return { results: [], reply: await this.reserve(request) };
    const done = await this.#store.write({ consequence: `${SETTLED_NOTHING}, and ${RESERVED_NOTHING}` }, (tables) => ({
      results: this.#settle(tables, settlements),
      reply: reserve(tables, request, this.name, this.#now),
    }));
    this.#announce(settlements);
    return { ...done, reply: this.#withNews(done.reply) };
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.#checkOpen('renew');
    if (reservations.length === 0) return [];
    return this.#store.write({ consequence: 'no lease was renewed' }, ({ jobs }) => {
      const leaseEnd = toMicroseconds(this.#now + lease);
      return reservations.map(({ token }) => {
        const { id, fence } = token as ReservationToken;
        return jobs.renew(id, fence, leaseEnd);
      });
    });
  }

  async counts(queue: string): Promise<Counts> {
    this.#checkOpen('counts');
    return this.#store.read('nothing was counted', ({ jobs }) => jobs.counts(queue));
  }

  async clear(queue: string): Promise<number> {
    this.#checkOpen('clear');
    const consequence = `not all jobs of queue '${queue}' were removed`;
    // What is pushed meanwhile stays: it would never come to an end otherwise.
    const newest = await this.#store.read(consequence, ({ jobs }) => jobs.newest());
    for (let removed = 0; ;) {
      const page = await this.#store.write({ consequence }, ({ jobs }) => jobs.clear(queue, newest, PAGE_JOBS));
      removed += page;
      if (page < PAGE_JOBS) return removed;
    }
  }

  async peek(queue: string, state: WaitingState, limit: number): Promise<readonly PeekedJob[]> {
    this.#checkOpen('peek');
    const jobs = await this.#store.read('nothing was shown', (tables) => tables.jobs.peek(queue, state, limit));
    return jobs.map((job) => ({
      payload: shownText(job),
      ...(job.at === undefined ? {} : { at: Math.round(job.at * 1000) }),
    }));
  }

  async queues(): Promise<readonly string[]> {
    this.#checkOpen('queues');
    return this.#store.read('no queues were listed', ({ jobs }) => jobs.queues());
  }

  async now(): Promise<Milliseconds> {
    return this.#clock.now();
  }

  waiter(queues: readonly string[]): Waiter {
    this.#checkOpen('waiter');
    const glance = <T>(work: (tables: SqliteTables) => T): T | undefined => this.#store.glance(work);
    const waiter = new SqliteWaiter(queues, {
      connection: this.name,
      clock: this.#clock,
      watch: this.#watch,
      nextIn: (names) => glance((tables) => nextIn(tables, names, this.#now)) ?? Infinity,
      version: () => glance((tables) => tables.version),
    });
    return this.#waiters.add(waiter);
  }

  /** Pushes into the user's own transaction: the jobs are there once it is committed. @throws ForeignEngineError */
  within(transaction: unknown): Pick<Connection, 'push'> | undefined {
    this.#checkOpen('using');
    const given = userTransaction(transaction, this.name);
    const engine = (): string | undefined => this.#store.glance((tables) => tables.facts().engine);
    const { name: connection, address: file } = this;
    return given && pushWithin({ connection, file, names: this.#names, clock: this.#clock, engine }, given);
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#checkOpen('diagnose');
    return diagnose(this.address, this.#store);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#waiters.close();
    await this.#store.close();
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new ConnectionClosedError(this.name, operation);
  }

  get #now(): Seconds {
    return toMicroseconds(this.#clock.now() / 1000);
  }

  /** All are checked before the first is written. */
  #insert({ jobs }: SqliteTables, queue: string, entries: readonly Entry[]): void {
    const unique = new Set<string>();
    const now = this.#now;
    for (const { payload, ...when } of entries.filter((entry) => entry.unique === true)) {
      if (delayAt(when, now) <= 0) continue;
      if (unique.has(payload) || jobs.isDelayed(queue, payload)) {
        throw new DuplicatePayloadError(this.name, queue, payload);
      }
      unique.add(payload);
    }
    const made = entries.map(({ payload, ...when }) => newJob(payload, delayAt(when, now)));
    jobs.insert(queue, made, now);
  }

  #settle(tables: SqliteTables, settlements: readonly Settlement[]): readonly SettleResult[] {
    const now = this.#now;
    return settlements.map((settlement) => settle(tables, settlement, this.name, now));
  }

  /** Says once of each time that another file took the name: jobs that were confirmed may be gone with it. */
  #withNews(reply: ReserveReply): ReserveReply {
    const { replacements } = this.#store;
    if (replacements === this.#heard) return reply;
    this.#heard = replacements;
    return { ...reply, forgotten: true };
  }

  /** Wakes those who wait for what was given back. */
  #announce(settlements: readonly Settlement[]): void {
    const queues = new Set<string>();
    for (const { outcome, reservation } of settlements) {
      if (outcome === 'released') queues.add(reservation.queue);
    }
    for (const queue of queues) this.#watch.wroteTo(queue);
  }
}

function* pagesOf(entries: readonly Entry[]): Generator<readonly Entry[]> {
  let page: Entry[] = [];
  let characters = 0;
  for (const entry of entries) {
    if (page.length > 0 && (page.length === PAGE_JOBS || characters + entry.payload.length > PAGE_CHARACTERS)) {
      yield page;
      page = [];
      characters = 0;
    }
    page.push(entry);
    characters += entry.payload.length;
  }
  if (page.length > 0) yield page;
}
