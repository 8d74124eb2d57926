/**
 * The worker's end of the channel to the thread that keeps its leases.
 *
 * The thread starts with the first jobs, keeps no process alive, and ends with the worker.
 */
import { isMainThread, Worker } from 'node:worker_threads';
import { endOfTurn, type Milliseconds, monotonicOrigin, type Seconds, systemClock } from '../clock/clock';
import { errorMessage, toError } from '../failed/exception-text';
import type { ThreadAccess } from '../queue/connection';
import { CLOSE, ENDED, HERE, NOTHING_OPEN, pack } from './lease-messages';
import type { FromThread, LeaseNews, LeaseThreadData, Numbered, WhenBlocked } from './lease-messages';

export type Heard = Exclude<FromThread, { readonly kind: 'ask' }>;

export interface LeaseChannelSettings {
  readonly threadAccess: ThreadAccess;
  /** The path of the thread's program. */
  readonly program: string;
  readonly lease: Seconds;
  readonly whenBlocked: WhenBlocked;
  readonly heard: (message: Heard) => void;
  /** The thread has ended, or cannot be told anything. Called once, and not after `close`. */
  readonly gone: (why: string) => void;
}

/** For the thread to close its store. */
const CLOSE_DEADLINE: Milliseconds = 2000;

export class LeaseChannel {
  readonly #settings: LeaseChannelSettings;
  readonly #state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #thread: Worker | undefined;
  /** Settled jobs that the thread does not know of yet. */
  #dropped: number[] = [];
  #closed = false;

  constructor(settings: LeaseChannelSettings) {
    this.#settings = settings;
  }

  /** Jobs of one reserve, and the memory of their terms. */
  keep(jobs: readonly Numbered[], terms: Int32Array, reservedAt: Milliseconds): void {
    try {
      this.#thread ??= this.#start();
      const kept = pack(jobs, terms, reservedAt);
      const dropped = this.#dropped;
      this.#dropped = [];
      this.#tell({ kept, dropped }, [kept.texts.buffer, kept.facts.buffer]);
    } catch (error) {
      // No thread can be started, or a token cannot be handed over. The jobs are ours, and must run all the same.
      this.#lose(errorMessage(toError(error)));
    }
  }

  drop(number: number): void {
    // What else is settled in this turn of the event loop travels along, mostly with the jobs that follow.
    if (this.#dropped.push(number) === 1) void endOfTurn().then(() => this.#tellDropped());
  }

  /** Ends within a deadline. */
  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) return;
    // Nothing of it must be closed, and it need not come up only to be told so.
    if (Atomics.compareExchange(this.#state, 0, NOTHING_OPEN, ENDED) === NOTHING_OPEN) {
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
    const { threadAccess, program, lease, whenBlocked } = this.#settings;
    const data: LeaseThreadData = {
      threadAccess,
      lease,
      origin: monotonicOrigin(),
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
    if (message.kind === 'ask') this.#thread?.postMessage(HERE, []);
    else this.#settings.heard(message);
  }

  #tellDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = [];
    if (dropped.length > 0) this.#tell({ dropped }, []);
  }

  #tell(news: LeaseNews, handedOver: readonly ArrayBuffer[]): void {
    this.#thread?.postMessage(news, handedOver);
  }

  #lose(why: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#thread?.postMessage(CLOSE, []);
    this.#thread = undefined;
    this.#settings.gone(why);
  }
}
