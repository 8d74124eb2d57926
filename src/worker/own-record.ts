/** Keeps a worker's record in the store while it runs, so that others see it. Nothing in the worker waits for it. */
import { hostname } from 'node:os';
import type { Milliseconds, Timer } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import { isStoreAway } from '../connections/errors';
import { within } from '../connections/kit/caller';
import { uuidv7 } from '../payload/uuid';
import { VERSION } from '../version';
import type { OperationsConnection } from '../operations/operations-connection';
import { BEAT, putWorker, removeWorker, type WorkerReport } from '../operations/worker-record';
import type { Attended, Companion } from './companions';

/** A worker that ends sooner leaves no record. */
const FIRST: Milliseconds = 1000;
/** How long the end of a worker waits for its record to be removed. A record that stays expires. */
const PATIENCE: Milliseconds = 2000;

export class OwnRecord implements Companion {
  readonly #worker: Attended;
  readonly #store: OperationsConnection;
  readonly #id = uuidv7();
  readonly #startedAt: Milliseconds;
  #next: Timer;
  /** The write under way: the removal must not overtake it. */
  #putting: Promise<void> | undefined;
  #isKept = false;
  #isClosed = false;
  #isTold = false;

  constructor(worker: Attended, store: OperationsConnection) {
    this.#worker = worker;
    this.#store = store;
    const { clock } = worker.manager;
    this.#startedAt = clock.monotonic();
    this.#next = clock.after(FIRST, () => this.#beat());
  }

  async close(): Promise<void> {
    const { clock } = this.#worker.manager;
    this.#isClosed = true;
    this.#next.cancel();
    if (this.#putting === undefined && !this.#isKept) return;
    const removed = Promise.resolve(this.#putting).then(() => removeWorker(this.#store.records, this.#id));
    await within(clock, PATIENCE, removed).catch(() => undefined);
  }

  #beat(): void {
    this.#putting = this.#put()
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#putting = undefined;
        if (!this.#isClosed) this.#next = this.#worker.manager.clock.after(BEAT, () => this.#beat());
      });
  }

  async #put(): Promise<void> {
    const at = (await this.#store.now?.()) ?? this.#worker.manager.clock.now();
    await putWorker(this.#store.records, this.#report(at));
    this.#isKept = true;
    this.#isTold = false;
  }

  #report(at: Milliseconds): WorkerReport {
    const { name, manager, connection, options, loop } = this.#worker;
    const { state, queues, lag, paused, outcomes, running: busy } = loop.glance;
    const { waiting } = loop;
    // Durations are measured here and placed by the store's clock, because our wall clock may be off.
    const moment = (monotonic: Milliseconds): Milliseconds => Math.round(at - manager.clock.monotonic() + monotonic);
    return {
      id: this.#id,
      name,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      connection: connection.name,
      queues,
      concurrency: options.concurrency,
      state: state === 'stopping' ? 'stopping' : 'running',
      at,
      since: moment(this.#startedAt),
      lag,
      paused,
      outcomes,
      busy,
      running: loop.running.map((job) => ({
        id: job.id,
        name: job.name,
        queue: job.queue,
        attempt: job.attempts,
        since: moment(job.startedAt),
      })),
      waiting: waiting && {
        id: waiting.id,
        name: waiting.name,
        queue: waiting.queue,
        attempt: waiting.attempts,
      },
    };
  }

  // Once per streak. A store that is away is reported by its driver or by the worker.
  #tell(error: unknown): void {
    const { manager, connection } = this.#worker;
    if (this.#isTold || isStoreAway(error)) return;
    this.#isTold = true;
    const message = `The worker goes on, but is not seen by others (onqueue workers): ${errorMessage(error)}`;
    manager.logger.warn({ connection: connection.name, during: 'keeping the record of the worker' }, message);
  }
}
