/** Runs the waiting jobs of a fake's connections, one after another, until there are none left, and tells how each ended. */
import { momentOf, type Milliseconds, type Seconds } from '../base/clock';
import { errorClass } from '../base/onqueue-error';
import type { Connection, Reservation, SetAside, Settlement } from '../connections/contract';
import { subjectOf } from '../job/declare';
import type { JobContext } from '../job/job-context';
import { BUILT_IN } from '../job/registry';
import { NO_CHAIN, type ChainLink } from '../payload/chain';
import { JobHistories } from '../operations/history/job-histories';
import { UNREADABLE_NAME } from '../payload/counters';
import { InvalidPayloadError } from '../payload/errors';
import { Executor, type ExecutorSettings } from '../worker/run';
import { tellEnded } from '../worker/announcer';
import { keepEndOf } from '../worker/settler';
import { LeaseKeeper } from '../worker/lease/keeper';
import { type Outcome, Finished } from '../worker/outcome';
import { RunningJob } from '../worker/running-job';
import { resolveWorkerOptions, type WorkerOptions } from '../worker/worker-options';
import type { FakeManager } from './fake-manager';
import { batchedJob, ReadPush, type BatchedJob, type NextJob } from './pushes';
import type { TestClock } from './test-clock';
import { checkDrainOptions } from './test-options';

export interface DrainOptions extends WorkerFlags {
  /** Only jobs of this connection. Default: all. */
  readonly connection?: string | undefined;
  /** Only jobs of this queue, or of these queues in this order. Default: all, in the order in which they were first used. */
  readonly queue?: string | readonly string[] | undefined;
  /** Also runs delayed jobs: moves the clock to each moment in turn, until nothing waits any more. Default false. */
  readonly delayed?: boolean | undefined;
  /** After this many runs, the drain is assumed to be endless. Default 1000. */
  readonly limit?: number | undefined;
  /** Rejects with the error of the first job that fails for good, and leaves the rest. Default false. */
  readonly throwOnFailure?: boolean | undefined;
}

/** What happened, run by run: a job that was released and ran again appears more than once. */
export interface DrainReport {
  readonly completed: readonly JobRun[];
  /** Given back to the queue: by `this.release()`, or after a failed attempt, whose error is the run's `error`. */
  readonly released: readonly JobRun[];
  /** Out of tries. `Queue.failed` has these jobs. */
  readonly failed: readonly JobRun[];
  /** Cancelled by `Queue.cancel(id)` while they ran, or with their batch. Those cancelled before are in none of these lists. */
  readonly cancelled: readonly JobRun[];
  readonly lost: readonly JobRun[];
  /** Errors that changed no outcome: from a hook, from `failed()`, or from `handle` after its outcome was decided. */
  readonly reported: readonly unknown[];
}

const DEFAULT_LIMIT = 1000;

export class Drain {
  readonly #manager: FakeManager;
  readonly #clock: TestClock;
  readonly #used: ReadonlyMap<string, unknown>;
  readonly #options: DrainOptions;
  readonly #limit: number;
  readonly #executor: Executor;
  readonly #runs: JobRun[] = [];
  readonly #histories = new Map<Connection, JobHistories | undefined>();

  /**
   * @param used by the names of the connections that may hold jobs @throws E_INVALID_JOB_OPTION, E_INVALID_WORKER_OPTION,
   * E_INVALID_DURATION
   */
  constructor(manager: FakeManager, clock: TestClock, used: ReadonlyMap<string, unknown>, options: DrainOptions) {
    checkDrainOptions(options);
    this.#manager = manager;
    this.#clock = clock;
    this.#used = used;
    this.#options = options;
    this.#limit = options.limit ?? DEFAULT_LIMIT;
    this.#executor = new Executor(manager, executorSettings(options));
  }

