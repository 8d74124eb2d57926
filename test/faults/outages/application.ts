/** A dispatcher and a worker on a Redis that a test takes away and brings back, and the account of what they did. */
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { QueueUnavailableError } from '../../../src/connections/errors';
import { Job } from '../../../src/job/job';
import type { RedisConfig } from '../../../src/connections/redis/driver';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { Gate, RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';

/** The jobs of all applications run in one process, and each knows its application. */
const applications = new Map<number, OutageApplication>();
let opened = 0;

abstract class OutageJob extends Job {
  constructor(readonly application: number) {
    super();
  }
  protected get owner(): OutageApplication {
    return applications.get(this.application)!;
  }
}

@Job({ timeout: 0 })
class Step extends OutageJob {
  constructor(
    application: number,
    readonly index: number,
  ) {
    super(application);
  }
  handle(): void {
    this.owner.ran.push(this.index);
  }
}

/** Runs until the test releases it. */
@Job({ timeout: 0 })
class Held extends OutageJob {
  async handle(): Promise<void> {
    this.owner.holding = true;
    await this.owner.gate.opened;
  }
}

/** Fails when the test releases it. */
@Job({ timeout: 0 })
class HeldToFail extends Held {
  override async handle(): Promise<void> {
    await super.handle();
    throw new Error('failed as it should');
  }
}

/** The results of the dispatches. Only the uncertain ones may have been queued or not. */
interface Account {
  readonly accepted: number[];
  readonly refused: number[];
  readonly doubtful: number[];
}

/** A dispatcher may find a new master seconds before the worker does, so the waiting jobs must be quick to run. */
const MOST_AHEAD = 2000;

export class OutageApplication {
  readonly log = new RecordingLogger();
  /** The steps that have run, in order. */
  readonly ran: number[] = [];
  readonly gate = new Gate();
  holding = false;
  readonly worker: Worker;
  readonly #dispatching: QueueManager;
  readonly #working: QueueManager;
  readonly #bus: JobBus;
  readonly #number = (opened += 1);
  readonly #account: Account = { accepted: [], refused: [], doubtful: [] };
  #traffic: { readonly ended: Promise<void>; stop: boolean } | undefined;
  #next = 0;

  constructor(config: Partial<RedisConfig>) {
    applications.set(this.#number, this);
    const store: RedisConfig = { driver: 'redis', deadline: meantToPass('1s'), ...config };
    const open = (logger: RecordingLogger): QueueManager =>
      new QueueManager({ connectors: builtInConnectors, logger }, { connections: { store } });
    this.#dispatching = open(new RecordingLogger());
    this.#working = open(this.log);
    this.#bus = new JobBus(() => this.#dispatching);
    this.worker = new Worker({ concurrency: 5, grace: meantToPass('200ms') }, this.#working);
    void this.worker.run();
  }

  /** The lines of the worker's log about the store. */
  get said(): string[] {
    return this.log.lines.filter(({ facts }) => 'address' in facts).map(({ level, message }) => `${level}: ${message}`);
  }

  get driver() {
    return this.#dispatching.driver();
  }

  /** Dispatches a job that keeps its slot until `letGo`. */
  async hold(end: 'completes' | 'fails' = 'completes'): Promise<void> {
    await this.#bus.dispatch(new (end === 'completes' ? Held : HeldToFail)(this.#number));
    await eventually(() => this.holding, { of: 'the start of the held job' });
  }

  letGo(): void {
    this.gate.open();
  }

  /** Dispatches one job and records the result. */
  async dispatch(): Promise<Error | undefined> {
    const index = (this.#next += 1);
    try {
      await this.#bus.dispatch(new Step(this.#number, index));
      this.#account.accepted.push(index);
      return undefined;
    } catch (error) {
      const doubtful = error instanceof QueueUnavailableError && error.facts.uncertain === true;
      this.#account[doubtful ? 'doubtful' : 'refused'].push(index);
      return error as Error;
    }
  }

  /** Dispatches a job and waits until the worker has run it. */
  async works(): Promise<void> {
    await eventually(async () => (await this.dispatch()) === undefined, { of: 'a dispatch' });
    const index = this.#account.accepted.at(-1)!;
    await eventually(() => this.ran.includes(index), { of: `the run of job ${index}` });
  }

  /** Dispatches one job after another, until `settled`. */
  startTraffic(): void {
    const traffic = { stop: false, ended: Promise.resolve() };
    const dispatchOn = async (): Promise<void> => {
      while (!traffic.stop) {
        await eventually(() => traffic.stop || this.#account.accepted.length - this.ran.length < MOST_AHEAD);
        await this.dispatch();
      }
    };
    traffic.ended = Promise.all([dispatchOn(), dispatchOn(), dispatchOn()]).then(() => undefined);
    this.#traffic = traffic;
  }

  /** Resolves when this many more jobs have run. */
  async progress(count = 20): Promise<void> {
    const goal = this.ran.length + count;
    await eventually(() => this.ran.length >= goal, { of: `${count} more runs` });
  }

  /** Ends the traffic and waits until all jobs are done. */
  async settled(): Promise<void> {
    if (this.#traffic !== undefined) this.#traffic.stop = true;
    await this.#traffic?.ended;
    await eventually(
      async () => {
        const { ready, delayed, reserved } = await this.driver.queues.counts('default');
        return ready + delayed + reserved === 0;
      },
      { of: 'an empty queue' },
    );
  }

  /** Asserts that no job is missing, ran twice, or ran although it was reported as not queued. */
  get faults(): { lost: number[]; twice: number[]; denied: number[] } {
    const { accepted, refused } = this.#account;
    const done = new Set<number>();
    const twice = this.ran.filter((index) => done.size === done.add(index).size);
    return {
      lost: accepted.filter((index) => !done.has(index)),
      twice,
      denied: refused.filter((index) => done.has(index)),
    };
  }

  async close(): Promise<void> {
    if (this.#traffic !== undefined) this.#traffic.stop = true;
    this.gate.open();
    await Promise.all([this.#traffic?.ended, this.#working.close(), this.#dispatching.close()]);
  }
}

export const NO_FAULTS = { lost: [], twice: [], denied: [] };
