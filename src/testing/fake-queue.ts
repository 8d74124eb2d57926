/**
 * What `Queue.fake()` gives: every connection of the program, kept in memory on a clock that the test moves, and
 * assertions about what was pushed.
 */
import { AssertionError } from 'node:assert';
import type { Stub } from '../container/stubs';
import { MemoryStore } from '../connections/memory/memory-store';
import type { Class } from '../job/definition';
import { definitionOfJob } from '../job/definition-of';
import type { Duration } from '../job/duration';
import { defaultManager, standIn } from '../application/default-manager';
import { runFor } from '../connections/application';
import { setFakeFactory } from '../application/fake-slot';
import type { QueueManager } from '../application/queue-manager';
import { Drain, type DrainOptions, type DrainReport } from './drain';
import { AlreadyFakedError } from './errors';
import { FakeConnection, type Others } from './fake-connection';
import { FakedJobs, type FakedJobsOptions } from './faked-jobs';
import { FakeManager } from './fake-manager';
import { type Push, type Pushed, PushLog } from './push-log';
import { TestClock } from './test-clock';

export interface FakeOptions extends FakedJobsOptions {
  /**
   * What stands in for dependencies, by their tokens: `[[Mailer, { send: async () => undefined }]]`. A stub need have no
   * more than the code under test uses.
   */
  readonly stubs?: readonly Stub[] | undefined;
  /** Default: one that starts at the present moment. */
  readonly clock?: TestClock | undefined;
}

/** Says which of the jobs of a class are meant. */
export type PushedPredicate<J extends object> = (job: J, pushed: Pushed<J>) => boolean;

declare module '../application/fake-slot' {
  interface FakeFunction {
    /** @throws AlreadyFakedError */
    (options?: FakeOptions): FakeQueue;
  }
}

interface Active {
  readonly queue: FakeQueue;
  /** Its stack leads to who made it. */
  readonly made: Error;
}

let active: Active | undefined;

/** The one that is in place. */
export function activeFake(): FakeQueue | undefined {
  return active?.queue;
}

export class FakeQueue {
  /** Moved by `advance`; what is delayed, backs off or holds a lease goes by it. */
  readonly clock: TestClock;
  /** Those it was made with. */
  readonly stubs: readonly Stub[];
  readonly #faked: FakedJobs;
  /** The program's own; absent: all jobs are faked. */
  readonly #real: QueueManager | undefined;
  readonly #log = new PushLog();
  /** They outlive `Queue.close()`, as the store of a program does. */
  readonly #stores = new Map<string, MemoryStore>();
  readonly #standDown: () => void;
  #manager: FakeManager | undefined;
  #restored = false;

  /** What `Queue.fake` calls. @throws AlreadyFakedError */
  static install(options: FakeOptions = {}): FakeQueue {
    if (active !== undefined) throw new AlreadyFakedError({ cause: active.made });
    active = { queue: new FakeQueue(options), made: new Error('The fake that is in place was made here.') };
    return active.queue;
  }

