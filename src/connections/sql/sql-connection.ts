/**
 * The `database` driver: one class for all databases, whose dialect writes the statements and whose engine carries them out.
 *
 * An engine may carry out a call whose answer is lost. The next call asks what became of it: see `CallMark`.
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
} from '../contract';
import type { Milliseconds, Seconds } from '../../base/clock';
import { OnqueueError } from '../../base/onqueue-error';
import { pagesOf } from '../../base/pages';
import { DuplicatePayloadError, QueueUnavailableError, unknownTransaction } from '../errors';
import { NOTHING, type Settled, Settling } from '../kit/settling';
import { StoreConnection } from '../kit/store-connection';
import type { Migrations } from '../migrations';
import { CallMarks } from './call-marks';
import { SqlControl } from './control';
import type { Dialect, Ending, Exchange, Outlook, QueuedJob, ReservationToken, Waiters } from './dialect';
import type { Access, Engine, Purpose } from './engine';
import { otherDatabase } from './errors';
import { FailedJobs } from './failed-jobs';
import { newJob, shownText } from './job-row';
import { cancelledOf, clear, counts, forgetCalls, newestJob, peek, queues, rewrite, type Rewritten } from './jobs';
import { Locks } from './locks';
import { PushLane } from './push-lane';
import { endingOf, handedOut, sizeOf } from './reservations';
import { perform, type SqlSession, type Work, written } from './statement';

export interface SqlParts {
  /** The connection's name in the configuration. */
  readonly name: string;
  /** For people: without a password. */
  readonly address: string;
  readonly capabilities: Capabilities;
  readonly dialect: Dialect;
  readonly engine: Engine;
  readonly waiters: Waiters;
  readonly tables: SqlTables;
  /** Absent: not from another thread. */
  readonly threadAccess: ThreadAccess | undefined;
  /** By the clock of the store. */
  readonly now: () => Promise<Milliseconds>;
  readonly diagnose: () => Promise<readonly Diagnosis[]>;
  /** As the contract has it. */
  readonly pushesAtOnce?: number;
  /** Jobs that one call pushes at most, where it is not as many as a call moves otherwise. */
  readonly pushedPage?: number;
  /** Whether the store no longer has what it confirmed, told once. Absent: never known. */
  readonly hasForgotten?: () => boolean;
}

export interface SqlTables {
  readonly migrations: Migrations;
  /** Whether they are there, before anything is asked of them. Rejects where they are not. */
  check(consequence: string): Promise<void>;
}

/** Jobs that one call removes. */
const CLEARED_PAGE = 500;

/** What is left behind is removed after a day by others. */
const FAREWELL_DEADLINE: Seconds = 1;

const NOT_SETTLED = 'no outcome was recorded';
const NOT_RESERVED = 'no job was reserved';

export class SqlConnection extends StoreConnection implements Connection {
  readonly driver = 'database';
  readonly address: string;
  readonly capabilities: Capabilities;
  readonly pushesAtOnce: number | undefined;
  readonly threadAccess: ThreadAccess | undefined;
  readonly failed: FailedJobs;
  readonly locks: Locks;
  readonly control: SqlControl;
  readonly migrations: Migrations;
  readonly #parts: SqlParts;
  readonly #dialect: Dialect;
  readonly #engine: Engine;
  readonly #marks = new CallMarks();
  /** Of their own: a push that takes the answer to another call for its own would lose its jobs. */
  readonly #pushMarks = new CallMarks();
  readonly #lane: PushLane;
  readonly #settling = new Settling(sizeOf);

