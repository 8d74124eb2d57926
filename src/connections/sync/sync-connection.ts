/**
 * The connection that keeps nothing: a push runs the job at once, through the worker's own executor, in one attempt.
 *
 * The payload is encoded and decoded as for any store, so that a job cannot work here and break there.
 */
import { noCounters, withCounters } from '../../payload/counters';
import type { SyncConfig } from '../configs';
import type {
  Capabilities,
  Connection,
  Counts,
  Diagnosis,
  Entry,
  PeekedJob,
  Reservation,
  ReserveReply,
  SettleResult,
  Waiter,
} from '../contract';
import type { ConnectorContext } from '../connector';
import { runFor } from '../application';
import { type Capability, CapabilityError } from '../errors';
import type { SyncRunner } from '../sync-runner';
import { Executor } from '../../worker/executor';
import { RunningJob } from '../../worker/running-job';

const NO_CAPABILITIES: Capabilities = {
  delay: false,
  reserve: false,
  renew: false,
  counts: true,
  exactCounts: true,
  order: false,
  requeue: false,
  clear: false,
  peek: false,
  wake: false,
  failed: false,
  locks: false,
  control: false,
};

const NOTHING: Counts = { ready: 0, delayed: 0, reserved: 0 };

export class SyncConnection implements Connection, SyncRunner {
  readonly name: string;
  readonly driver = 'sync';
  readonly address = 'sync (in this process, at once)';
  readonly capabilities = NO_CAPABILITIES;
  readonly #context: ConnectorContext;
  readonly #executor: Executor;

  constructor(context: ConnectorContext) {
    this.name = context.name;
    this.#context = context;
    this.#executor = new Executor(context.manager, { defaults: {}, grace: 0, single: true });
  }

  /** Runs each entry in turn; a delay is ignored, as in Laravel. @throws what a job failed with */
  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    for (const { payload } of entries) await this.run(queue, payload);
  }

  run(queue: string, payload: string): Promise<unknown> {
    return runFor(this.#context.manager, () => this.#run(queue, payload));
  }

  async #run(queue: string, payload: string): Promise<unknown> {
    const counters = { ...noCounters, attempts: 1 };
    const reservation = { queue, payload: withCounters(Buffer.from(payload), counters), counters, token: undefined };
    const job = new RunningJob(reservation, this.name);
    const outcome = await this.#executor.run(job);
    await this.#executor.announcer.announce(job, outcome);
    if (outcome.error !== undefined) throw outcome.error;
    if (outcome.settlement.outcome === 'released') {
      this.#context.logger.warn(
        { job: job.name, id: job.id, connection: this.name, queue },
        `${job.name} released itself, which does nothing on the connection '${this.name}': it has no later.`,
      );
    }
    return job.value;
  }

  reserve(): Promise<ReserveReply> {
    return this.#lacks('reserve');
  }

  settle(): Promise<readonly SettleResult[]> {
    return this.#lacks('reserve');
  }

  renew(_reservations: readonly Reservation[]): Promise<readonly ('renewed' | 'lost')[]> {
    return this.#lacks('renew');
  }

  counts(): Promise<Counts> {
    return Promise.resolve(NOTHING);
  }

  clear(): Promise<number> {
    return Promise.resolve(0);
  }

  peek(): Promise<readonly PeekedJob[]> {
    return Promise.resolve([]);
  }

  queues(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  waiter(): Waiter {
    throw new CapabilityError(this.name, this.driver, 'reserve');
  }

  diagnose(): Promise<readonly Diagnosis[]> {
    return Promise.resolve([
      { level: 'ok', subject: this.name, message: 'runs jobs at once, in the process that dispatches' },
    ]);
  }

  async close(): Promise<void> {
    this.#executor.close();
  }

  #lacks(capability: Capability): Promise<never> {
    return Promise.reject(new CapabilityError(this.name, this.driver, capability));
  }
}

export function connectSync(_config: SyncConfig, context: ConnectorContext): SyncConnection {
  return new SyncConnection(context);
}
