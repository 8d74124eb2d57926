/**
 * The `database` driver on a server, whose dialect gives the statements.
 *
 * The clock of the server alone decides. What it may have carried out unheard is asked for by the next call: see
 * `CallMark`.
 */
import type {
  Capabilities,
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
import type { Clock, Milliseconds, Seconds } from '../../../base/clock';
import { StoreClock } from '../../../base/store-clock';
import { isStoreAway, unknownTransaction } from '../../errors';
import type { Migrations } from '../../migrations';
import { ConnectionClosedError, DuplicatePayloadError } from '../../errors';
import { pagesOf } from '../../../base/pages';
import {
  areTablesOutOfReach,
  NewerTablesError,
  NotMigratedError,
  OtherDatabaseError,
  ServerVersionError,
} from '../errors';
import { newJob, shownText } from '../job-text';
import type { Access } from './access';
import { CallMarks } from './call-marks';
import { diagnoseServer } from './diagnosis';
import type { Dialect, Ending, Exchanged, QueuedJob, ReservationToken, Waiters } from './dialect';
import { endingOf, sizeOf } from './endings';
import { PushLane } from './push-lane';
import { exchange, type ReservedJobs, reservedJobs } from './reserved-jobs';
import type { Purpose, ServerCaller } from './server-caller';
import { ServerControl } from './server-control';
import { ServerFailedStore } from './server-failed-store';
import { ServerLockStore } from './server-lock-store';
import type { SqlSession } from './sql-session';

export interface ServerParts {
  /** The connection's name in the configuration. */
  readonly name: string;
  /** For people: without a password. */
  readonly address: string;
  readonly dialect: Dialect;
  readonly caller: ServerCaller;
  readonly waiters: Waiters;
  readonly capabilities: Capabilities;
  readonly clock: Clock;
  /** Absent: not from another thread. */
  readonly threadAccess?: ThreadAccess | undefined;
  /** Makes a session of a transaction that the user has begun; undefined: it is none that is known. */
  readonly sessionOf: (transaction: unknown) => SqlSession | undefined;
}

/** Jobs that one call removes. */
const CLEARED_PAGE = 500;

/** What is left behind is removed after a day by others. */
const FAREWELL_DEADLINE: Seconds = 1;

/** An index over millions of jobs takes its time. */
const MIGRATION_DEADLINE: Seconds = 3600;

const NOT_SETTLED = 'no outcome was recorded';
const NOT_RESERVED = 'no job was reserved';

export class ServerConnection implements Connection {
  readonly name: string;
  readonly driver = 'database';
  readonly address: string;
  readonly capabilities: Capabilities;
  readonly threadAccess: ThreadAccess | undefined;
  readonly failed: ServerFailedStore;
  readonly locks: ServerLockStore;
  readonly control: ServerControl;
  readonly migrations: Migrations;
  readonly #parts: ServerParts;
  readonly #dialect: Dialect;
  readonly #caller: ServerCaller;
  readonly #marks = new CallMarks();
  /** Of their own: a push that takes the answer to another call for its own would lose its jobs. */
  readonly #pushMarks = new CallMarks();
  readonly #lane: PushLane;
  readonly #storeClock: StoreClock;
  #checked: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: ServerParts) {
    const { name, address, dialect, caller, capabilities, threadAccess } = parts;
    this.name = name;
    this.address = address;
    this.capabilities = capabilities;
    this.threadAccess = threadAccess;
    this.#parts = parts;
    this.#dialect = dialect;
    this.#caller = caller;
    this.#storeClock = new StoreClock(parts.clock);
    this.#lane = new PushLane((jobs, consequence) => this.#send(jobs, consequence));
    const access: Access = (operation, purpose, work) => this.#access(operation, purpose, work);
    this.failed = new ServerFailedStore(access, dialect.failed);
    this.locks = new ServerLockStore(access, dialect.locks);
    this.control = new ServerControl(access, dialect);
    const { schema } = dialect;
    this.migrations = {
      version: schema.version,
      sql: () => schema.sql(),
      run: () => this.#migrate(),
      check: () => this.#begin(),
    };
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.#checkOpen('push');
    await this.#lane.pushAll(entries.map((entry) => queued(queue, entry)));
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    this.#checkOpen('reserve');
    return (await this.#exchange([], request, NOT_RESERVED)).reply;
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    this.#checkOpen('settle');
    const results: SettleResult[] = [];
    for (const page of pagesOf(settlements, sizeOf)) {
      results.push(...(await this.#exchange(page, undefined, NOT_SETTLED)).results);
    }
    return results;
  }

  async settleAndReserve(
    settlements: readonly Settlement[],
    request: ReserveRequest,
  ): Promise<{ readonly results: readonly SettleResult[]; readonly reply: ReserveReply }> {
    this.#checkOpen('settleAndReserve');
    const pages = [...pagesOf(settlements, sizeOf)];
    const last = pages.pop() ?? [];
    const earlier = await this.settle(pages.flat());
    const { results, reply } = await this.#exchange(last, request, `${NOT_SETTLED}, and ${NOT_RESERVED}`);
    return { results: [...earlier, ...results], reply };
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.#checkOpen('renew');
    const purpose = { consequence: 'no lease was renewed', writes: 'repeatable' } as const;
    const results: RenewResult[] = [];
    for (const page of pagesOf(reservations, () => 0)) {
      const tokens = page.map(({ token }) => token as ReservationToken);
      results.push(
        ...(await this.#access('renew', purpose, (session) => this.#dialect.jobs.renew(session, tokens, lease))),
      );
    }
    return results;
  }

  async counts(queue: string): Promise<Counts> {
    return this.#access('counts', { consequence: 'nothing was counted' }, (session) =>
      this.#dialect.jobs.counts(session, queue),
    );
  }

  async clear(queue: string): Promise<number> {
    const { jobs } = this.#dialect;
    const purpose = { consequence: `not all jobs of queue '${queue}' were removed`, writes: 'repeatable' } as const;
    // What is pushed meanwhile stays: it would never come to an end otherwise.
    const newest = await this.#access('clear', purpose, (session) => jobs.newest(session));
    for (let removed = 0; ;) {
      const page = await this.#access('clear', purpose, (session) => jobs.clear(session, queue, newest, CLEARED_PAGE));
      removed += page;
      if (page < CLEARED_PAGE) return removed;
    }
  }

  async peek(queue: string, state: WaitingState, limit: number): Promise<readonly PeekedJob[]> {
    const jobs = await this.#access('peek', { consequence: 'nothing was shown' }, (session) =>
      this.#dialect.jobs.peek(session, queue, state, limit),
    );
    return jobs.map((job) => ({
      payload: shownText(job),
      ...(job.at === undefined ? {} : { at: Math.round(job.at * 1000) }),
    }));
  }

  async queues(): Promise<readonly string[]> {
    return this.#access('queues', { consequence: 'no queues were listed' }, (session) =>
      this.#dialect.jobs.queues(session),
    );
  }

  now(): Promise<Milliseconds> {
    const purpose = { consequence: 'the time of the server was not read' };
    return this.#storeClock.current(async () => {
      this.#checkOpen('now');
      return (await this.#caller.run(purpose, (session) => this.#dialect.jobs.now(session))) * 1000;
    });
  }

  waiter(queues: readonly string[]): Waiter {
    this.#checkOpen('waiter');
    return this.#parts.waiters.open(queues);
  }

  /** Pushes into the user's own transaction: the jobs are there once it is committed. */
  within(transaction: unknown): Pick<Connection, 'push'> | undefined {
    this.#checkOpen('using');
    const session = this.#parts.sessionOf(transaction);
    if (session === undefined) return undefined;
    return {
      push: async (queue, entries) => {
        // It may be over by now.
        if (await this.#dialect.jobs.isWithin(session)) return this.#pushWithin(session, queue, entries);
        throw unknownTransaction(this.name, transaction);
      },
    };
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#checkOpen('diagnose');
    return diagnoseServer(this.#dialect, this.#caller);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#parts.waiters.close();
    const clients = [...this.#marks.clients, ...this.#pushMarks.clients];
    if (clients.length > 0) {
      const consequence = 'what was told to this process is still recorded';
      const purpose = { consequence, writes: 'repeatable', deadline: FAREWELL_DEADLINE } as const;
      await this.#caller.run(purpose, (session) => this.#dialect.jobs.forget(session, clients)).catch(() => undefined);
    }
    await this.#caller.close();
  }

  #checkOpen(operation: string): void {
    if (this.#closing !== undefined) throw new ConnectionClosedError(this.name, operation);
  }

  async #access<T>(operation: string, purpose: Purpose, work: (session: SqlSession) => Promise<T>): Promise<T> {
    this.#checkOpen(operation);
    await this.#checkTables(purpose.consequence);
    return this.#caller.run(purpose, work);
  }

  /** Once, before anything is asked of the tables. */
  #checkTables(consequence: string): Promise<void> {
    if (this.#checked === undefined) {
      this.#checked = this.#look(consequence);
      this.#checked.catch(() => (this.#checked = undefined));
    }
    return this.#checked;
  }

  /** For a worker that starts. */
  async #begin(): Promise<void> {
    const purpose = { consequence: 'nothing was done', writes: 'repeatable' } as const;
    try {
      await this.#access('check', purpose, (session) => this.#dialect.schema.adopt(session));
    } catch (error) {
      // What else it is, the first reserve tells, and is asked again.
      if (areTablesOutOfReach(error)) throw error;
    }
  }

  async #look(consequence: string): Promise<void> {
    const { schema } = this.#dialect;
    const { server, needed, version, flaw } = await this.#caller.run({ consequence }, (session) =>
      schema.look(session),
    );
    if (needed !== undefined) throw new ServerVersionError(this.name, server, needed, consequence);
    if (version < schema.version) throw new NotMigratedError(this.name, this.address, consequence);
    if (flaw !== undefined) throw new NotMigratedError(this.name, this.address, consequence, { flaw });
    if (version > schema.version) throw new NewerTablesError(this.address, version, schema.version);
  }

  async #migrate(): ReturnType<Migrations['run']> {
    this.#checkOpen('migrate');
    const { schema } = this.#dialect;
    const consequence = 'its tables were not brought up to date';
    const { server, needed, version } = await this.#caller.run({ consequence }, (session) => schema.look(session));
    if (needed !== undefined) throw new ServerVersionError(this.name, server, needed, consequence);
    if (version > schema.version) throw new NewerTablesError(this.address, version, schema.version);
    const purpose = { consequence, writes: 'repeatable', deadline: MIGRATION_DEADLINE } as const;
    const found = await this.#caller.run(purpose, (session) => schema.migrate(session));
    return { from: found.version, to: schema.version, ...(found.flaw !== undefined && { mended: found.flaw }) };
  }

  /** An answer that is lost is asked for again: nothing is queued twice. */
  async #send(jobs: readonly QueuedJob[], consequence: string): Promise<void> {
    await this.#checkTables(consequence);
    const call = this.#pushMarks.begin();
    try {
      const duplicate = await this.#caller.run({ consequence, writes: 'repeatable' }, (session) =>
        this.#dialect.jobs.push(session, jobs, call.next()),
      );
      call.heard();
      this.#refuse(jobs, duplicate);
    } finally {
      call.endForGood();
    }
  }

  async #pushWithin(session: SqlSession, queue: string, entries: readonly Entry[]): Promise<void> {
    const { jobs } = this.#dialect;
    const purpose = { consequence: 'the job was not queued', writes: 'repeatable' } as const;
    // Outside of the transaction: within it, a new name would make others wait until it ends.
    await this.#access('push', purpose, (own) => jobs.remember(own, queue));
    for (const page of pagesOf(entries, ({ payload }) => Buffer.byteLength(payload))) {
      const queuedJobs = page.map((entry) => queued(queue, entry));
      const pushing = jobs.push(session, queuedJobs, undefined).catch((cause: unknown) => {
        // Our own connections see the tables. Other errors are those of the user's own client, and stay so.
        const isElsewhere = this.#dialect.errors.trouble(cause) === 'unmigrated';
        throw isElsewhere ? new OtherDatabaseError(this.name, this.address, { cause }) : cause;
      });
      this.#refuse(queuedJobs, await pushing);
    }
  }

  #refuse(jobs: readonly QueuedJob[], duplicate: number | undefined): void {
    const job = duplicate === undefined ? undefined : jobs[duplicate];
    if (job !== undefined) throw new DuplicatePayloadError(this.name, job.queue, String(job.payload));
  }

  async #exchange(
    settlements: readonly Settlement[],
    request: ReserveRequest | undefined,
    consequence: string,
  ): Promise<{ readonly results: readonly SettleResult[]; readonly reply: ReserveReply }> {
    const { jobs } = this.#dialect;
    await this.#checkTables(consequence);
    const purpose = { consequence, writes: 'repeatable' } as const;
    const endings = settlements.map((settlement) => endingOf(settlement, this.name));
    // The first of several endings for one reservation counts.
    const ends = new Map<number, Ending>();
    for (const ending of endings) if (!ends.has(ending.id)) ends.set(ending.id, ending);
    const call = this.#marks.begin();
    try {
      const { settled, taken, outlook }: Exchanged = await this.#caller.run(purpose, (session) =>
        exchange(jobs, session, { endings: [...ends.values()], request, mark: call.next() }),
      );
      const { reservations, setAside, rewritten, removed } = reservedJobs(taken, this.name);
      // Where one of these fails, the next call gives back what nobody heard of.
      if (rewritten.length > 0) await this.#rewrite(rewritten, purpose);
      if (removed.length > 0) await this.#remove(removed, purpose);
      call.heard();
      const results = endings.map((ending) =>
        settled.has(ending.id) && ends.get(ending.id) === ending ? 'settled' : 'lost',
      );
      return { results, reply: { reservations, setAside, ...outlook } };
    } finally {
      call.end();
    }
  }

  /** One that is refused keeps its text: the id that it is handed out with is good for this one reservation. */
  async #rewrite(jobs: ReservedJobs['rewritten'], purpose: Purpose): Promise<void> {
    try {
      await this.#caller.run(purpose, (session) => this.#dialect.jobs.rewrite(session, jobs));
    } catch (error) {
      if (isStoreAway(error)) throw error;
      if (jobs.length > 1) for (const job of jobs) await this.#rewrite([job], purpose);
    }
  }

  async #remove(endings: readonly Ending[], purpose: Purpose): Promise<void> {
    const call = this.#marks.begin();
    try {
      await this.#caller.run(purpose, (session) =>
        this.#dialect.jobs.exchange(session, { endings, request: undefined, mark: call.next() }),
      );
      call.heard();
    } finally {
      call.end();
    }
  }
}

function queued(queue: string, { payload, delay = 0, dueAt, unique = false }: Entry): QueuedJob {
  return { ...newJob(payload, delay, dueAt), queue, unique: unique && (delay > 0 || dueAt !== undefined) };
}
