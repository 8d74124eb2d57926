/** The `database` driver: one class for all databases. The dialect writes the statements, the engine runs them. */
import { ALL_CAPABLE } from '../driver';
import type {
  Connection,
  Diagnosis,
  Entry,
  PeekedJob,
  Pushed,
  RenewResult,
  Reservation,
  Settled,
  Settlement,
  ThreadAccess,
  Wanted,
  Migrations,
  Queues,
  KeyStore,
  AtOnce,
} from '../contract';
import type { Clock, Milliseconds, Seconds } from '../../base/clock';
import { OnqueueError } from '../../base/onqueue-error';
import { MOST_JOBS, pagesOf } from '../../base/collections';
import type { NewBatch } from '../batch-store';
import { unknownTransaction } from '../errors';
import { settledThen, StoreConnection, Waits } from '../kit/connection';
import { Batches } from './batches';
import { SqlControl } from './control';
import { shownText, type Dialect, type ReservationToken, type StoredJob } from './dialect';
import { orderOf, repeatable, type Database } from './database';
import { perform } from './statement';
import { Exchanger } from './exchange';
import { FailedJobs } from './failed';
import { inTurn } from './libraries';
import { countJobs, clearQueue } from './queues';
import { find, forgetCalls, forgetQueue, queues, readSomeIds, peek } from './jobs';
import { SqlLanes } from './lanes';
import { Locks, SqlRecords } from './records';
import { PushLane } from './push';

interface ConnectionParts {
  readonly clock: Clock;
  /** Absent if another thread cannot open the store. */
  readonly threadAccess: ThreadAccess | undefined;
  readonly now: () => Promise<Milliseconds>;
}

/** How often `find` looks for a job if payload ids are still unread: it reads 100 of them each time. */
const MOST_LOOKS = 10;

/** Records that are left behind are removed by others after a day. */
const FAREWELL_DEADLINE: Seconds = 1;

export class SqlConnection extends StoreConnection implements Connection {
  readonly driver = 'database';
  readonly address: string;
  readonly capabilities = ALL_CAPABLE;
  readonly atOnce: AtOnce;
  readonly threadAccess: ThreadAccess | undefined;
  readonly failed: FailedJobs;
  readonly locks: Locks;
  readonly control: SqlControl;
  readonly records: SqlRecords;
  readonly batches: Batches;
  readonly lanes: SqlLanes;
  readonly migrations: Migrations;
  readonly #database: Database;
  readonly #dialect: Dialect;
  readonly #now: ConnectionParts['now'];
  readonly #exchanger: Exchanger;
  readonly #waits: Waits;
  readonly #lane: PushLane;

  constructor(database: Database, { clock, threadAccess, now }: ConnectionParts) {
    const { name, dialect } = database;
    super(name);
    this.address = database.address;
    this.atOnce = { pushes: dialect.pushesAtOnce };
    this.threadAccess = threadAccess;
    this.#database = database;
    this.#dialect = dialect;
    this.#now = now;
    this.#lane = new PushLane(database);
    this.#waits = new Waits(clock);
    this.batches = this.whileOpen('batches', new Batches(database));
    this.lanes = this.whileOpen('lanes', new SqlLanes(database));
    this.#exchanger = new Exchanger(database, this.lanes);
    this.failed = this.whileOpen('failed', new FailedJobs(database));
    this.locks = this.whileOpen('locks', new Locks(database));
    this.records = this.whileOpen('records', new SqlRecords(database));
    this.control = this.whileOpen('control', new SqlControl(database, this.batches));
    this.migrations = database.tables.migrations;
  }

  async push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | void> {
    this.checkOpen('push');
    return this.#lane.pushEntries(queue, entries, begins);
  }

