/**
 * A custom driver that keeps jobs in arrays of this process.
 *
 * It fulfils the contract of `Connection`, which the conformance suite checks (`onqueue/testing/conformance`). What it cannot do
 * is not there. Its store dies with the process, so no jobs need to be taken back from dead workers, and there are no
 * leases to renew.
 */
import {
  type Connection,
  ConnectionClosedError,
  type ConnectorContext,
  type Counters,
  DuplicatePayloadError,
  type Entry,
  hasId,
  InvalidPayloadError,
  type Queues,
  readCounters,
  readCountersOfAny,
  type Reservation,
  type ReserveReply,
  type Settled,
  type Settlement,
  type SettleResult,
  type Wanted,
  withCounters,
  withId,
} from 'onqueue';
import { randomUUID } from 'node:crypto';
import { ArrayWaits } from './array-waits';

/** The options of this driver in the configuration. */
export interface ArrayConfig {
  readonly driver: 'array';
  readonly queue?: string | undefined;
}

interface Waiting {
  readonly payload: Buffer;
  /** When it becomes ready, in milliseconds since 1970. */
  readonly due: number;
}

interface ArrayQueue {
  /** In the order in which they become ready. */
  readonly waiting: Waiting[];
  readonly reserved: Set<Reservation>;
}

export class ArrayConnection implements Connection {
  readonly driver = 'array';
  readonly address = `arrays of process ${process.pid}`;
  readonly name: string;
  readonly capabilities = {
    delay: true,
    moments: true,
    reserve: true,
    exactCounts: true,
    order: true,
    requeue: true,
  };
  readonly #now: () => number;
  readonly #queues = new Map<string, ArrayQueue>();
  readonly #waits = new ArrayWaits();
  #closed = false;

