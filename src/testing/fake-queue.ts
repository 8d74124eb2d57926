/**
 * The result of `Queue.fake()`: all connections of the program, kept in memory with a clock that the test moves, and assertions
 * about what was pushed.
 */
import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import { defaultManager, standIn } from '../application/default-manager';
import { late } from '../base/late-parts';
import type { QueueManager } from '../application/queue-manager';
import type { Class } from '../base/class';
import { errorClass } from '../base/onqueue-error';
import { inRootContext } from '../connections/application';
import type { Connection } from '../connections/contract';
import type { Stub } from '../container/stubs';
import { type Duration, durationSeconds } from '../job/duration';
import { invalidChain, invalidJobOption, notAJob } from '../job/errors';
import { definitionOfClass } from '../job/instance';
import { type JobInstance, registry } from '../job/registry';
import { Drain, type DrainOptions, type DrainReport } from './drain';
import { FakeConnection, FakedJobs, type FakedJobsOptions, FakeManager, FakeStore } from './fake-manager';
import { BatchLog, type Push, type Pushed, type PushedBatch, PushLog, ReadPush, type Sent } from './pushes';
import { TestClock, travel } from './test-clock';
import { checkFakeOptions } from './test-options';

export interface FakeOptions extends FakedJobsOptions {
  /**
   * Replacements for dependencies, by token: `[[Mailer, { send: async () => undefined }]]`. A stub only needs the members that
   * the code under test uses.
   */
  readonly stubs?: readonly Stub[] | undefined;
  /** Default: a clock that starts at the present moment. */
  readonly clock?: TestClock | undefined;
  /** Whether schedules send their jobs as the clock passes their moments. Never those whose jobs are not faked. Default true. */
  readonly schedules?: boolean | undefined;
}

/** A link of a chain: any job of this very class, or a job with the data of this instance. */
export type ExpectedLink = Class | JobInstance;

/** A job of a batch, or a list for a chain in it. */
export type ExpectedMember = ExpectedLink | readonly ExpectedLink[];

/** Chooses among the pushed jobs of a class, or among the events sent to a listener: `(event: OrderShipped) => …`. */
export type PushedPredicate<J extends object> = (job: J, pushed: Pushed<J>) => boolean;

declare module '../application/default-manager' {
  interface FakeFunction {
    /** @throws AlreadyFakedError, E_INVALID_JOB_OPTION, E_UNDECORATED_JOB */
    (options?: FakeOptions): FakeQueue;
  }
}

interface Expected {
  readonly name: string;
  is(link: ReadPush): boolean;
}

interface ExpectedJobs {
  readonly name: string;
  readonly isOf: (jobs: readonly ReadPush[]) => boolean;
}

/** The current fake, and an error whose stack shows where it was made. */
let active: { readonly queue: FakeQueue; readonly made: Error } | undefined;

export function activeFake(): FakeQueue | undefined {
  return active?.queue;
}

export class FakeQueue {
  /** Moved by `advance`. Delays, backoffs and leases follow it. */
  readonly clock: TestClock;
  readonly stubs: readonly Stub[];
  readonly #faked: FakedJobs;
  readonly #drivesSchedules: boolean;
  /** The program's own manager. Absent if all jobs are faked. */
  readonly #real: QueueManager | undefined;
  readonly #log = new PushLog();
  readonly #batches = new BatchLog();
  /** Stores outlive `Queue.close()`, as a program's store does. */
  readonly #stores = new Map<string, FakeStore>();
  readonly #standDown: () => void;
  #manager: FakeManager | undefined;
  #restored = false;

  /** Called by `Queue.fake`. @throws AlreadyFakedError, E_INVALID_JOB_OPTION */
  static install(options: FakeOptions = {}): FakeQueue {
    checkFakeOptions(options);
    if (active !== undefined) throw new AlreadyFakedError(active.made);
    active = { queue: new FakeQueue(options), made: new Error('The fake that is in place was made here.') };
    return active.queue;
  }

