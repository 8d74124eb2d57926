/**
 * Messages of one queue that were received and not handed out yet, and the long poll that waits for the next one.
 *
 * An idle worker costs a request in twenty seconds: the poll goes on while it looks whether there is something to do, and
 * what it brings is handed out by the next reserve. What nobody takes goes back at no cost.
 */
import type { Message } from '@aws-sdk/client-sqs';
import type { Clock, Seconds, Timer } from '../../base/clock';
import { afterFreeRelease } from '../../payload/counters';
import type { Reservation } from '../contract';
import { Holding, sharedNow } from './holding';
import { attributesOf, entryOf, incoming, remainingDelay, textWith } from './message';
import { MOST_BYTES, type SqsQueue } from './sqs-queue';

/** What SQS gives at once. */
const MOST_RECEIVED = 10;

/** The longest that SQS waits before it says that there is nothing. */
const LONGEST_POLL: Seconds = 20;

/** A worker that was woken, or waits until it is alone, asks much sooner than this. */
const LONGEST_KEPT: Seconds = 5;

/** Part of a lease that is over when it is renewed before a job is handed out. */
const STALE = 1 / 3;

/** Called with an error where the poll failed, else where something is there. */
export type Listener = (error?: unknown) => void;

export class Inbox {
  readonly queue: SqsQueue;
  readonly #clock: Clock;
  readonly #lease: Seconds;
  #kept: Reservation[] = [];
  /** Something came that no waiter was told of. */
  #news = false;
  readonly #listeners = new Set<Listener>();
  #poll: AbortController | undefined;
  #waiters = 0;
  #filling = 0;
  #returning: Timer | undefined;

  /** @param lease for what a poll brings */
  constructor(queue: SqsQueue, clock: Clock, lease: Seconds) {
    this.queue = queue;
    this.#clock = clock;
    this.#lease = Math.ceil(lease);
  }

  /** Holds nothing, and nobody waits for anything. */
  get isIdle(): boolean {
    return this.#kept.length + this.#waiters + this.#filling === 0 && this.#poll === undefined;
  }

  take(): Reservation | undefined {
    const [reservation] = this.#kept.splice(0, 1);
    if (this.#kept.length === 0) this.#returning?.cancel();
    return reservation;
  }

  /** Sees to it that up to `limit` jobs can be handed out, each under a lease of `seconds` from about now. */
  async fill(limit: number, seconds: Seconds): Promise<void> {
    this.#filling += 1;
    try {
      await this.#fill(limit, seconds);
    } finally {
      this.#filling -= 1;
    }
  }

  /** Told once of what comes, at once where something came already; `leave` ends it. */
  join(listener: Listener): void {
    if (this.#news) {
      this.#news = false;
      listener();
      return;
    }
    this.#listeners.add(listener);
    this.#listen();
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  /** For as long as it may call `join`. */
  enter(): void {
    this.#waiters += 1;
  }

  /** The last to go ends the poll. What SQS hands out at that very moment comes back when its lease ends. */
  exit(): void {
    this.#waiters -= 1;
    if (this.#waiters === 0) this.#poll?.abort();
  }

  /** Gives back what was not handed out. */
  async close(): Promise<void> {
    this.#poll?.abort();
    await this.#return();
  }

  // Of a FIFO queue one at a time: two of one group must not run beside each other.
  get #most(): number {
    return this.queue.isFifo ? 1 : MOST_RECEIVED;
  }

  async #fill(limit: number, seconds: Seconds): Promise<void> {
    const lease = Math.ceil(seconds);
    this.#news = false;
    await this.#refresh(lease);
    let bytes = 0;
    // A poll under way would have brought what there is.
    while (this.#kept.length < limit && bytes < MOST_BYTES && this.#poll === undefined) {
      const wanted = Math.min(limit - this.#kept.length, this.#most);
      const received = await this.#receive(wanted, lease);
      this.#keep(received);
      for (const { payload } of received) bytes += payload.length;
      if (received.length < wanted) break;
    }
  }

  #listen(): void {
    // On a FIFO queue, what is received and not run has cost a try.
    if (this.#poll !== undefined || this.queue.isFifo) return;
    const poll = new AbortController();
    this.#poll = poll;
    this.#receive(1, this.#lease, { waits: LONGEST_POLL, signal: poll.signal }).then(
      (received) => this.#polled(received),
      (error: unknown) => {
        this.#poll = undefined;
        this.#tell(error);
      },
    );
  }

  #polled(received: readonly Reservation[]): void {
    this.#poll = undefined;
    this.#keep(received);
    if (received.length > 0) {
      this.#news = this.#listeners.size === 0;
      this.#tell();
    } else if (this.#listeners.size > 0) this.#listen();
  }

  #tell(error?: unknown): void {
    for (const listener of [...this.#listeners]) {
      this.#listeners.delete(listener);
      listener(error);
    }
  }

  #keep(received: readonly Reservation[]): void {
    if (received.length === 0) return;
    this.#kept.push(...received);
    this.#returning?.cancel();
    this.#returning = this.#clock.after(Math.min(LONGEST_KEPT, this.#lease / 3) * 1000, () => void this.#return());
  }