  constructor(name: string, now: () => number = Date.now) {
    this.name = name;
    this.#now = now;
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.#checkOpen('push');
    const jobs = entries.map(({ payload, delay, dueAt, distinct = false }) => {
      // Without a failed store there is nowhere to put a payload that is not a job, so it is refused.
      if (readCountersOfAny(payload) === undefined) throw new InvalidPayloadError('it is no JSON object');
      const job = { payload: Buffer.from(payload), due: this.#dueIn(delay, dueAt) };
      if (distinct && this.#isDelayed(queue, job.payload)) throw new DuplicatePayloadError(this.name, queue, payload);
      return job;
    });
    for (const job of jobs) this.#add(queue, job);
  }

  async exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    this.#checkOpen('exchange');
    const results = this.#settle(settlements);
    if (wanted === undefined) return { results, reply: { reservations: [], setAside: [], nextIn: Infinity } };
    const { queues, within = 0, signal } = wanted;
    await this.#waits.until(() => queues.some((name) => this.#isReady(name)), within, signal);
    return { results, reply: this.#reserve(wanted) };
  }

  #reserve({ queues, limit }: Wanted): ReserveReply {
    const reservations: Reservation[] = [];
    for (const name of queues) {
      const { waiting, reserved } = this.#queue(name);
      while (reservations.length < limit && waiting[0] !== undefined && waiting[0].due <= this.#now()) {
        const [{ payload }] = waiting.splice(0, 1) as [Waiting];
        const reservation = this.#reservationOf(name, payload);
        reserved.add(reservation);
        reservations.push(reservation);
      }
    }
    const next = Math.min(...queues.map((name) => this.#queue(name).waiting[0]?.due ?? Infinity));
    const now = this.#now();
    return { reservations, setAside: [], nextIn: Math.max((next - now) / 1000, 0), now };
  }

  #settle(settlements: readonly Settlement[]): readonly SettleResult[] {
    // Jobs that were not started go back to the head of the queue, the last one first, to restore their order.
    const unstarted: { readonly queue: string; readonly job: Waiting }[] = [];
    const results = settlements.map((settlement): SettleResult => {
      const { queue, payload } = settlement.reservation;
      // The reservation itself is the fencing token: whoever settles it second finds it gone.
      if (!this.#queue(queue).reserved.delete(settlement.reservation)) return 'lost';
      if (settlement.outcome === 'released') {
        const due = this.#dueIn(settlement.delay, settlement.dueAt);
        const job = { payload: withCounters(payload, settlement.counters), due };
        if (settlement.front === true) unstarted.push({ queue, job });
        else this.#add(queue, job);
      }
      // The worker has already written a failed job to the connection that `failed` of the configuration names.
      return 'settled';
    });
    for (const { queue, job } of unstarted.toReversed()) this.#addAtHead(queue, job);
    return results;
  }

  readonly queues: Queues = {
    names: async () => {
      this.#checkOpen('queues.names');
      return [...this.#queues.keys()];
    },
    counts: async (queue) => {
      this.#checkOpen('queues.counts');
      const { waiting, reserved } = this.#queue(queue);
      const ready = waiting.filter(({ due }) => due <= this.#now()).length;
      return { ready, delayed: waiting.length - ready, reserved: reserved.size };
    },
    clear: async (queue) => {
      this.#checkOpen('queues.clear');
      const { waiting, reserved } = this.#queue(queue);
      this.#queues.set(queue, { waiting: [], reserved: new Set() });
      return waiting.length + reserved.size;
    },
  };

  /** The clock by which jobs become ready. A store on another machine returns the time of that machine. */
  async now(): Promise<number> {
    this.#checkOpen('now');
    return this.#now();
  }

  async diagnose() {
    return [{ level: 'warning' as const, subject: 'array', message: 'Jobs are lost when the process ends.' }];
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waits.wake();
  }

  #queue(name: string): ArrayQueue {
    return this.#queues.get(name) ?? { waiting: [], reserved: new Set() };
  }

  /** A moment wins over a delay. */
  #dueIn(delay = 0, dueAt = this.#now() + Math.max(delay, 0) * 1000): number {
    return Math.max(dueAt, this.#now());
  }

  #add(name: string, job: Waiting): void {
    const queue = this.#queue(name);
    this.#queues.set(name, queue);
    const behind = queue.waiting.findIndex(({ due }) => due > job.due);
    queue.waiting.splice(behind === -1 ? queue.waiting.length : behind, 0, job);
    this.#waits.wake();
  }

  #addAtHead(name: string, { payload }: Waiting): void {
    const queue = this.#queue(name);
    this.#queues.set(name, queue);
    // The list is ordered by due time, so the new head must not be due later than the next job.
    queue.waiting.unshift({ payload, due: Math.min(this.#now(), queue.waiting[0]?.due ?? Infinity) });
    this.#waits.wake();
  }

  /** Counts the attempt. A payload without an id, or with the same text as another reserved one, gets a new id. */
  #reservationOf(queue: string, payload: Buffer): Reservation {
    const before = (readCounters(payload)?.counters ?? readCountersOfAny(payload)) as Counters;
    const counters = { ...before, attempts: before.attempts + 1 };
    const counted = withCounters(payload, counters);
    const isTwin = [...this.#queue(queue).reserved].some((other) => other.payload.equals(counted));
    const text = hasId(payload) && !isTwin ? counted : withId(counted, randomUUID());
    return { queue, payload: text, counters, token: undefined };
  }

  #isReady(name: string): boolean {
    const [first] = this.#queue(name).waiting;
    return first !== undefined && first.due <= this.#now();
  }

  #isDelayed(name: string, payload: Buffer): boolean {
    return this.#queue(name).waiting.some((job) => job.due > this.#now() && job.payload.equals(payload));
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new ConnectionClosedError(this.name, operation);
  }
}

/** The connector for `Queue.addConnector`. */
export function connectArrays(_config: ArrayConfig, context: ConnectorContext): ArrayConnection {
  return new ArrayConnection(context.name, () => context.clock.now());
}