  constructor(parts: SqlParts) {
    const { name, address, capabilities, dialect, engine, waiters, tables, threadAccess } = parts;
    super(name);
    this.address = address;
    this.capabilities = capabilities;
    this.pushesAtOnce = parts.pushesAtOnce;
    this.threadAccess = threadAccess;
    this.#parts = parts;
    this.#dialect = dialect;
    this.#engine = engine;
    this.#lane = new PushLane(name, (jobs, consequence) => this.#send(jobs, consequence));
    const access: Access = (operation, purpose, work) => this.#access(operation, purpose, work);
    const wrote = (queue: string): void => waiters.wrote?.(queue);
    this.failed = new FailedJobs(access, dialect, wrote);
    this.locks = new Locks(access, dialect);
    this.control = new SqlControl(access, dialect, wrote);
    const { migrations } = tables;
    this.migrations = {
      ...migrations,
      run: async () => {
        this.checkOpen('migrate');
        return migrations.run();
      },
    };
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.checkOpen('push');
    await this.#lane.pushAll(entries.length, queuedPages(queue, entries, this.#parts.pushedPage));
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    // Mostly an idle worker's look: where it takes no lock, it hinders nobody.
    if (this.#dialect.jobs.idle !== undefined) {
      const look = (): Work<Outlook | undefined> => this.#dialect.jobs.idle!(request.queues);
      const outlook = await this.#access('reserve', { consequence: NOT_RESERVED }, look);
      if (outlook !== undefined) return this.#withNews({ reservations: [], setAside: [], ...outlook });
    }
    return (await this.#exchange('reserve', [], request)).reply;
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    return (await this.#settle('settle', settlements, undefined)).results;
  }

  settleAndReserve(settlements: readonly Settlement[], request: ReserveRequest): Promise<Settled> {
    return this.#settle('settleAndReserve', settlements, request);
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.checkOpen('renew');
    const purpose = { consequence: 'no lease was renewed', writes: 'repeatable' } as const;
    const results: RenewResult[] = [];
    for (const page of pagesOf(reservations, () => 0)) {
      const tokens = page.map(({ token }) => token as ReservationToken);
      results.push(...(await this.#access('renew', purpose, () => this.#dialect.jobs.renew(tokens, lease))));
    }
    return results;
  }

  async counts(queue: string): Promise<Counts> {
    return this.#access('counts', { consequence: 'nothing was counted' }, () => counts(this.#dialect, queue));
  }

  async clear(queue: string): Promise<number> {
    const purpose = { consequence: `not all jobs of queue '${queue}' were removed`, writes: 'repeatable' } as const;
    // What is pushed meanwhile stays: it would never come to an end otherwise.
    const newest = await this.#access('clear', purpose, () => newestJob(this.#dialect));
    for (let removed = 0; ;) {
      const page = await this.#access('clear', purpose, () => clear(this.#dialect, queue, newest, CLEARED_PAGE));
      removed += page;
      if (page < CLEARED_PAGE) return removed;
    }
  }

  async peek(queue: string, state: WaitingState, limit: number): Promise<readonly PeekedJob[]> {
    const purpose = { consequence: 'nothing was shown' };
    const jobs = await this.#access('peek', purpose, () => peek(this.#dialect, queue, state, limit));
    return jobs.map((job) => ({
      payload: shownText(job),
      ...(job.at === undefined ? {} : { at: Math.round(job.at * 1000) }),
    }));
  }

  async queues(): Promise<readonly string[]> {
    return this.#access('queues', { consequence: 'no queues were listed' }, () => queues(this.#dialect));
  }

  async now(): Promise<Milliseconds> {
    this.checkOpen('now');
    return this.#parts.now();
  }

  waiter(names: readonly string[]): Waiter {
    this.checkOpen('waiter');
    return this.#parts.waiters.open(names);
  }

  /** Pushes into the user's own transaction: the jobs are there once it is committed. */
  within(transaction: unknown): Pick<Connection, 'push'> | undefined {
    this.checkOpen('using');
    const session = this.#dialect.sessionOf(transaction);
    if (session === undefined) return undefined;
    return {
      push: async (queue, entries) => {
        // It may be over by now.
        if (await perform(session, this.#dialect.jobs.isWithin())) return this.#pushWithin(session, queue, entries);
        throw unknownTransaction(this.name, transaction);
      },
    };
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    try {
      return await this.#parts.diagnose();
    } catch (error) {
      if (!(error instanceof OnqueueError)) throw error;
      return [{ level: 'error', subject: 'database', message: error.message }];
    }
  }

  protected async end(): Promise<void> {
    await this.#parts.waiters.close();
    await this.#lane.close();
    const clients = [...this.#marks.clients, ...this.#pushMarks.clients];
    if (clients.length > 0 && this.#dialect.recordsCalls) {
      const consequence = 'what was told to this process is still recorded';
      const purpose = { consequence, writes: 'repeatable', deadline: FAREWELL_DEADLINE } as const;
      await this.#engine.run(purpose, () => forgetCalls(this.#dialect, clients)).catch(() => undefined);
    }
    await this.#engine.close();
  }

  async #access<T>(operation: string, purpose: Purpose, work: () => Work<T>): Promise<T> {
    this.checkOpen(operation);
    await this.#parts.tables.check(purpose.consequence);
    return this.#engine.run(purpose, work);
  }

  /** An answer that is lost is asked for again: nothing is queued twice. */
  async #send(jobs: readonly QueuedJob[], consequence: string): Promise<void> {
    await this.#parts.tables.check(consequence);
    const call = this.#pushMarks.begin();
    try {
      const purpose = { consequence, writes: 'repeatable', durable: true } as const;
      const duplicate = await this.#engine.run(purpose, () => this.#dialect.jobs.push(jobs, call.next()));
      call.heard();
      this.#refuse(jobs, duplicate);
    } finally {
      call.endForGood();
    }
    for (const queue of new Set(jobs.map((job) => job.queue))) this.#parts.waiters.wrote?.(queue);
  }

  async #pushWithin(session: SqlSession, queue: string, entries: readonly Entry[]): Promise<void> {
    const { jobs, isUnmigrated } = this.#dialect;
    const remembering = jobs.remember?.(queue);
    if (remembering !== undefined) {
      const purpose = { consequence: 'the job was not queued', writes: 'repeatable' } as const;
      // Outside of the transaction: within it, a new name would make others wait until it ends.
      await this.#access('push', purpose, () => written(remembering));
    }
    for (const page of queuedPages(queue, entries)) {
      const pushing = perform(session, jobs.push(page, undefined)).catch((cause: unknown) => {
        // Our own connections see the tables. Other errors are those of the user's own client, and stay so.
        throw isUnmigrated(cause) ? otherDatabase(this.name, this.address, { cause }) : cause;
      });
      this.#refuse(page, await pushing);
    }
  }

  #refuse(jobs: readonly QueuedJob[], duplicate: number | undefined): void {
    const job = duplicate === undefined ? undefined : jobs[duplicate];
    if (job !== undefined) throw new DuplicatePayloadError(this.name, job.queue, String(job.payload));
  }

  async #settle(
    operation: string,
    settlements: readonly Settlement[],
    request: ReserveRequest | undefined,
  ): Promise<Settled> {
    this.checkOpen(operation);
    await this.#hearOfDoubtful();
    return this.#settling.inPages(settlements, async (page, isLast) => {
      const wanted = isLast ? request : undefined;
      if (page.length > 0) return this.#exchange(operation, page, wanted);
      return wanted === undefined ? NOTHING : { results: [], reply: await this.reserve(wanted) };
    });
  }

