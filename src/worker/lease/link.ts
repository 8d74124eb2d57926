/** A worker's link to the lease thread: writes jobs into the records that both share, and hears what happens to them. */
import { AsyncResource } from 'node:async_hooks';
import { systemClock, monotonicOrigin, within, type Milliseconds, type Seconds, type Moment } from '../../base/clock';
import type { LogFormat } from '../../base/logger';
import { errorMessage } from '../../base/exception-text';
import type { ThreadAccess, Reservation } from '../../connections/contract';
import type { LeaseTable, Page } from './record';
import type { Held } from './renewal';
import { isMainThread, Worker } from 'node:worker_threads';
import { threadModule } from '../../base/environment';

export type Heard = Exclude<ToWorker, { readonly kind: 'gone' | 'closed' }>;

export interface LeaseLinkSettings {
  readonly threadAccess: ThreadAccess;
  readonly lease: Seconds;
  readonly table: LeaseTable;
  readonly endsProcess: boolean;
  readonly log: LogFormat;
  readonly heard: (message: Heard) => void;
  /** The thread has ended or is of no use to this worker. Called once, and not after `close`. */
  readonly gone: (why: string) => void;
}

/** How long the thread may take to close the store. */
const CLOSE_DEADLINE: Milliseconds = 2000;

export class LeaseLink {
  readonly #settings: LeaseLinkSettings;
  readonly #state = new Int32Array(new SharedArrayBuffer(STATES * Int32Array.BYTES_PER_ELEMENT));
  #thread: LeaseThread | undefined;
  /** The worker's number in the thread. */
  #worker = 0;
  /** How many pages the thread was given. */
  #given = 0;
  #isOver = false;
  #closed: () => void = () => undefined;

  constructor(settings: LeaseLinkSettings) {
    this.#settings = settings;
  }

