/**
 * Where jobs come out of one queue: messages that were received and not handed out yet, and the long poll for the next one.
 *
 * An idle worker costs a request in twenty seconds: the poll goes on while the worker looks whether there is something to
 * do, and the next reserve hands out what it brings. What nobody takes goes back at no cost.
 */
import type { Message } from '@aws-sdk/client-sqs';
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import { MOST_BYTES } from '../../base/pages';
import { afterFreeRelease } from '../../payload/counters';
import type { Reservation } from '../contract';
import type { Wake } from '../kit/waiters';
import { Holding, sharedNow } from './holding';
import { attributesOf, entryOf, incoming, type MessageEntry, remainingDelay, textWith } from './message';
import { renew } from './renew';
import type { SqsQueue } from './sqs-queue';

/** What SQS gives at once. */
const MOST_RECEIVED = 10;

/** The longest that SQS waits before it says that there is nothing. */
const LONGEST_POLL: Seconds = 20;

/** A worker that was woken, or waits until it is alone, asks much sooner than this. */
const LONGEST_KEPT: Seconds = 5;

/** Part of a lease that may be over before it is renewed for a job that is handed out. */
const STALE = 1 / 3;

export class Inbox {
  readonly queue: SqsQueue;
  readonly #clock: Clock;
  readonly #lease: Seconds;
  #kept: Reservation[] = [];
  /** Something came that no waiter was told of. */
  #news = false;
  readonly #listeners = new Set<Wake>();
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
    const reservation = this.#kept.shift();
    if (this.#kept.length === 0) this.#returning?.cancel();
    return reservation;
  }

  /** Sees to it that up to `limit` jobs can be handed out, each under a lease of `seconds` from about now. */
  async fill(limit: number, seconds: Seconds): Promise<void> {
    const lease = Math.ceil(seconds);
    this.#filling += 1;
    this.#news = false;
    try {
      if (this.#kept.length > 0) await this.#refresh(lease);
      let bytes = 0;
      // A poll under way would have brought what there is.
      while (this.#kept.length < limit && bytes < MOST_BYTES && this.#poll === undefined) {
        // Of a FIFO queue one at a time: two of one group must not run beside each other.
        const wanted = Math.min(limit - this.#kept.length, this.queue.isFifo ? 1 : MOST_RECEIVED);
        const received = await this.#receive(wanted, lease);
        this.#keep(received);
        for (const { payload } of received) bytes += payload.length;
        if (received.length < wanted) break;
      }
    } finally {
      this.#filling -= 1;
    }
  }

  /** A worker waits here, now and then, until `exit`. */
  enter(): void {
    this.#waiters += 1;
  }

  /** The last to go ends the poll. What SQS hands out at that very moment comes back when its lease ends. */
  exit(): void {
    this.#waiters -= 1;
    if (this.#waiters === 0) this.#poll?.abort();
  }

  /** Woken once by what comes, or by the error of the poll; at once if something came already. `leave` ends it. */
  join(wake: Wake): void {
    if (this.#news) {
      this.#news = false;
      wake();
      return;
    }
    this.#listeners.add(wake);
    this.#listen();
  }

  leave(wake: Wake): void {
    this.#listeners.delete(wake);
  }

  /** Gives back what was not handed out. */
  async close(): Promise<void> {
    this.#poll?.abort();
    await this.#return();
  }

  #listen(): void {
    // On a FIFO queue, what is received and not run has cost a try.
    if (this.#poll !== undefined || this.queue.isFifo) return;
    const poll = new AbortController();
    this.#poll = poll;
    this.#receive(1, this.#lease, { waits: LONGEST_POLL, signal: poll.signal }).then(
      (received) => {
        this.#poll = undefined;
        this.#keep(received);
        if (received.length > 0) {
          this.#news = this.#listeners.size === 0;
          this.#wake();
        } else if (this.#listeners.size > 0) this.#listen();
      },
      (error: unknown) => {
        this.#poll = undefined;
        this.#wake(error);
      },
    );
  }

  #wake(error?: unknown): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const wake of listeners) wake(error);
  }

  #keep(received: readonly Reservation[]): void {
    if (received.length === 0) return;
    this.#kept.push(...received);
    this.#returning?.cancel();
    this.#returning = this.#clock.after(Math.min(LONGEST_KEPT, this.#lease / 3) * 1000, () => void this.#return());
  }

  // A job that waits until its worker is alone must not be handed to another meanwhile, and what was polled for under
  // another lease gets the one that was asked for.
  async #refresh(lease: Seconds): Promise<void> {
    this.#returning?.cancel();
    const kept = this.#kept.splice(0);
    const now = sharedNow(this.#clock);
    const isFresh = (reservation: Reservation): boolean => {
      const left = Holding.of(reservation)!.leaseEnd - now;
      return left >= lease * 1000 * (1 - STALE) && left <= lease * 1000;
    };
    const stale = kept.filter((reservation) => !isFresh(reservation));
    const results = await renew(this.queue, stale, lease, now);
    const lost = stale.filter((_, index) => results[index]?.done !== true);
    this.#keep([...kept.filter((reservation) => !lost.includes(reservation)), ...this.#kept.splice(0)]);
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
    const now = this.queue.caller.link.time.now();
    const early = messages.filter((message) => remainingDelay(message, now) > 0);
    await this.#delayAgain(early, now);
    return messages
      .filter((message) => !early.includes(message))
      .map((message) => this.#reservation(message, receivedAt, lease));
  }

  #reservation(message: Message, receivedAt: Milliseconds, lease: Seconds): Reservation {
    const sentAgain = { group: message.Attributes?.MessageGroupId, attributes: attributesOf(message) };
    const holding = Holding.receive(message.ReceiptHandle ?? '', receivedAt, lease, sentAgain);
    return { queue: this.queue.name, ...incoming(message, this.queue.isFifo), token: holding.token };
  }

  #delayAgain(messages: readonly Message[], now: Milliseconds): Promise<void> {
    const entries = messages.map((message) =>
      entryOf({
        payload: message.Body ?? '',
        delay: remainingDelay(message, now),
        group: message.Attributes?.MessageGroupId,
        attributes: attributesOf(message),
      }),
    );
    return this.#sendAnew(
      entries,
      messages.map(({ ReceiptHandle = '' }) => ReceiptHandle),
    );
  }

  async #return(): Promise<void> {
    const kept = this.#kept.splice(0);
    this.#returning?.cancel();
    if (this.queue.isFifo) {
      const held = kept.map((reservation) => ({ receipt: Holding.of(reservation)!.token.receipt, seconds: 0 }));
      await this.queue.hide(held, 'jobs were not given back').catch(() => undefined);
      return;
    }
    const now = sharedNow(this.#clock);
    const back = kept.filter((reservation) => Holding.of(reservation)!.claim(now) === 'open');
    const entries = back.map((reservation) => {
      const { group, attributes } = Holding.of(reservation)!.token;
      const payload = textWith(reservation.payload, afterFreeRelease(reservation.counters));
      return entryOf({ payload, delay: 0, group, attributes });
    });
    const receipts = back.map((reservation) => Holding.of(reservation)!.token.receipt);
    // What fails comes back when its lease ends.
    await this.#sendAnew(entries, receipts).catch(() => undefined);
  }

  // First sent anew, then deleted. If something fails on the way the old message comes back by itself.
  async #sendAnew(entries: readonly MessageEntry[], receipts: readonly string[]): Promise<void> {
    const sent = await this.queue.send(entries);
    await this.queue.delete(receipts.filter((_, index) => sent[index]!.done));
  }
}