  async #exchange(
    operation: string,
    settlements: readonly Settlement[],
    request: ReserveRequest | undefined,
    call = this.#marks.begin(),
  ): Promise<Settled> {
    const reserving = settlements.length === 0 ? NOT_RESERVED : `${NOT_SETTLED}, and ${NOT_RESERVED}`;
    const consequence = request === undefined ? NOT_SETTLED : reserving;
    const endings = settlements.map((settlement) => endingOf(settlement, this.name));
    // The first of several endings for one reservation counts.
    const ends = new Map<number, Ending>();
    for (const ending of endings) if (!ends.has(ending.id)) ends.set(ending.id, ending);
    try {
      const { settled, reply } = await this.#access(operation, { consequence, writes: 'repeatable' }, () =>
        this.#handOut({ endings: [...ends.values()], request, mark: call.next() }),
      );
      this.#settling.wereWritten(call.heard(settled));
      this.#tellWaiters(endings, reply);
      const results = endings.map((ending) =>
        settled.has(ending.id) && ends.get(ending.id) === ending ? 'settled' : 'lost',
      );
      return { results, reply: this.#withNews(reply) };
    } catch (error) {
      const isUncertain = error instanceof QueueUnavailableError && error.facts.uncertain === true;
      if (isUncertain) call.doubt(settlements.map(({ reservation }) => reservation));
      throw error;
    } finally {
      call.end();
    }
  }

  /** What was settled without an answer may be sent again now: told by another call, it would be taken for lost. */
  async #hearOfDoubtful(): Promise<void> {
    for (;;) {
      const call = await this.#marks.beginAsking();
      if (call === undefined) return;
      await this.#exchange('settle', [], undefined, call);
    }
  }

  /** Where a later step fails, the next call gives back what nobody heard of. */
  *#handOut(exchange: Exchange): Work<{ readonly settled: ReadonlySet<number>; readonly reply: ReserveReply }> {
    const { jobs } = this.#dialect;
    const { settled, taken, outlook } = yield* jobs.exchange(exchange);
    const { reservations, setAside, rewritten, removed } = handedOut(taken, this.name);
    if (rewritten.length > 0) yield* this.#rewrite(rewritten);
    if (removed.length > 0) {
      const call = this.#marks.begin();
      try {
        const answer = yield* jobs.exchange({ endings: removed, request: undefined, mark: call.next() });
        this.#settling.wereWritten(call.heard(answer.settled));
      } finally {
        call.end();
      }
    }
    return { settled, reply: { reservations: yield* this.#withReasons(reservations), setAside, ...outlook } };
  }

  /** One that is refused keeps its text: the id that it is handed out with is good for this one reservation. */
  *#rewrite(jobs: readonly Rewritten[]): Work<void> {
    try {
      yield* rewrite(this.#dialect, jobs);
    } catch (error) {
      if (!(error instanceof OnqueueError) && !this.#dialect.isUnfit(error)) throw error;
      if (jobs.length > 1) for (const job of jobs) yield* this.#rewrite([job]);
    }
  }

  *#withReasons(reservations: readonly Reservation[]): Work<readonly Reservation[]> {
    const idOf = ({ token }: Reservation): number => (token as ReservationToken).id;
    const ending = reservations.filter(({ cancelled }) => cancelled !== undefined);
    if (ending.length === 0) return reservations;
    const reasons = yield* cancelledOf(this.#dialect, ending.map(idOf));
    return reservations.map((reservation) =>
      reservation.cancelled === undefined
        ? reservation
        : { ...reservation, cancelled: reasons.get(idOf(reservation)) ?? false },
    );
  }

  #withNews(reply: ReserveReply): ReserveReply {
    return this.#parts.hasForgotten?.() === true ? { ...reply, forgotten: true } : reply;
  }

  #tellWaiters(endings: readonly Ending[], { reservations }: ReserveReply): void {
    const { waiters } = this.#parts;
    const released = endings.flatMap((ending) => (ending.kind === 'released' ? [ending.queue] : []));
    for (const queue of new Set(released)) waiters.wrote?.(queue);
    if (reservations.length > 0) waiters.busy?.(reservations.map(({ queue }) => queue));
  }
}

/** What one call pushes is read when its turn comes: the first are on their way before the last are looked at. */
function* queuedPages(queue: string, entries: readonly Entry[], most?: number): Generator<readonly QueuedJob[]> {
  for (const page of pagesOf(entries, ({ payload }) => Buffer.byteLength(payload), most)) {
    yield page.map(({ payload, delay = 0, dueAt, unique = false }) => ({
      ...newJob(payload, delay, dueAt),
      queue,
      unique: unique && (delay > 0 || dueAt !== undefined),
    }));
  }
}