  // What waits here until its worker is alone must not be handed to another meanwhile; what was polled for under another
  // lease gets the one that was asked for.
  async #refresh(lease: Seconds): Promise<void> {
    if (this.#kept.length === 0) return;
    this.#returning?.cancel();
    const now = sharedNow(this.#clock);
    const ours = (reservation: Reservation): boolean => Holding.of(reservation)?.isOurs(now) === true;
    this.#kept = this.#kept.filter(ours);
    const stale = this.#kept.filter((reservation) => {
      const left = Holding.of(reservation)!.leaseEnd - now;
      return left < lease * 1000 * (1 - STALE) || left > lease * 1000;
    });
    const kept = this.#kept;
    this.#kept = [];
    const lost = new Set<Reservation>();
    const hidden = await this.queue.hide(
      stale.map((reservation) => ({ receipt: Holding.of(reservation)!.token.receipt, seconds: lease })),
      'leases were not renewed',
    );
    hidden.forEach(({ done }, index) => {
      const reservation = stale[index]!;
      if (done) Holding.of(reservation)!.leaseUntil(now + lease * 1000);
      else lost.add(reservation);
    });
    const left = kept.filter((reservation) => !lost.has(reservation));
    this.#kept.unshift(...left);
    this.#keep(this.#kept.splice(0));
  }

  async #receive(
    limit: number,
    lease: Seconds,
    poll: { readonly waits?: Seconds; readonly signal?: AbortSignal } = {},
  ): Promise<readonly Reservation[]> {
    const askedAt = sharedNow(this.#clock);
    const messages = await this.queue.receive({ limit, lease, ...poll });
    // A long poll may have waited: its lease began when SQS handed something out, an answer's way ago.
    const receivedAt = poll.waits === undefined ? askedAt : sharedNow(this.#clock) - Math.min(1000, lease * 100);
    const early: { readonly message: Message; readonly delay: Seconds }[] = [];
    const received: Reservation[] = [];
    const now = this.queue.caller.link.time.now();
    for (const message of messages) {
      const delay = remainingDelay(message, now);
      if (delay > 0) early.push({ message, delay });
      else received.push(this.#reservation(message, receivedAt, lease));
    }
    await this.#delayAgain(early);
    return received;
  }

  #reservation(message: Message, receivedAt: number, lease: Seconds): Reservation {
    const sentAgain = { group: message.Attributes?.MessageGroupId, attributes: attributesOf(message) };
    const holding = Holding.receive(message.ReceiptHandle ?? '', receivedAt, lease, sentAgain);
    return { queue: this.queue.name, ...incoming(message, this.queue.isFifo), token: holding.token };
  }

  // First sent anew, then deleted. Whatever fails on the way, the old message comes back by itself, and is delayed then.
  async #delayAgain(early: readonly { readonly message: Message; readonly delay: Seconds }[]): Promise<void> {
    if (early.length === 0) return;
    const sent = await this.queue.send(
      early.map(({ message, delay }) =>
        entryOf({
          payload: message.Body ?? '',
          delay,
          group: message.Attributes?.MessageGroupId,
          attributes: attributesOf(message),
        }),
      ),
    );
    const receipts = early.flatMap(({ message }, index) => (sent[index]!.done ? [message.ReceiptHandle ?? ''] : []));
    await this.queue.delete(receipts);
  }

  async #return(): Promise<void> {
    this.#returning?.cancel();
    this.#news = false;
    const kept = this.#kept.splice(0);
    if (kept.length === 0) return;
    if (this.queue.isFifo) {
      const held = kept.map((reservation) => ({ receipt: Holding.of(reservation)!.token.receipt, seconds: 0 }));
      await this.queue.hide(held, 'jobs were not given back').catch(() => undefined);
      return;
    }
    const now = sharedNow(this.#clock);
    const back = kept.filter((reservation) => Holding.of(reservation)!.claim(now) === 'open');
    const entries = back.map(({ payload, counters, token }) => {
      const { group, attributes } = token as Holding['token'];
      return entryOf({ payload: textWith(payload, afterFreeRelease(counters)), delay: 0, group, attributes });
    });
    try {
      const sent = await this.queue.send(entries);
      await this.queue.delete(
        back.flatMap((one, index) => (sent[index]!.done ? [Holding.of(one)!.token.receipt] : [])),
      );
    } catch {
      // They come back when their leases end.
    }
  }
}