  private constructor({ clock = new TestClock(), stubs = [], ...jobs }: FakeOptions) {
    this.#faked = new FakedJobs(jobs);
    // What is not faked needs it, and it is closed by who closes the program.
    if (!this.#faked.areAll) this.#real = defaultManager();
    this.clock = clock;
    this.stubs = stubs;
    this.#standDown = standIn((program) => this.#makeManager(program));
  }

  /** The manager behind `Queue` while the fake is in place: its connections, hooks and failed jobs. */
  get manager(): QueueManager {
    return this.#current();
  }

  /** Everything that was pushed, in order: dispatches, pushes by name, raw ones. */
  get pushes(): readonly Push[] {
    return this.#sent().pushes;
  }

  /**
   * The jobs of this very class that were pushed, in order, as a worker would get them.
   *
   * @throws E_UNDECORATED_JOB; InvalidPayloadError, UnknownClassError: a worker could not make the job
   */
  pushed<J extends object>(job: Class<J>, predicate?: PushedPredicate<J>): Pushed<J>[] {
    // A class that is no job would never be found, and assertNotPushed never fail.
    definitionOfJob(Object.create(job.prototype) as object);
    const all = this.#sent().of(job);
    return predicate === undefined ? all : all.filter((pushed) => predicate(pushed.job, pushed));
  }

  /**
   * At least one job of this class was pushed; with a predicate, one that it accepts; with a number, exactly so many.
   *
   * @throws AssertionError
   */
  assertPushed<J extends object>(job: Class<J>, expected?: PushedPredicate<J> | number): void {
    if (typeof expected === 'number') return this.#assertTimes(job, expected, 'assertPushed');
    const how = expected === undefined ? '' : ', or none that the predicate accepts';
    this.#assertSome(job, expected, how, 'assertPushed');
  }

  /** @throws AssertionError */
  assertPushedTimes(job: Class, times: number): void {
    this.#assertTimes(job, times, 'assertPushedTimes');
  }

  /** At least one job of this class (that the predicate accepts) was pushed on this queue. @throws AssertionError */
  assertPushedOn<J extends object>(queue: string, job: Class<J>, predicate?: PushedPredicate<J>): void {
    const fits: PushedPredicate<J> = (one, pushed) =>
      pushed.queue === queue && (predicate === undefined || predicate(one, pushed));
    this.#assertSome(job, fits, ` on the queue '${queue}'`, 'assertPushedOn');
  }

  /** No job of this class was pushed; with a predicate, none that it accepts. @throws AssertionError */
  assertNotPushed<J extends object>(job: Class<J>, predicate?: PushedPredicate<J>): void {
    const { length } = this.pushed(job, predicate);
    if (length > 0) this.#fail(`${job.name} was pushed ${times(length)}, and should not be.`, 'assertNotPushed');
  }

  /** @throws AssertionError */
  assertNothingPushed(): void {
    const { length } = this.pushes;
    if (length > 0) this.#fail('Something was pushed, and nothing should be.', 'assertNothingPushed');
  }

  /** So many jobs were pushed, of whatever class. @throws AssertionError */
  assertCount(count: number): void {
    const { length } = this.pushes;
    if (length !== count) this.#fail(`The number of jobs that were pushed is ${length}, not ${count}.`, 'assertCount');
  }

  /**
   * Runs what is ready, one job after another, through the executor of the worker, until nothing is; what jobs dispatch
   * on the way as well. A job that fails does not make it reject, unless `throwOnFailure` says so: look at the report.
   *
   * @throws EndlessDrainError, E_INVALID_JOB_OPTION, InvalidWorkerOptionError, E_INVALID_DURATION, E_UNKNOWN_CONNECTION
   */
  async drain(options: DrainOptions = {}): Promise<DrainReport> {
    const manager = this.#current();
    // Also once the program's own is back: what these jobs dispatch must not reach its store.
    return runFor(manager, () => new Drain(manager, this.clock, this.#stores, options).run());
  }

  /** Moves the clock on. What falls due is run by the next `drain`, or by a worker that the test started. */
  advance(duration: Duration): Promise<void> {
    return this.clock.advance(duration);
  }

  /** Puts back what was behind `Queue`. What was pushed can still be asserted. May be called any number of times. */
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
    // Made on first use, and anew after `Queue.close()`.
    if (!this.#restored) defaultManager();
    return this.#manager ?? this.#makeManager(undefined);
  }

  // After `Queue.close()` the configuration is still the program's: a test drains what the program left behind.
  #makeManager(program: QueueManager | undefined): FakeManager {
    const known = this.#manager ?? program;
    this.#manager = new FakeManager({
      clock: this.clock,
      stubs: this.stubs,
      program,
      configuration: known?.isConfigured === true ? known.configuration : undefined,
      connect: (name) => new FakeConnection(name, this.#store(name), this.#log, this.#others(name)),
    });
    return this.#manager;
  }

  #others(name: string): Others | undefined {
    const real = this.#real;
    if (real === undefined) return undefined;
    return { faked: this.#faked, connection: () => this.#configured(real).driver(name) };
  }

  /** With what was given to `Queue.configure` under the fake. */
  #configured(real: QueueManager): QueueManager {
    const { configuration } = this.#current();
    if (!real.isConfigured || real.configuration !== configuration) real.configure(configuration);
    return real;
  }

  #store(name: string): MemoryStore {
    const store = this.#stores.get(name) ?? new MemoryStore(name, this.clock);
    this.#stores.set(name, store);
    return store;
  }

  /** With all in it that was dispatched and not awaited: a fake has sent it before the call comes back. */
  #sent(): PushLog {
    this.#manager?.outbox.sendNow();
    return this.#log;
  }

  #assertSome<J extends object>(
    job: Class<J>,
    predicate: PushedPredicate<J> | undefined,
    how: string,
    assertion: Assertion,
  ): void {
    if (this.pushed(job, predicate).length === 0) this.#fail(`${job.name} was not pushed${how}.`, assertion);
  }

  #assertTimes(job: Class, expected: number, assertion: Assertion): void {
    const { length } = this.pushed(job);
    if (length !== expected) this.#fail(`${job.name} was pushed ${times(length)}, not ${expected}.`, assertion);
  }

  // Without the values compared, which runners would print again below. The stack begins at the test.
  #fail(problem: string, assertion: Assertion): never {
    const message = `${problem} ${this.#log.describe()}`;
    const stackStartFn = Reflect.get(this, assertion) as (...parameters: never[]) => void;
    throw new AssertionError({ message, operator: 'fail', stackStartFn });
  }
}

setFakeFactory((options) => FakeQueue.install(options));

type Assertion =
  | 'assertPushed'
  | 'assertPushedTimes'
  | 'assertPushedOn'
  | 'assertNotPushed'
  | 'assertNothingPushed'
  | 'assertCount';

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
