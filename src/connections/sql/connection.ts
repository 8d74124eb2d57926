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
import { batchEnded, DuplicatePayloadError, QueueUnavailableError, unknownTransaction } from '../errors';
import { settledThen, StoreConnection, Waits } from '../kit/connection';
import { Batches, queuesOf } from './batches';
import { CallClient } from './calls';
import { SqlControl } from './control';
import {
  newJob,
  shownText,
  type Dialect,
  type Holders,
  type PushAnswer,
  type QueuedJob,
  type ReservationToken,
  type StoredJob,
} from './dialect';
import { orderOf, repeatable, type Database } from './database';
import { perform, runAll, written, type SqlSession } from './statement';
import { otherDatabase } from './errors';
import { Exchanger } from './exchange';
import { FailedJobs } from './failed';
import { countJobs, clearQueue } from './queues';
import { find, forgetCalls, forgetQueue, queues, readSomeIds, peek } from './jobs';
import { SqlLanes } from './lanes';
import { Locks, SqlRecords } from './records';
import { lookOnce, pushOnce, pushedOf, PushLane, type Send } from './push';

export interface ConnectionParts {
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
  /** Never used with unanswered calls: a push that took the answer to another call for its own would lose its jobs. */
  #pushClient = new CallClient();
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
    this.#lane = new PushLane(name, (...load) => this.#send(...load), dialect.pushedPage);
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
    if (isOfBatch(entries, begins)) return this.#lane.pushBatch(queuedJobs(queue, entries), begins);
    return this.#lane.pushAll(entries.length, queuedPages(queue, entries, this.#dialect.pushedPage));
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
    names: () => this.#database.run({ consequence: 'no queues were listed' }, () => queues(this.#dialect)),
    counts: (queue) => this.#database.inPieces({ consequence: 'nothing was counted' }, countJobs(this.#dialect, queue)),
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
      const purpose = { consequence: 'nothing was shown' };
      const jobs = await this.#database.run(purpose, () => peek(this.#dialect, queue, state, limit, after));
      return jobs.map((job) => ({ ...shown(job), place: job.place }));
    },
    find: async (id, queue) => {
      const purpose = { consequence: `job ${id} was not looked for` };
      const reading = repeatable(purpose.consequence);
      for (let looks = 0; ; looks += 1) {
        const job = await this.#database.run(purpose, () => find(this.#dialect, id, queue));
        if (job !== undefined) return { ...shown(job), queue: job.queue, state: job.state };
        if (looks === MOST_LOOKS) return 'unseen';
        // The job may be one of another program, whose payload's id nobody has read yet. Each is read once.
        if (!(await this.#database.run(reading, () => readSomeIds(this.#dialect, MOST_JOBS)))) return undefined;
      }
    },
    forget: (queue) =>
      this.#database.run(orderOf(`queue '${queue}' was not forgotten`), () => forgetQueue(this.#dialect, queue)),
  });

  readonly keys: Required<KeyStore> = this.whileOpen('keys', {
    pushOnce: async ({ queue, entries, begins }, once) => {
      const looking = { consequence: entries.length === 1 ? 'the job was not queued' : 'the jobs were not queued' };
      const known = await this.#database.run(looking, () => lookOnce(this.#dialect, once));
      if (known !== undefined) return known;
      const jobs = queuedJobs(queue, entries);
      const holders = (refused: PushAnswer) => this.#checked(jobs, refused, begins);
      const purpose = { ...repeatable(looking.consequence), durable: true };
      const pushed = await this.#database.run(purpose, () => pushOnce(this.#dialect, jobs, begins, once, holders));
      if (typeof pushed !== 'string') this.#database.wrote(...queuesOf([{ queue }], begins));
      return pushed;
    },
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
      push: async (queue, entries, begins) => {
        // The transaction may have ended by now.
        if (await perform(session, this.#dialect.jobs.isWithin())) {
          return this.#pushWithin(session, queue, entries, begins);
        }
        throw unknownTransaction(this.name, transaction);
      },
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
    const clients = [this.#pushClient, ...this.#exchanger.clients.all]
      .filter(({ wasUsed }) => wasUsed)
      .map(({ name }) => name);
    if (clients.length > 0 && this.#dialect.recordsCalls) {
      const farewell = repeatable('what was told to this process is still recorded');
      const purpose = { ...farewell, deadline: FAREWELL_DEADLINE };
      await engine.run(purpose, () => forgetCalls(this.#dialect, clients)).catch(() => undefined);
    }
    await engine.close();
  }

  /** If the answer gets lost the call is repeated; nothing is queued twice. */
  async #send(...[jobs, consequence, begins]: Parameters<Send>): ReturnType<Send> {
    // An unanswered transaction may still have its client's record locked.
    if (this.#pushClient.isUnheard) this.#pushClient = new CallClient();
    const client = this.#pushClient;
    const purpose = { consequence, writes: 'repeatable', durable: true } as const;
    const pushing = this.#database.run(purpose, () => this.#dialect.jobs.push(jobs, client.next(), begins));
    const refused = await pushing.catch((error: unknown) => {
      if (!(error instanceof QueueUnavailableError) || error.facts.uncertain !== true) client.refused();
      throw error;
    });
    client.heard();
    const holders = this.#checked(jobs, refused, begins);
    // A batch without jobs sends its callbacks at once.
    this.#database.wrote(...queuesOf(jobs, begins));
    return holders;
  }

  async #pushWithin(
    session: SqlSession,
    queue: string,
    entries: readonly Entry[],
    begins: NewBatch | undefined,
  ): Promise<readonly Pushed[] | undefined> {
    const { jobs, trouble } = this.#dialect;
    const purpose = repeatable('the job was not queued');
    // Outside of the transaction: within it, a new name would make others wait until it ends.
    for (const remembering of jobs.remember(queuesOf([{ queue }], begins))) {
      await this.#database.run(purpose, () => written(remembering));
    }
    const pages = isOfBatch(entries, begins) ? [queuedJobs(queue, entries)] : queuedPages(queue, entries);
    const held = new Map<number, Exclude<Pushed, 'queued'>>();
    let place = 0;
    const divided: SqlSession = {
      run: (statements) =>
        statements[0]?.apart === true
          ? this.#database.run({ consequence: purpose.consequence }, () => runAll(statements))
          : session.run(statements),
    };
    for (const page of pages) {
      const pushing = perform(divided, jobs.push(page.map(lockingNoLane), undefined, begins)).catch(
        (cause: unknown) => {
          // Our own connections do see the tables. Other errors come from the user's client, and are passed on.
          throw trouble(cause) === 'unmigrated' ? otherDatabase(this.name, this.address, { cause }) : cause;
        },
      );
      for (const [index, holder] of this.#checked(page, await pushing, begins) ?? []) held.set(place + index, holder);
      place += page.length;
    }
    return pushedOf(entries.length, held);
  }

  /** @throws DuplicatePayloadError, E_BATCH_ENDED */
  #checked(jobs: readonly QueuedJob[], refused: PushAnswer, begins: NewBatch | undefined): Holders | undefined {
    if (typeof refused === 'string') throw batchEnded(this.name, begins?.id ?? jobs[0]!.batch!.id, refused);
    if (typeof refused !== 'number') return refused;
    const { queue, payload } = jobs[refused]!;
    throw new DuplicatePayloadError(this.name, queue, String(payload));
  }
}

function shown(job: StoredJob): PeekedJob {
  return { payload: shownText(job), ...(job.at === undefined ? {} : { at: Math.round(job.at * 1000) }) };
}

/** Pages are made when their turn comes: the first jobs are on their way before the last are looked at. */
function* queuedPages(queue: string, entries: readonly Entry[], most?: number): Generator<readonly QueuedJob[]> {
  for (const page of pagesOf(entries, ({ payload }) => Buffer.byteLength(payload), most)) {
    yield queuedJobs(queue, page);
  }
}

function queuedJobs(queue: string, entries: readonly Entry[]): readonly QueuedJob[] {
  return entries.map(({ payload, delay = 0, dueAt, distinct = false, ties }) => {
    const unique = distinct && (delay > 0 || dueAt !== undefined);
    const job = { ...newJob(payload, delay, dueAt), queue, unique };
    return ties === undefined
      ? job
      : { ...job, tie: ties.unique, debounce: ties.debounce, batch: ties.batch, lane: ties.lane };
  });
}

/** It enters its lane when a worker finds it due: the user's transaction would keep the lane locked until it ends. */
function lockingNoLane(job: QueuedJob): QueuedJob {
  return job.lane !== undefined && job.due === undefined && !(job.delay > 0) ? { ...job, delay: 0.000001 } : job;
}

/** Either all jobs of a call belong to one batch, or none does. */
const isOfBatch = ([first]: readonly Entry[], begins: NewBatch | undefined): boolean =>
  begins !== undefined || first?.ties?.batch !== undefined;
