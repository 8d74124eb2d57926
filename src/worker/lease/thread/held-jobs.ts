/**
 * One worker's jobs, as the thread sees them: finds them in the shared records and renews their leases. Opens the worker's
 * store when the first job has run for a while.
 */
import { systemClock, type Milliseconds, type Seconds } from '../../../base/clock';
import type { LogFormat } from '../../../base/logger';
import { errorMessage } from '../../../base/exception-text';
import type { Reservation, StoreThread, ThreadAccess } from '../../../connections/contract';
import {
  ENDED,
  LOOKING,
  NOTHING_OPEN,
  STORE,
  STORE_OPEN,
  type FromWorker,
  type ToWorker,
  type WorkerData,
} from '../link';
import { recordsOf, type LeaseRecord } from '../record';
import { LeaseRenewal, LOOK, type Held } from '../renewal';
import { pathToFileURL } from 'node:url';
import { serialize } from 'node:v8';

/** Longest pause between two looks at the records. */
const LOOK_EVERY: Milliseconds = 500;

/** After this many looks that found nothing, the worker has to announce new jobs. */
const EMPTY_LOOKS = 4;

export interface HeldJobsSettings extends WorkerData {
  readonly tell: (message: ToWorker) => void;
  /** Called for each job found. */
  readonly found: () => void;
  /** Called once the worker has ended. */
  readonly ended: () => void;
}

/** A record, and the job last seen there. */
interface Seen {
  readonly record: LeaseRecord;
  held: Held | undefined;
  /** The last reservation that was too large for the record. */
  large: { readonly number: number; readonly reservation: Reservation } | undefined;
}

export class HeldJobs {
  readonly #settings: HeldJobsSettings;
  readonly #renewal: LeaseRenewal<Held>;
  readonly #seen: Seen[] = [];
  #store: SharedStore | undefined;
  #emptyLooks = 0;
  #closed = false;

  constructor(settings: HeldJobsSettings) {
    const { lease, tell } = settings;
    this.#settings = settings;
    this.#renewal = new LeaseRenewal<Held>({
      lease,
      clock: systemClock,
      lookEvery: Math.min(LOOK * lease * 1000, LOOK_EVERY),
      renew: async (reservations, seconds) => (await this.store()).renew(reservations, seconds),
      refresh: () => this.#goesOn(),
      lost: ({ number }) => tell({ kind: 'lost', number }),
      cancelled: ({ number }) => tell({ kind: 'cancelled', number }),
      // The worker notices this itself.
      ended: () => undefined,
      failed: (error) => tell({ kind: 'failed', message: errorMessage(error) }),
      recovered: () => tell({ kind: 'recovered' }),
    });
  }

  get endsProcess(): boolean {
    return this.#settings.endsProcess;
  }

  get log(): LogFormat {
    return this.#settings.log;
  }

  get tell(): (message: ToWorker) => void {
    return this.#settings.tell;
  }

  /** All jobs that the worker holds now. */
  get all(): readonly Held[] {
    this.#look();
    return [...this.#renewal.held];
  }

  /** Stops renewing its lease. */
  drop(held: Held): void {
    this.#renewal.drop(held);
  }

  /** Opens the worker's store if it is not open yet. @throws what its module throws */
  store(): Promise<StoreThread> {
    if (this.#store === undefined) {
      const { state, threadAccess, lease, tell } = this.#settings;
      // The worker has ended, and its `close` is on its way.
      if (Atomics.compareExchange(state, STORE, NOTHING_OPEN, STORE_OPEN) === ENDED)
        return new Promise(() => undefined);
      this.#store = openStore(threadAccess, lease);
      // If the store cannot even be opened, this thread is of no use to the worker: the event loop takes over.
      this.#store.opened.catch((error: unknown) => {
        tell({ kind: 'gone', why: errorMessage(error) });
        void this.#close();
      });
    }
    return this.#store.opened;
  }

  hear(message: FromWorker): void {
    if (message.kind === 'close') return void this.#close();
    if (message.kind === 'page') {
      const records = recordsOf(message.page, this.#seen.length, this.#settings.origin);
      for (const record of records) this.#seen.push({ record, held: undefined, large: undefined });
    } else if (message.kind === 'large') {
      const { at, number, reservation } = message;
      const payload = Buffer.from(reservation.payload.buffer);
      this.#seen[at]!.large = { number, reservation: { ...reservation, payload } };
    }
    this.#renewal.start();
  }

  /** False if there has been nothing for a while: the thread of idle workers has no timer. */
  #goesOn(): boolean {
    const { state } = this.#settings;
    this.#emptyLooks = this.#look() ? 0 : this.#emptyLooks + 1;
    if (this.#emptyLooks <= EMPTY_LOOKS) return true;
    // Set before the last look: either that look sees a new job, or the worker reads this and wakes us.
    Atomics.store(state, LOOKING, 0);
    if (!this.#look()) return false;
    Atomics.store(state, LOOKING, 1);
    this.#emptyLooks = 0;
    return true;
  }

  // True if there are jobs.
  #look(): boolean {
    let some = false;
    for (const seen of this.#seen) {
      const { number } = seen.record;
      some ||= number !== 0;
      if (number === (seen.held?.number ?? 0)) continue;
      if (seen.held !== undefined) this.#renewal.drop(seen.held);
      seen.held = number === 0 ? undefined : this.#find(seen, number);
      if (seen.held === undefined) continue;
      this.#renewal.keep([seen.held]);
      this.#settings.found();
    }
    return some;
  }

  // Undefined while the worker is writing the record: the next look finds it.
  #find(seen: Seen, number: number): Held | undefined {
    const { record, large } = seen;
    const reservation = record.read() ?? (large?.number === number ? large.reservation : undefined);
    if (reservation === undefined || !record.isOf(number)) return undefined;
    seen.large = undefined;
    return { position: undefined, number, reservation, record };
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { ended, tell } = this.#settings;
    ended();
    this.#seen.length = 0;
    this.#renewal.close();
    await this.#store?.close().catch(() => undefined);
    tell({ kind: 'closed' });
  }
}

interface StoreModule {
  readonly open: (data: unknown, deadline: Seconds) => StoreThread;
}

export interface SharedStore {
  readonly opened: Promise<StoreThread>;
  /** To be called once by each user that opened it. */
  readonly close: () => Promise<void>;
}

const stores = new Map<string, { readonly opened: Promise<StoreThread>; users: number }>();

/** The stores that the thread has open. Workers of the same store share one, which the last of them closes. */
export function openStore(access: ThreadAccess, lease: Seconds): SharedStore {
  const key = serialize([access, lease]).toString('latin1');
  const store = stores.get(key) ?? { opened: load(access, lease), users: 0 };
  stores.set(key, store);
  store.users += 1;
  const close = async (): Promise<void> => {
    store.users -= 1;
    if (store.users > 0) return;
    stores.delete(key);
    const opened = await store.opened.catch(() => undefined);
    await opened?.close();
  };
  return { opened: store.opened, close };
}

async function load({ module, data }: ThreadAccess, lease: Seconds): Promise<StoreThread> {
  const loaded = (await import(pathToFileURL(module).href)) as StoreModule;
  // A call that took longer would leave no time for another one.
  return loaded.open(data, lease / 3);
}