  async exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    this.checkOpen('exchange');
    if (wanted?.within === undefined) return this.#exchanger.exchange(settlements, wanted);
    const listening = this.#database.waiters.listening(wanted);
    const results = settlements.length === 0 ? [] : (await this.#exchanger.exchange(settlements)).results;
    return settledThen(results, () => this.#waits.reserve(wanted, listening, () => this.#exchanger.reserve(wanted)));
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.checkOpen('renew');
    const purpose = repeatable('no lease was renewed');
    const results: RenewResult[] = [];
    for (const page of pagesOf(reservations, () => 0)) {
      const tokens = page.map(({ token }) => token as ReservationToken);
      results.push(...(await this.#database.run(purpose, () => this.#dialect.jobs.renew(tokens, lease))));
    }
    return results;
  }

  readonly queues: Required<Queues> = this.whileOpen('queues', {
    names: () => this.#database.run('no queues were listed', () => queues(this.#dialect)),
    counts: (queue) => this.#database.inPieces('nothing was counted', countJobs(this.#dialect, queue)),
    clear: async (queue) => {
      const purpose = repeatable(`not all jobs of queue '${queue}' were removed`);
      const removed = await clearQueue(
        this.#dialect,
        queue,
        (work) => this.#database.run(purpose, work),
        (page) => this.batches.removing(purpose, page),
      );
      // For jobs that came meanwhile.
      await this.lanes.recount(true, [queue]);
      return removed;
    },
    peek: async (queue, state, limit, after) => {
      const looking = (): ReturnType<typeof peek> => peek(this.#dialect, queue, state, limit, after);
      const jobs = await this.#database.run('nothing was shown', looking);
      return jobs.map((job) => ({ ...shown(job), place: job.place }));
    },
    find: async (id, queue) => {
      const consequence = `job ${id} was not looked for`;
      const reading = repeatable(consequence);
      for (let looks = 0; ; looks += 1) {
        const job = await this.#database.run(consequence, () => find(this.#dialect, id, queue));
        // Only now does it write: whoever only looks must not wait for the lock of a SQLite file.
        if (job === undefined) return undefined;
        if (job !== 'unread') return { ...shown(job), queue: job.queue, state: job.state };
        if (looks === MOST_LOOKS) return 'unseen';
        await this.#database.run(reading, () => readSomeIds(this.#dialect, MOST_JOBS));
      }
    },
    forget: (queue) =>
      this.#database.run(orderOf(`queue '${queue}' was not forgotten`), () => forgetQueue(this.#dialect, queue)),
  });

  readonly keys: Required<KeyStore> = this.whileOpen('keys', {
    pushOnce: (jobs, once) => this.#lane.pushOnce(jobs, once),
    /** Unique keys are free when their jobs are gone, whoever removed them. */
    recount: async (options) => [
      ...(await this.batches.recount(options)),
      ...(await this.lanes.recount(options.repair)),
    ],
  });

  async now(): Promise<Milliseconds> {
    this.checkOpen('now');
    return this.#now();
  }

  /** Pushes within the user's transaction: the jobs are there once it is committed. */
  within(transaction: unknown): Pick<Connection, 'push'> | undefined {
    this.checkOpen('using');
    const session = this.#dialect.sessionOf(transaction);
    if (session === undefined) return undefined;
    return {
      push: (queue, entries, begins) =>
        inTurn(transaction as object, async () => {
          // The transaction may have ended by now.
          if (await perform(session, this.#dialect.jobs.isWithin())) {
            return this.#lane.pushWithin(session, queue, entries, begins);
          }
          throw unknownTransaction(this.name, transaction);
        }),
    };
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    try {
      return await this.#database.tables.diagnose();
    } catch (error) {
      if (!(error instanceof OnqueueError)) throw error;
      return [{ level: 'error', subject: 'database', message: error.message }];
    }
  }

  protected async end(): Promise<void> {
    const { engine, waiters } = this.#database;
    waiters.records?.close();
    this.#waits.close();
    waiters.close?.();
    await this.#lane.close();
    const clients = [this.#lane.client, ...this.#exchanger.clients.all]
      .filter(({ wasUsed }) => wasUsed)
      .map(({ name }) => name);
    if (clients.length > 0 && this.#dialect.recordsCalls) {
      const farewell = repeatable('what was told to this process is still recorded');
      const purpose = { ...farewell, deadline: FAREWELL_DEADLINE };
      await engine.run(purpose, () => forgetCalls(this.#dialect, clients)).catch(() => undefined);
    }
    await engine.close();
  }
}

function shown(job: StoredJob): PeekedJob {
  return { payload: shownText(job), ...(job.at === undefined ? {} : { at: Math.round(job.at * 1000) }) };
}
