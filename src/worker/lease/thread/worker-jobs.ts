/**
 * The jobs of one worker, in the thread: sees in shared memory which it holds, and renews their leases. The worker's store
 * is opened when the first of them has run for a while.
 */
import type { MessagePort } from 'node:worker_threads';
import { type Milliseconds, systemClock, type Timer } from '../../../base/clock';
import { errorMessage } from '../../../base/exception-text';
import type { StoreThread } from '../../../connections/contract';
import { CLOSE, ENDED, LOOK, LOOKING, NOTHING_OPEN, STORE, STORE_OPEN } from '../messages';
import type { Admission, FromWorker, ToWorker, WorkerData } from '../messages';
import { LeaseRenewal, LOOK as RENEWAL_LOOK } from '../renewal';
import type { HeldReservation } from './held-reservation';
import { LeaseReader } from './reader';
import { openStore, type SharedStore } from './stores';

/** Between two looks at the pages; with short leases less. */
const LONGEST_PAUSE: Milliseconds = 500;

/** Looks that found nothing, after which the worker has to say that there is something. */
const EMPTY_LOOKS = 4;

export interface WorkerJobsSettings extends Admission {
  /** From the worker's clock to that of this thread. */
  readonly shift: Milliseconds;
  /** Called for each job that is found. */
  readonly found: () => void;
  /** Called once the worker has ended. */
  readonly ended: () => void;
}

export class WorkerJobs {
  readonly #worker: WorkerData;
  readonly #port: MessagePort;
  readonly #ended: () => void;
  readonly #renewal: LeaseRenewal<HeldReservation>;
  readonly #reader: LeaseReader;
  #store: SharedStore | undefined;
  #timer: Timer | undefined;
  #emptyLooks = 0;
  #closed = false;

  constructor({ worker, port, shift, found, ended }: WorkerJobsSettings) {
    this.#worker = worker;
    this.#port = port;
    this.#ended = ended;
    this.#renewal = new LeaseRenewal<HeldReservation>({
      lease: worker.lease,
      clock: systemClock,
      renew: async (reservations, seconds) => (await this.store()).renew(reservations, seconds),
      refresh: () => this.#reader.look(),
      lost: ({ number }) => this.tell({ kind: 'lost', number }),
      cancelled: ({ number }) => this.tell({ kind: 'cancelled', number }),
      // The worker sees it by itself.
      ended: () => undefined,
      failed: (error) => this.tell({ kind: 'failed', message: errorMessage(error) }),
      recovered: () => this.tell({ kind: 'recovered' }),
    });
    this.#reader = new LeaseReader({
      origin: worker.origin + shift,
      found: (one) => {
        this.#renewal.keep([one]);
        found();
      },
      gone: (one) => this.drop(one),
    });
    port.on('message', (message: FromWorker) => this.#hear(message));
    port.on('close', () => void this.#close());
  }

  get endsProcess(): boolean {
    return this.#worker.endsProcess;
  }

  /** All that it holds now. */
  get held(): readonly HeldReservation[] {
    this.#reader.look();
    return [...this.#renewal.held];
  }

  drop(one: HeldReservation): void {
    this.#renewal.drop(one);
  }

  tell(message: ToWorker): void {
    this.#port.postMessage(message, []);
  }

  /** Opens it where it is not open yet. @throws what the module throws */
  store(): Promise<StoreThread> {
    if (this.#store === undefined) {
      const { state, threadAccess, lease } = this.#worker;
      // The worker has ended, and is about to say so.
      if (Atomics.compareExchange(state, STORE, NOTHING_OPEN, STORE_OPEN) === ENDED)
        return new Promise(() => undefined);
      this.#store = openStore(threadAccess, lease);
      // Where it cannot even be opened, this thread is of no use to the worker: the event loop takes its place.
      this.#store.opened.catch((error: unknown) => {
        this.tell({ kind: 'gone', why: errorMessage(error) });
        void this.#close();
      });
    }
    return this.#store.opened;
  }

  #hear(message: FromWorker): void {
    if (message === CLOSE) void this.#close();
    else if (message === LOOK) this.#look();
    else if ('page' in message) {
      this.#reader.addPage(message.page);
      this.#look();
    } else if ('settled' in message) this.#reader.forget(message.settled);
    else {
      const { number, reservation } = message;
      this.#reader.send(number, { ...reservation, payload: Buffer.from(reservation.payload.buffer) });
    }
  }

  /** Until there was nothing for a while: the thread of workers that wait has no timer. */
  #look(): void {
    this.#timer?.cancel();
    const { state, lease } = this.#worker;
    this.#emptyLooks = this.#reader.look() ? 0 : this.#emptyLooks + 1;
    if (this.#emptyLooks > EMPTY_LOOKS) {
      // Said before the last look: what comes after that is seen by it, or the worker reads this.
      Atomics.store(state, LOOKING, 0);
      if (!this.#reader.look()) return;
      Atomics.store(state, LOOKING, 1);
      this.#emptyLooks = 0;
    }
    this.#timer = systemClock.after(Math.min(lease * 1000 * RENEWAL_LOOK, LONGEST_PAUSE), () => this.#look());
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended();
    this.#timer?.cancel();
    this.#reader.close();
    this.#renewal.close();
    await this.#store?.close().catch(() => undefined);
    this.#port.close();
  }
}
