/** A worker's end of the channel to the thread that keeps its leases: pages that the thread looks at by itself, and messages. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { type Milliseconds, type Seconds, systemClock } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { Reservation, ThreadAccess } from '../../connections/contract';
import { LeaseThread } from './lease-thread';
import { CLOSE, ENDED, LOOK, LOOKING, NOTHING_OPEN, STATES, STORE } from './messages';
import type { FromWorker, Numbered, ToWorker } from './messages';
import type { Place } from './place';
import type { LeaseTable } from './table';

export type Heard = Exclude<ToWorker, { readonly kind: 'gone' }>;

export interface LeaseChannelSettings {
  readonly threadAccess: ThreadAccess;
  readonly lease: Seconds;
  readonly table: LeaseTable;
  readonly endsProcess: boolean;
  readonly heard: (message: Heard) => void;
  /** The thread has ended, or is of no use to this worker. Called once, and not after `close`. */
  readonly gone: (why: string) => void;
}

/** A job that is held, and where it is written down. */
export interface Placed extends Numbered {
  readonly place: Place;
}

/** For the thread to close the store. */
const CLOSE_DEADLINE: Milliseconds = 2000;

export class LeaseChannel {
  readonly #settings: LeaseChannelSettings;
  readonly #state = new Int32Array(new SharedArrayBuffer(STATES * Int32Array.BYTES_PER_ELEMENT));
  #thread: LeaseThread | undefined;
  #port: MessagePort | undefined;
  /** The thread has closed its end of the port. */
  #parted: Promise<void> | undefined;
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
      if (this.#port === undefined) this.#open();
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
      this.#lose(errorMessage(error));
    }
  }

  /** The job has left its place. */
  drop(number: number): void {
    if (this.#sent.delete(number)) this.#tell({ settled: number });
  }

  /** Ends within a deadline. */
  async close(): Promise<void> {
    this.#closed = true;
    const port = this.#port;
    this.#port = undefined;
    // Where nothing was opened nothing must be closed, and the thread need not come up only to be told so.
    if (Atomics.compareExchange(this.#state, STORE, NOTHING_OPEN, ENDED) !== NOTHING_OPEN) {
      port?.postMessage(CLOSE, []);
      const late = new Promise<void>((resolve) => {
        const timer = systemClock.after(CLOSE_DEADLINE, resolve, true);
        void this.#parted!.then(() => timer.cancel());
      });
      await Promise.race([this.#parted, late]);
    }
    port?.close();
    await this.#thread?.leave(this.#gone);
  }

  #open(): void {
    const { threadAccess, lease, table, endsProcess, heard } = this.#settings;
    // It looks as soon as it is up.
    Atomics.store(this.#state, LOOKING, 1);
    const { port1, port2 } = new MessageChannel();
    this.#parted = new Promise((resolve) => void port1.once('close', resolve));
    port1.on('message', (message: ToWorker) => {
      if (this.#closed) return;
      if (message.kind === 'gone') this.#lose(message.why);
      else heard(message);
    });
    port1.unref();
    this.#port = port1;
    this.#thread = LeaseThread.current();
    const worker = { threadAccess, lease, origin: table.origin, state: this.#state, endsProcess };
    this.#thread.admit(worker, port2, this.#gone);
  }

  #send(number: number, { queue, payload, counters, token }: Reservation): void {
    this.#sent.add(number);
    // Memory of its own, which is handed over: a small Buffer shares its memory with others, and all of it would be sent.
    const bytes = new Uint8Array(payload);
    this.#tell({ number, reservation: { queue, payload: bytes, counters, token } }, [bytes.buffer]);
  }

  #tell(message: FromWorker, handedOver: readonly ArrayBuffer[] = []): void {
    this.#port?.postMessage(message, handedOver);
  }

  readonly #gone = (why: string): void => this.#lose(why);

  #lose(why: string): void {
    if (this.#closed) return;
    void this.close();
    this.#settings.gone(why);
  }
}