  /** @throws EndlessDrainError; with `throwOnFailure` also the error of a job */
  async run(): Promise<DrainReport> {
    const { reported } = this.#manager;
    const before = reported.length;
    try {
      while ((await this.#runNext()) || (await this.#moveOn()));
    } finally {
      this.#executor.close();
      await Promise.all([...this.#histories.values()].map(async (histories) => histories?.close()));
    }
    const ended = (outcome: JobRun['outcome']): JobRun[] => this.#runs.filter((run) => run.outcome === outcome);
    return {
      completed: ended('completed'),
      released: ended('released'),
      failed: ended('failed'),
      cancelled: ended('cancelled'),
      lost: ended('lost'),
      reported: reported.slice(before),
    };
  }

  /** False if no job is ready. */
  async #runNext(): Promise<boolean> {
    await this.#manager.outbox.flush();
    for (const connection of this.#connections()) {
      const queues = await this.#queues(connection);
      const lease = this.#manager.settings(connection.name).retryAfter;
      const { reservations, setAside } = (await connection.exchange([], { queues, limit: 1, lease })).reply;
      for (const one of setAside) this.#note(unreadable(connection, one));
      for (const reservation of reservations) this.#note(await this.#perform(connection, reservation, lease));
      if (reservations.length + setAside.length > 0) return true;
    }
    return false;
  }

  async #perform(connection: Connection, reservation: Reservation, lease: number): Promise<JobRun> {
    this.#checkLimit();
    const manager = this.#manager;
    // So that `Queue.find()` tells of this run what it tells in production.
    if (!this.#histories.has(connection)) this.#histories.set(connection, JobHistories.start(manager, connection));
    const job = new RunningJob(reservation, connection.name, manager);
    const report = (error: unknown): void => manager.report(error, { during: 'renewing leases', job });
    const { logger } = manager;
    const { grace } = executorSettings(this.#options);
    const leases = new LeaseKeeper({ connection, lease, clock: this.#clock, logger, grace, report });
    leases.keep([job], momentOf(this.#clock));
    try {
      const outcome = await this.#executor.run(job);
      await keepEndOf(manager, job, outcome);
      const [result] = (await connection.exchange([outcome.settlement])).results;
      tellEnded(manager, 'drain()', new Finished(job, outcome), result!);
      const run = jobRun(job, outcome, this.#clock.now());
      if (result === 'lost') {
        await this.#executor.announcer.announceLost(job, outcome);
        return { ...run, outcome: 'lost', delay: undefined, next: [], added: [] };
      }
      await this.#executor.announcer.announce(job, outcome);
      return run;
    } finally {
      await leases.close();
    }
  }

  #note(run: JobRun): void {
    // Our own jobs, which send a link on to another connection, are not the program's concern unless they fail.
    if (run.name.startsWith(BUILT_IN) && run.outcome === 'completed') return;
    this.#runs.push(run);
    const { outcome, error } = run;
    if (this.#options.throwOnFailure === true && outcome === 'failed' && error !== undefined) throw error;
  }

  /** False if no job is delayed, or `delayed` was not set. */
  async #moveOn(): Promise<boolean> {
    if (this.#options.delayed !== true) return false;
    let next = Infinity;
    for (const connection of this.#connections()) {
      for (const queue of await this.#queues(connection)) {
        const [first] = (await connection.queues.peek?.(queue, 'delayed', 1)) ?? [];
        next = Math.min(next, first?.at ?? Infinity);
      }
    }
    if (next === Infinity) return false;
    // Rounded, because a sum of fractions may be slightly too early; and at least 1, or this would never end.
    await this.#clock.advance(Math.max(Math.round(next - this.#clock.now()), 1) / 1000);
    return true;
  }

  #connections(): Connection[] {
    const { connection } = this.#options;
    const names = connection === undefined ? [...this.#used.keys()] : [connection];
    return names.map((name) => this.#manager.driver(name));
  }

  async #queues(connection: Connection): Promise<readonly string[]> {
    const { queue } = this.#options;
    if (queue === undefined) return connection.queues.names();
    return typeof queue === 'string' ? [queue] : queue;
  }

  #checkLimit(): void {
    if (this.#runs.length < this.#limit) return;
    const times = new Map<string, number>();
    for (const { name } of this.#runs) times.set(name, (times.get(name) ?? 0) + 1);
    const most = Math.max(...times.values());
    const [job = ''] = [...times].find(([, count]) => count === most) ?? [];
    throw new EndlessDrainError(this.#limit, job, most);
  }
}

function unreadable(connection: Connection, { queue, id }: SetAside): JobRun {
  return {
    outcome: 'failed',
    name: UNREADABLE_NAME,
    id,
    connection: connection.name,
    queue,
    attempts: 0,
    job: undefined,
    value: undefined,
    delay: undefined,
    error: new InvalidPayloadError('it is not a JSON object'),
    next: [],
    added: [],
  };
}

/** The outcome of one run, for tests. */
export interface JobRun {
  /** `cancelled`: by `Queue.cancel(id)`. `lost`: its queue was cleared or its lease ended, so its outcome was refused. */
  readonly outcome: 'completed' | 'released' | 'failed' | 'cancelled' | 'lost';
  readonly name: string;
  readonly id: string;
  readonly connection: string;
  readonly queue: string;
  /** 1 in the first run. */
  readonly attempts: number;
  /** The instance that ran, as `handle` left it. Undefined if none was made. */
  readonly job: object | undefined;
  /** The result of `handle`. */
  readonly value: unknown;
  /** For a released job: seconds until it is ready again. */
  readonly delay: Seconds | undefined;
  /** The error of a failed attempt or job, or the reason why a job was released without being run. */
  readonly error: Error | undefined;
  /** The jobs that follow: the rest of the chain, whose first job is sent, or for a failed one the `catch()` job. */
  readonly next: readonly NextJob[];
  /** The jobs that a completed job has added to its batch by `this.job.batch.add()`, each with the chain behind it. */
  readonly added: readonly BatchedJob[];
}

/** A worker's flags, for jobs that say nothing themselves. */
export type WorkerFlags = Pick<WorkerOptions, 'tries' | 'backoff' | 'timeout'>;

/** @throws E_INVALID_WORKER_OPTION, E_INVALID_DURATION */
export function executorSettings({ tries, backoff, timeout }: WorkerFlags): ExecutorSettings {
  const { defaults, grace } = resolveWorkerOptions({ tries, backoff, timeout });
  return { defaults, grace };
}

export function jobRun(job: RunningJob, { settlement, error, reason }: Outcome, now: Milliseconds): JobRun {
  const { id, name, queue, attempts }: JobContext = job;
  return {
    outcome: settlement.outcome,
    name,
    id,
    connection: job.connectionName,
    queue,
    attempts,
    job: job.instance && subjectOf(job.instance),
    value: job.value,
    delay: settlement.outcome === 'released' ? settlement.delay : undefined,
    error: error ?? reason,
    next: linksBehind(job, settlement.outcome).map((link) => ReadPush.ofLink(link, job.connectionName, now).next),
    added: settlement.outcome === 'completed' ? addedBy(job, now) : [],
  };
}

function addedBy({ added }: RunningJob, now: Milliseconds): readonly BatchedJob[] {
  return added.map(({ connection, queue, entry }) => batchedJob(new ReadPush(connection, queue, entry, now)));
}

function linksBehind({ links, envelope }: RunningJob, outcome: Settlement['outcome']): readonly ChainLink[] {
  const { caught } = envelope?.chain ?? NO_CHAIN;
  if (outcome === 'completed') return links;
  return outcome === 'failed' && caught !== undefined ? [caught] : [];
}

/** `drain()` reached its limit of runs, and there were still more. */
export class EndlessDrainError extends errorClass(
  'E_ENDLESS_DRAIN',
  /** @param job the name of the job that ran most often */
  (limit: number, job: string, times: number) => ({
    message:
      `drain() stopped after ${limit} runs, ${times} of them of ${job}, and there was still work. Does it release or ` +
      'dispatch itself for ever? If not, give drain() a higher limit.',
    facts: { limit, job },
  }),
) {}
