/**
 * The worker's end of the channel to the thread that keeps its leases: pages that it looks at by itself, and messages.
 *
 * The thread starts with the first jobs, keeps no process alive, and ends with the worker.
 */
import { isMainThread, Worker } from 'node:worker_threads';
import { type Milliseconds, monotonicOrigin, type Seconds, systemClock } from '../../clock/clock';
import { errorMessage, toError } from '../../failed/exception-text';
import type { Reservation, ThreadAccess } from '../../queue/connection';
import { CLOSE, ENDED, HERE, LOOK, LOOKING, NOTHING_OPEN, STATES, STORE } from './messages';
import type { FromThread, LeaseThreadData, Numbered, ToThread, WhenBlocked } from './messages';
import type { Place } from './place';
import type { LeaseTable } from './table';

export type Heard = Exclude<FromThread, { readonly kind: 'ask' }>;

export interface LeaseChannelSettings {
  readonly threadAccess: ThreadAccess;
  /** The path of the thread's program. */
  readonly program: string;
  readonly lease: Seconds;
  readonly table: LeaseTable;
  readonly whenBlocked: WhenBlocked;
  readonly heard: (message: Heard) => void;
  /** The thread has ended, or cannot be told anything. Called once, and not after `close`. */
  readonly gone: (why: string) => void;
}

/** A job that is held, and where it is written down. */
export interface Placed extends Numbered {
  readonly place: Place;
}

/** For the thread to close its store. */
const CLOSE_DEADLINE: Milliseconds = 2000;

export class LeaseChannel {
  readonly #settings: LeaseChannelSettings;
  readonly #state = new Int32Array(new SharedArrayBuffer(STATES * Int32Array.BYTES_PER_ELEMENT));
  #thread: Worker | undefined;
  /** How many pages the thread was given. */
  #given = 0;
  /** The numbers of jobs that the thread knows by a message. */
  readonly #sent = new Set<number>();
  #closed = false;

  constructor(settings: LeaseChannelSettings) {
    this.#settings = settings;
  }

  /** Jobs of one reserve. */
  keep(jobs: readonly Placed[]): void {
    try {
      this.#thread ??= this.#start();
      const { pages } = this.#settings.table;
      for (; this.#given < pages.length; this.#given += 1) this.#tell({ page: pages[this.#given]! });
      for (const { number, reservation, place } of jobs) {
        if (!place.write(reservation)) this.#send(number, reservation);
        place.show(number);
      }
      // Set by whoever sees first that it is to look again: it says so before it looks for the last time.
      if (Atomics.compareExchange(this.#state, LOOKING, 0, 1) === 0) this.#tell(LOOK);
    } catch (error) {
      // No thread can be started, or a token cannot be handed over. The jobs are ours, and must run all the same.
      this.#lose(errorMessage(toError(error)));
    }
  }

  /** The job has left its place. */
  drop(number: number): void {
    if (this.#sent.delete(number)) this.#tell({ settled: number });
  }

  /** Ends within a deadline. */
  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) return;
    // Nothing of it must be closed, and it need not come up only to be told so.
    if (Atomics.compareExchange(this.#state, STORE, NOTHING_OPEN, ENDED) === NOTHING_OPEN) {
      await thread.terminate();
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = systemClock.after(CLOSE_DEADLINE, () => void thread.terminate(), true);
      thread.once('exit', () => {
        timer.cancel();
        resolve();
      });
      thread.postMessage(CLOSE, []);
    });
  }

  #start(): Worker {
    const { threadAccess, program, lease, whenBlocked, table } = this.#settings;
    // It looks as soon as it is up.
    Atomics.store(this.#state, LOOKING, 1);
    const data: LeaseThreadData = {
      threadAccess,
      lease,
      clockOrigin: monotonicOrigin(),
      origin: table.origin,
      state: this.#state,
      whenBlocked,
      ofMainThread: isMainThread,
    };
    const thread = new Worker(program, {
      workerData: data,
      name: 'onqueue leases',
      // What the application is loaded with, such as a compiler, would only make the thread slow and large.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    thread.unref();
    thread.on('message', (message: FromThread) => this.#hear(message));
    thread.on('error', (error) => this.#lose(errorMessage(toError(error))));
    thread.on('exit', (code) => this.#lose(`it exited with ${code}`));
    return thread;
  }

  #hear(message: FromThread): void {
    if (this.#closed) return;
    if (message.kind === 'ask') this.#tell(HERE);
    else this.#settings.heard(message);
  }

  #send(number: number, { queue, payload, counters, token }: Reservation): void {
    this.#sent.add(number);
    // Memory of its own, which is handed over: a small Buffer shares its memory with others, and all of it would be sent.
    const bytes = new Uint8Array(payload);
    this.#tell({ number, reservation: { queue, payload: bytes, counters, token } }, [bytes.buffer]);
  }

  #tell(message: ToThread, handedOver: readonly ArrayBuffer[] = []): void {
    this.#thread?.postMessage(message, handedOver);
  }

  #lose(why: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#thread?.postMessage(CLOSE, []);
    this.#thread = undefined;
    this.#settings.gone(why);
  }
}
