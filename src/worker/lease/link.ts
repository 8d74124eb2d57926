/** A worker's link to the lease thread: writes jobs into the records that both share, and hears what happens to them. */
import { AsyncResource } from 'node:async_hooks';
import { systemClock, type Milliseconds, type Seconds } from '../../base/clock';
import type { LogFormat } from '../../base/console-logger';
import { errorMessage } from '../../base/exception-text';
import type { ThreadAccess } from '../../connections/contract';
import { within } from '../../connections/kit/caller';
import { LeaseThread } from './lease-thread';
import { ENDED, LOOKING, NOTHING_OPEN, STATES, STORE, type FromWorker, type ToWorker } from './messages';
import type { LeaseTable } from './record';
import type { Held } from './renewal';

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