  /** Jobs of one reserve. */
  keep(jobs: readonly Held[]): void {
    if (this.#isOver) return;
    try {
      if (this.#thread === undefined) this.#join();
      const { pages } = this.#settings.table;
      for (; this.#given < pages.length; this.#given += 1) this.#tell({ kind: 'page', page: pages[this.#given]! });
      for (const one of jobs) {
        if (!one.record.write(one.reservation)) this.#send(one);
        one.record.show(one.number);
      }
      // Only the one who sets it wakes the thread. The thread clears it before its last look, so that no job is missed.
      if (Atomics.compareExchange(this.#state, LOOKING, 0, 1) === 0) this.#tell({ kind: 'look' });
    } catch (error) {
      // No thread can be started, or a token cannot be cloned. The jobs are ours, and must run all the same.
      this.#lose(errorMessage(error));
    }
  }

  /** Ends within a deadline. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#thread === undefined) return;
    // If nothing is open, the thread need not start up just to hear that there is nothing to close.
    const isOpen = Atomics.compareExchange(this.#state, STORE, NOTHING_OPEN, ENDED) !== NOTHING_OPEN;
    this.#tell({ kind: 'close' });
    if (isOpen) {
      const closed = new Promise<void>((resolve) => (this.#closed = resolve));
      await within(systemClock, CLOSE_DEADLINE, closed).catch(() => undefined);
    }
    await this.#thread.leave(this.#worker);
  }

  #join(): void {
    const { threadAccess, lease, table, endsProcess, log } = this.#settings;
    // The thread looks as soon as it is up.
    Atomics.store(this.#state, LOOKING, 1);
    this.#thread = LeaseThread.current();
    // The thread may have been started by a worker of another application.
    this.#worker = this.#thread.join(AsyncResource.bind((message) => this.#hear(message)));
    const data = { threadAccess, lease, origin: table.origin, state: this.#state, endsProcess, log };
    this.#tell({ kind: 'join', data });
  }

  #send({ number, record, reservation: { queue, payload, counters, token } }: Held): void {
    // A copy with its own memory, which is transferred: a small Buffer shares its memory with others, and all of that would
    // be sent.
    const bytes = new Uint8Array(payload);
    const reservation = { queue, payload: bytes, counters, token };
    this.#tell({ kind: 'large', at: record.at, number, reservation }, [bytes.buffer]);
  }

  #tell(message: FromWorker, handedOver?: readonly ArrayBuffer[]): void {
    this.#thread!.tell(this.#worker, message, handedOver);
  }

  #hear(message: ToWorker): void {
    if (message.kind === 'closed') this.#closed();
    else if (this.#isOver) return;
    else if (message.kind === 'gone') this.#lose(message.why);
    else this.#settings.heard(message);
  }

  #lose(why: string): void {
    if (this.#isOver) return;
    void this.close();
    this.#settings.gone(why);
  }
}

/** The path of the thread's program. */
export const PROGRAM = threadModule('worker/lease/thread/program');

/** Hears what the thread tells one worker: `gone` and `closed` also when it has ended. */
export type Hear = (message: ToWorker) => void;

let running: LeaseThread | undefined;

/**
 * The lease thread as its workers see it: one for all workers of the process.
 *
 * It starts with the first job, keeps no process alive, and ends with the last worker that has had a job.
 */
export class LeaseThread {
  readonly #thread: Worker;
  readonly #workers = new Map<number, Hear>();
  #numbers = 0;

  /** The running thread, started if there is none. @throws if it cannot be started */
  static current(): LeaseThread {
    return (running ??= new LeaseThread());
  }

  private constructor() {
    const workerData: ThreadData = {
      clockOrigin: monotonicOrigin(),
      ofMainThread: isMainThread,
      scope: require.resolve('../../container/scope'),
      // Not an import: a Node.js that was built without the inspector could not even load this file.
      isDebugged: process.features.inspector && process.getBuiltinModule('node:inspector').url() !== undefined,
    };
    this.#thread = new Worker(PROGRAM, {
      workerData,
      name: 'onqueue leases',
      // Loaders of the application, such as a compiler, would only make the thread slow and large.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#thread.unref();
    this.#thread.on('message', (message: FromThread) => {
      if (message.kind === 'ask') this.#post({ kind: 'here' });
      else this.#workers.get(message.worker)?.(message);
    });
    this.#thread.on('error', (error) => this.#end(errorMessage(error)));
    this.#thread.on('exit', (code) => this.#end(`it exited with ${code}`));
  }

  /** Returns the worker's number in the thread. */
  join(hear: Hear): number {
    this.#numbers += 1;
    this.#workers.set(this.#numbers, hear);
    return this.#numbers;
  }

  /** @throws if the message cannot be cloned or transferred */
  tell(worker: number, message: FromWorker, handedOver: readonly ArrayBuffer[] = []): void {
    this.#post({ worker, ...message }, handedOver);
  }

  /** To be called once the thread has closed the worker's store. The last worker to leave ends the thread. */
  async leave(worker: number): Promise<void> {
    if (!this.#workers.delete(worker) || this.#workers.size > 0) return;
    if (running === this) running = undefined;
    await this.#thread.terminate();
  }

  #post(message: ToThread, handedOver: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, handedOver);
  }

  #end(why: string): void {
    if (running === this) running = undefined;
    const left = [...this.#workers.values()];
    this.#workers.clear();
    for (const hear of left) {
      hear({ kind: 'gone', why });
      hear({ kind: 'closed' });
    }
  }
}

/** Messages between a worker and the lease thread, in addition to the records that they share. */

/** The data that the thread starts with. */
export interface ThreadData {
  /** `monotonicOrigin()` of the workers. */
  readonly clockOrigin: Milliseconds;
  /** False if the workers run in a thread of the user's, whose stack the inspector cannot reach. */
  readonly ofMainThread: boolean;
  /** The path of the module in the workers' thread that knows whose code runs there. */
  readonly scope: string;
  /** A debugger was attached from the start: then an event loop that stands still is none of our business. */
  readonly isDebugged: boolean;
}

export interface WorkerData {
  readonly threadAccess: ThreadAccess;
  readonly lease: Seconds;
  /** The moment, by the worker's clocks, from which the moments in its records count. */
  readonly origin: Moment;
  /** The state of both sides: `STORE` and `LOOKING`. */
  readonly state: Int32Array;
  /** Whether the process may be ended when a job blocks its event loop past timeout and grace. */
  readonly endsProcess: boolean;
  /** How a blocked event loop is reported on standard error. */
  readonly log: LogFormat;
}

/** Index in `state`: whether the thread has opened the worker's store. Its values are the three below. */
export const STORE = 0;
export const NOTHING_OPEN = 0;
export const STORE_OPEN = 1;
/** The worker has ended: nothing may be opened for it any more. */
export const ENDED = 2;

/** Index in `state`: 1 while the thread looks at the records by itself, 0 once it has found none for a while. */
export const LOOKING = 1;

/** How many numbers `state` has. */
export const STATES = 2;

/** `here`: the event loop moves; the answer to `ask`. `worker`: the worker's number in the thread. */
export type ToThread = { readonly kind: 'here' } | ({ readonly worker: number } & FromWorker);

export type FromWorker =
  | { readonly kind: 'join'; readonly data: WorkerData }
  /** One more page of records. */
  | { readonly kind: 'page'; readonly page: Page }
  /** A reservation too large for its record, the one at place `at`. */
  | { readonly kind: 'large'; readonly at: number; readonly number: number; readonly reservation: SentReservation }
  /** The thread is to look at the records again. */
  | { readonly kind: 'look' }
  /** The worker ends. The thread closes its store, unless another worker uses it too, and answers `closed`. */
  | { readonly kind: 'close' };

/** `ask`: does the event loop move? */
export type FromThread = { readonly kind: 'ask' } | ({ readonly worker: number } & ToWorker);

export type ToWorker =
  | { readonly kind: 'lost' | 'cancelled'; readonly number: number }
  | { readonly kind: 'failed'; readonly message: string }
  /** The store takes renewals again. */
  | { readonly kind: 'recovered' }
  | { readonly kind: 'closed' }
  /** The thread cannot open the store, and has given the worker up. */
  | { readonly kind: 'gone'; readonly why: string }
  /**
   * The event loop stood still. These jobs were recorded as timed out without it, or found lost; `account`: what was
   * reported about it.
   */
  | { readonly kind: 'blocked'; readonly numbers: readonly number[]; readonly account: string | undefined };

/** Transferred memory arrives as a plain array, not as a Buffer. */
export type SentReservation = Omit<Reservation, 'payload'> & { readonly payload: Uint8Array<ArrayBuffer> };
