/** Dispatches and runs the jobs of a shop, at moments in the past if the store uses the test clock. */
import { QueueManager } from '../../../src/application/queue-manager';
import { systemClock, type Clock } from '../../../src/base/clock';
import { builtInConnectors } from '../../../src/connections/built-in';
import type { ConnectionConfig } from '../../../src/connections/driver';
import type { Connection } from '../../../src/connections/contract';
import { JobBus } from '../../../src/dispatch/bus';
import type { JobInstance } from '../../../src/job/registry';
import { uuidAt } from '../../../src/payload/uuid';
import { TestClock } from '../../../src/testing/test-clock';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { Pace } from './shop-jobs';

const MINUTE = 60_000;

export class Shop {
  readonly manager: QueueManager;
  readonly bus: JobBus;
  readonly connection: string;
  readonly log = new RecordingLogger();
  readonly present = systemClock.now();
  readonly pace: Pace;
  /** Undefined if the store has its own clock. */
  readonly clock: TestClock | undefined;
  #sent = 0;

  /**
   * @param minutes how long before the present it begins
   * @param connection the name of its only connection
   */
  constructor(store: ConnectionConfig, minutes: number, connection: string = store.driver) {
    this.connection = connection;
    this.clock = store.driver === 'memory' ? new TestClock(this.present - minutes * MINUTE) : undefined;
    this.pace = new Pace(this.clock);
    const clock: Clock = this.clock ?? systemClock;
    this.manager = new QueueManager(
      { connectors: builtInConnectors, logger: this.log, clock, random: () => 0.5 },
      {
        connections: { [this.connection]: store },
        history: { completed: '1h' },
        container: { resolve: () => this.pace },
      },
    );
    this.bus = new JobBus(() => this.manager);
  }

  get driver(): Connection {
    return this.manager.driver(this.connection);
  }

  get now(): number {
    return this.manager.clock.now();
  }

  /** Moves the clock to the given number of minutes before the present. */
  async until(minutes: number): Promise<void> {
    await this.#goTo(this.present - minutes * MINUTE);
  }

  /** Moves the clock to the present, because ids of dispatched jobs contain the real time. */
  async untilNow(): Promise<void> {
    await this.#goTo(systemClock.now());
  }

  async #goTo(moment: number): Promise<void> {
    const left = moment - this.now;
    if (left > 0) await this.clock?.advance(left / 1000);
  }

  /** Sends a job whose id contains the current time of the shop's clock. */
  async send(job: JobInstance, queue?: string): Promise<string> {
    const encoded = this.manager.encoder.encode(job, { connection: this.connection, queue });
    this.#sent += 1;
    const id = uuidAt(`job ${this.#sent}`, this.now);
    const payload = encoded.entry.payload.replaceAll(encoded.id, id);
    await this.driver.push(encoded.queue, [{ ...encoded.entry, payload }]);
    return id;
  }

  /** Runs all jobs. */
  async work(): Promise<void> {
    const queues = await this.driver.queues.names();
    const backoff = this.clock === undefined ? 0 : '20s';
    const run = this.#worker({ queue: queues, drain: true, concurrency: 4, backoff }).run();
    const isOver = async (): Promise<boolean> => {
      const sizes = await Promise.all(queues.map((queue) => this.manager.connection().size(queue)));
      return sizes.every((size) => size === 0);
    };
    // Stop the clock once the worker has nothing to do, because its final writes have a deadline.
    if (this.clock !== undefined) while (!(await isOver())) await this.clock.advance('250ms');
    await run;
  }

  /** Completes the given number of jobs of a queue. */
  async workSome(queue: string, count: number): Promise<void> {
    const run = this.#worker({ queue, maxJobs: count, concurrency: count }).run();
    await this.clock?.advance('10s');
    await run;
  }

  #worker(options: ConstructorParameters<typeof Worker>[0]): Worker {
    return new Worker({ schedule: false, ...options }, this.manager);
  }
}