  private constructor({ clock = new TestClock(), stubs = [], schedules = true, ...jobs }: FakeOptions) {
    this.#faked = new FakedJobs(jobs);
    // The program closes it.
    if (!this.#faked.areAll) this.#real = defaultManager();
    this.clock = clock;
    this.#drivesSchedules = schedules;
    this.stubs = stubs;
    this.#standDown = standIn((program) => this.#makeManager(program));
  }

  /** The manager behind `Queue` while the fake is in place, with its connections, hooks and failed jobs. */
  get manager(): QueueManager {
    return this.#current();
  }

  /** Everything that was pushed, in order: dispatches, pushes by name, and raw ones. */
  get pushes(): readonly Push[] {
    return this.#sent().pushes;
  }

  /**
   * The batches that were dispatched, in order, with their jobs and callbacks. A batch that is a link of a chain appears once its
   * turn has come.
   */
  get batches(): readonly PushedBatch[] {
    return [...this.#batches.values()].map(({ batch }) => batch);
  }

  /**
   * The pushed jobs of this very class, in order, as a worker would get them.
   *
   * @throws E_UNDECORATED_JOB, E_INVALID_JOB_OPTION; InvalidPayloadError, E_UNKNOWN_CLASS a worker could not make the job
   */
  pushed<J extends object, S extends Sent<J> = J>(job: Class<J>, predicate?: PushedPredicate<S>): Pushed<S>[] {
    return accepted(this.#read(job).of<S>(job), predicate);
  }

  /**
   * Asserts that at least one job of this class was pushed; with a predicate, one that it accepts; with a number, exactly that
   * many.
   *
   * @throws AssertionError
   */
  assertPushed<J extends object, S extends Sent<J> = J>(job: Class<J>, expected?: PushedPredicate<S> | number): void {
    if (typeof expected === 'number') return this.#assertTimes(job, expected, 'assertPushed');
    const how = expected === undefined ? '' : ', or none that the predicate accepts';
    this.#assert(this.pushed(job, expected).length > 0, `${job.name} was not pushed${how}.`, 'assertPushed');
  }

  /** @throws AssertionError */
  assertPushedTimes(job: Class, times: number): void {
    this.#assertTimes(job, times, 'assertPushedTimes');
  }

  /** Asserts that at least one job of this class (accepted by the predicate) was pushed on this queue. @throws AssertionError */
  assertPushedOn<J extends object, S extends Sent<J> = J>(
    queue: string,
    job: Class<J>,
    predicate?: PushedPredicate<S>,
  ): void {
    const there = this.pushed<J, S>(job).filter((pushed) => pushed.queue === queue);
    this.#assert(
      accepted(there, predicate).length > 0,
      `${job.name} was not pushed on the queue '${queue}'.`,
      'assertPushedOn',
    );
  }

  /** Asserts that no job of this class was pushed; with a predicate, none that it accepts. @throws AssertionError */
  assertNotPushed<J extends object, S extends Sent<J> = J>(job: Class<J>, predicate?: PushedPredicate<S>): void {
    const { length } = this.pushed(job, predicate);
    this.#assert(length === 0, `${job.name} was pushed ${times(length)}, and should not be.`, 'assertNotPushed');
  }

  /**
   * Asserts that at least one dispatch of this class (accepted by the predicate) does not run: its unique key was held, or, if it
   * is debounced, a later one replaced it.
   *
   * @throws AssertionError
   */
  assertSkipped<J extends object, S extends Sent<J> = J>(job: Class<J>, predicate?: PushedPredicate<S>): void {
    const skipped = accepted(this.#read(job).skippedOf<S>(job), predicate);
    const how = predicate === undefined ? '' : ', or none that the predicate accepts';
    this.#assert(skipped.length > 0, `No dispatch of ${job.name} was skipped${how}.`, 'assertSkipped');
  }

  /** @throws AssertionError */
  assertNothingPushed(): void {
    const isRight = this.pushes.length === 0;
    this.#assert(isRight, 'Something was pushed, and nothing should be.', 'assertNothingPushed');
  }

  /** Asserts that this many jobs were pushed, of any class. @throws AssertionError */
  assertCount(count: number): void {
    const { length } = this.pushes;
    this.#assert(length === count, `The number of pushed jobs is ${length}, not ${count}.`, 'assertCount');
  }

  /**
   * Asserts that a chain of exactly these jobs was pushed, in this order and including the first: `[Fetch, [Resize, new
   * Resize(80)], Report]`, with an inner list for a batch.
   *
   * @throws AssertionError; E_INVALID_CHAIN, E_NOT_A_JOB, E_UNDECORATED_JOB, and the error that dispatching an instance would
   * throw
   */
  assertChained(jobs: readonly (ExpectedLink | readonly ExpectedMember[])[]): void {
    if (!Array.isArray(jobs)) throw notAJob(jobs, 'a list of jobs');
    if (jobs.length === 0) throw invalidChain(jobs, 'Give the expected jobs, including the first.');
    const expected = (jobs as Parameters<FakeQueue['assertChained']>[0]).map((link) =>
      isList(link) ? this.#expectedBatch(link) : this.#expectedLink(link),
    );
    const isThere = this.#sent().all.some((first) => isChain(first, expected));
    const names = expected.map(({ name }) => name).join(', ');
    this.#assert(isThere, `No chain of ${names} was pushed.`, 'assertChained');
  }

  /**
   * Asserts that a batch of exactly these jobs was dispatched, in this order: `[Resize, new Resize(80), [Fetch, Report]]`, with
   * an inner list for a chain. With a predicate: one that it accepts.
   *
   * @throws AssertionError; E_NOT_A_JOB, E_UNDECORATED_JOB, and the error that dispatching an instance would throw
   */
  assertBatched(expected: readonly ExpectedMember[] | ((batch: PushedBatch) => boolean)): void {
    if (typeof expected === 'function' && !isJobClass(expected)) {
      const problem = 'No batch that the predicate accepts was dispatched.';
      return this.#assert(this.batches.some(expected), problem, 'assertBatched', this.#batches);
    }
    if (!Array.isArray(expected)) throw notAJob(expected, 'a list of jobs');
    const { name, isOf } = this.#expectedJobs(expected as readonly ExpectedMember[]);
    const isThere = [...this.#batches.values()].some(({ jobs }) => isOf(jobs));
    this.#assert(isThere, `No batch of ${name} was dispatched.`, 'assertBatched', this.#batches);
  }

  /** @throws AssertionError */
  assertNothingBatched(): void {
    const isRight = this.#batches.size === 0;
    this.#assert(isRight, 'A batch was dispatched, and none should be.', 'assertNothingBatched', this.#batches);
  }

  /**
   * Runs ready jobs, one after another, through the worker's executor, until there are none, including those that jobs dispatch
   * meanwhile. Does not reject for a job that fails, unless `throwOnFailure` is set: look at the report.
   *
   * @throws EndlessDrainError, E_INVALID_JOB_OPTION, E_INVALID_WORKER_OPTION, E_INVALID_DURATION, E_UNKNOWN_CONNECTION
   */
  async drain(options: DrainOptions = {}): Promise<DrainReport> {
    const manager = this.#current();
    // Jobs dispatched by these jobs must not reach the program's own store, even after the fake was restored.
    return inRootContext(() => new Drain(manager, this.clock, this.#stores, options).run(), manager);
  }

  /**
   * Moves the clock. Jobs that become due are run by the next `drain`, or by a worker that the test started. Schedules that come
   * up meanwhile send their jobs, each at its moment.
   *
   * @throws E_INVALID_DURATION, and any error of a schedule or its job
   */
  async advance(duration: Duration): Promise<void> {
    const span = durationSeconds(duration, 'advance() of a fake');
    if ((await this.#current().schedules.driven()).length === 0) return this.clock.advance(span);
    return this.travelTo(new Date(this.clock.now() + span * 1000));
  }

  /** Moves the clock to a moment, like `advance`. @throws E_INVALID_JOB_OPTION, and any error of a schedule or its job */
  async travelTo(moment: Date): Promise<void> {
    const to = moment instanceof Date ? moment.getTime() : Number.NaN;
    const now = this.clock.now();
    if (!(to >= Math.floor(now))) {
      const remedy = `Give a Date after ${new Date(now).toISOString()}, the clock's present time: it only moves forward.`;
      throw invalidJobOption('travelTo() of a fake', moment, remedy);
    }
    const manager = this.#current();
    await inRootContext(() => travel(manager, this.clock, to), manager);
  }

  /** Puts back the manager that was behind `Queue`. Pushed jobs can still be asserted. May be called any number of times. */
  restore(): void {
    if (this.#restored) return;
    this.#restored = true;
    active = undefined;
    this.#standDown();
  }

  [Symbol.dispose](): void {
    this.restore();
  }

  #current(): FakeManager {
    // Created on first use, and again after `Queue.close()`.
    if (!this.#restored) defaultManager();
    return this.#manager ?? this.#makeManager(undefined);
  }

  // After `Queue.close()` the configuration is still the program's, so that a test can drain what the program left.
  #makeManager(program: QueueManager | undefined): FakeManager {
    const known = this.#manager ?? program;
    this.#manager = new FakeManager({
      clock: this.clock,
      stubs: this.stubs,
      program,
      configuration: known?.isConfigured === true ? known.configuration : undefined,
      connect: (name) => {
        const real = (): Connection => this.#realConnection(name);
        const parts = { log: this.#log, batchLog: this.#batches, faked: this.#faked, real };
        return new FakeConnection(name, this.#store(name), parts);
      },
    });
    // A job that is not faked would go into the program's own store, at a moment that has not come.
    this.#manager.schedules.isDriven = ({ parts: { job } }) => this.#drivesSchedules && this.#faked.hasOneOf([job]);
    return this.#manager;
  }

  #realConnection(name: string): Connection {
    const real = this.#real!;
    // `Queue.configure` during the fake also applies to jobs that are not faked.
    const { configuration } = this.#current();
    if (!real.isConfigured || real.configuration !== configuration) real.configure(configuration);
    return real.driver(name);
  }

  #store(name: string): FakeStore {
    const store = this.#stores.get(name) ?? new FakeStore(name, this.clock, this.#log);
    this.#stores.set(name, store);
    return store;
  }

  /** First sends what was dispatched and not awaited. */
  #sent(): PushLog {
    this.#manager?.outbox.sendNow();
    return this.#log;
  }

  #read(job: Class): PushLog {
    if (typeof job !== 'function') throw notAJob(job, 'a class of jobs');
    // A class that is not a job would never be found, and assertNotPushed would never fail.
    definitionOfClass(job);
    return this.#sent();
  }

  #expectedJobs(expected: readonly ExpectedMember[]): ExpectedJobs {
    const chains = expected.map((member) =>
      (isList(member) ? member : [member]).map((link) => this.#expectedLink(link)),
    );
    return {
      name: chains.map((links) => links.map(({ name }) => name).join(' → ')).join(', ') || 'no jobs',
      isOf: (jobs) => jobs.length === chains.length && jobs.every((job, place) => isChain(job, chains[place]!)),
    };
  }

  #expectedBatch(expected: readonly ExpectedMember[]): Expected {
    const { name, isOf } = this.#expectedJobs(expected);
    return { name: `a batch of ${name}`, is: ({ members }) => members !== undefined && isOf(members) };
  }

  #expectedLink(job: ExpectedLink): Expected {
    if (typeof job === 'function' && typeof job.prototype === 'object') {
      const { name } = definitionOfClass(job);
      return { name, is: ({ definition }) => definition?.name === name };
    }
    const { connection, queue, entry, observed } = this.#current().encoder.encode(job, {});
    observed?.drop();
    const same = new ReadPush(connection, queue, entry, this.clock.now());
    const { data } = same.push.payload;
    return { name: same.shown, is: ({ push }) => isDeepStrictEqual(push.payload['data'], data) };
  }

  #assertTimes(job: Class, expected: number, assertion: keyof FakeQueue): void {
    const { length } = this.pushed(job);
    this.#assert(length === expected, `${job.name} was pushed ${times(length)}, not ${expected}.`, assertion);
  }

  // Without the compared values, which a test runner would print again. The stack begins in the test.
  #assert(isRight: boolean, problem: string, assertion: keyof FakeQueue, shown: PushLog | BatchLog = this.#log): void {
    if (isRight) return;
    const message = `${problem} ${shown.describe()}`;
    const stackStartFn = Reflect.get(this, assertion) as (...parameters: never[]) => void;
    throw new AssertionError({ message, operator: 'fail', stackStartFn });
  }
}

late.fake = (options) => FakeQueue.install(options);

function accepted<J extends object>(all: Pushed<J>[], predicate: PushedPredicate<J> | undefined): Pushed<J>[] {
  if (predicate === undefined) return all;
  if (typeof predicate === 'function') return all.filter((pushed) => predicate(pushed.job, pushed));
  throw invalidJobOption('the predicate of an assertion', predicate, 'Give a function: (job) => job.email === …');
}

function isChain(first: ReadPush, expected: readonly Expected[]): boolean {
  const chain = [first, ...first.links];
  return chain.length === expected.length && chain.every((link, place) => expected[place]!.is(link));
}

const isList = <Item>(value: ExpectedLink | readonly Item[]): value is readonly Item[] => Array.isArray(value);

const isJobClass = (value: unknown): boolean => registry().definitionOf(value as Class) !== undefined;

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** `Queue.fake()` was called while another fake was in place. The cause's stack shows where that fake was made. */
export class AlreadyFakedError extends errorClass('E_ALREADY_FAKED', (cause: unknown) => ({
  message:
    'Queue is already faked, and the jobs of one test would be found by another. Restore the first fake before: with ' +
    '`using queue = Queue.fake()`, or queue.restore() in afterEach.',
  cause,
})) {}
