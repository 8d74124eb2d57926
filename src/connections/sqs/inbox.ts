/**
 * Where jobs come out of one queue. A worker that waits does so by a long poll; the job that it brings is handed out by the
 * next reserve, or goes back at no cost when nobody takes it.
 *
 * An idle worker costs a request in twenty seconds: the poll goes on while the worker looks whether there is something to do.
 */
import type { Message } from '@aws-sdk/client-sqs';
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import { MOST_BYTES } from '../../base/pages';
import type { Reservation } from '../contract';
import { givenBack } from '../given-back';
import type { Wake } from '../kit/waiters';
import { Holding, sharedNow } from './holding';
import { attributesOf, entryOf, incoming, remainingDelay } from './message';
import { renew } from './renew';
import { settle } from './settle';
import type { Receive, SqsQueue } from './sqs-queue';

/** What SQS gives at once. */
const MOST_RECEIVED = 10;

/** The longest that SQS waits before it says that there is nothing. */
const LONGEST_POLL: Seconds = 20;

/** A worker that was woken asks much sooner than this. */
const LONGEST_KEPT: Seconds = 5;

/** Part of a lease that may be over before it is renewed for a job that is handed out. */
const STALE = 1 / 3;

export class Inbox {
  readonly queue: SqsQueue;
  readonly #clock: Clock;
  readonly #lease: Seconds;
  /** What a poll has brought, until somebody takes it, or it goes back. */
  #kept: Reservation | undefined;
  #returning: Timer | undefined;
  #poll: AbortController | undefined;
  readonly #listeners = new Set<Wake>();
  #waiters = 0;

  /** @param lease for what a poll brings */
  constructor(queue: SqsQueue, clock: Clock, lease: Seconds) {
    this.queue = queue;
    this.#clock = clock;
    this.#lease = Math.ceil(lease);
  }

  /** Holds nothing, and nobody waits for anything. */
  get isIdle(): boolean {
    return this.#kept === undefined && this.#waiters === 0 && this.#poll === undefined;
  }

  /** Up to `limit` jobs, each under a lease of `seconds` from about now. @throws only if there are none */
  async take(limit: number, seconds: Seconds): Promise<readonly Reservation[]> {
    const lease = Math.ceil(seconds);
    const taken = await this.#takeKept(lease);
    let bytes = 0;
    // A poll under way would have brought what there is.
    while (taken.length < limit && bytes < MOST_BYTES && this.#poll === undefined) {
      // Of a FIFO queue one at a time: two of one group must not run beside each other.
      const wanted = Math.min(limit - taken.length, this.queue.isFifo ? 1 : MOST_RECEIVED);
      try {
        const received = await this.#receive({ limit: wanted, lease });
        taken.push(...received);
        for (const { payload } of received) bytes += payload.length;
        if (received.length < wanted) break;
      } catch (error) {
        if (taken.length === 0) throw error;
        break;
      }
    }
    return taken;
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

  /** Wakes once something comes, at once if it has come already, or with the error of the poll. Gives what ends it. */
  listen(wake: Wake): () => void {
    this.#listeners.add(wake);
    if (this.#kept !== undefined) wake();
    // On a FIFO queue, what is received and not run has cost a try.
    else if (this.#poll === undefined && !this.queue.isFifo) void this.#pollOn();
    return () => void this.#listeners.delete(wake);
  }

  /** Gives back what was not handed out. */
  async close(): Promise<void> {
    this.#poll?.abort();
    await this.#giveBack();
  }

  async #pollOn(): Promise<void> {
    const poll = new AbortController();
    this.#poll = poll;
    let error: unknown;
    try {
      while (this.#kept === undefined && this.#listeners.size > 0) {
        [this.#kept] = await this.#receive({ limit: 1, lease: this.#lease, waits: LONGEST_POLL, signal: poll.signal });
      }
    } catch (thrown) {
      error = thrown;
    }
    this.#poll = undefined;
    if (this.#kept !== undefined) {
      const longest = Math.min(LONGEST_KEPT, this.#lease / 3) * 1000;
      this.#returning = this.#clock.after(longest, () => void this.#giveBack());
    }
    for (const wake of this.#listeners) wake(error);
  }

  // What was polled for under another lease gets the one that is asked for.
  async #takeKept(lease: Seconds): Promise<Reservation[]> {
    const kept = this.#keptNoLonger();
    if (kept === undefined) return [];
    const now = sharedNow(this.#clock);
    const left = Holding.of(kept)!.leaseEnd - now;
    if (left >= lease * 1000 * (1 - STALE) && left <= lease * 1000) return [kept];
    const [result] = await renew(this.queue, [kept], lease, now).catch(() => []);
    return result === 'renewed' ? [kept] : [];
  }

  // What fails comes back when its lease ends.
  async #giveBack(): Promise<void> {
    const kept = this.#keptNoLonger();
    if (kept === undefined) return;
    await settle([givenBack(kept)], () => this.queue, sharedNow(this.#clock));
  }

  #keptNoLonger(): Reservation | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    this.#returning?.cancel();
    return kept;
  }

  async #receive(receive: Receive): Promise<readonly Reservation[]> {
    const { lease, waits } = receive;
    const askedAt = sharedNow(this.#clock);
    const messages = await this.queue.receive(receive);
    // A long poll may have waited: its lease began when SQS handed something out, an answer's way ago.
    const receivedAt = waits === undefined ? askedAt : sharedNow(this.#clock) - Math.min(1000, lease * 100);
    const now = this.queue.caller.link.time.now();
    const early = messages.filter((message) => remainingDelay(message, now) > 0);
    if (early.length > 0) await this.#delayAgain(early, now);
    return messages
      .filter((message) => !early.includes(message))
      .map((message) => this.#reservation(message, receivedAt, lease));
  }

  #reservation(message: Message, receivedAt: Milliseconds, lease: Seconds): Reservation {
    const sentAgain = { group: message.Attributes?.MessageGroupId, attributes: attributesOf(message) };
    const { token } = Holding.receive(message.ReceiptHandle ?? '', receivedAt, lease, sentAgain);
    return { queue: this.queue.name, ...incoming(message, this.queue.isFifo), token };
  }

  // First sent anew, then deleted. If something fails on the way the old message comes back by itself.
  async #delayAgain(messages: readonly Message[], now: Milliseconds): Promise<void> {
    const sent = await this.queue.send(
      messages.map((message) =>
        entryOf({
          payload: message.Body ?? '',
          delay: remainingDelay(message, now),
          group: message.Attributes?.MessageGroupId,
          attributes: attributesOf(message),
        }),
      ),
    );
    const receipts = messages.map(({ ReceiptHandle = '' }) => ReceiptHandle);
    await this.queue.delete(receipts.filter((_, index) => sent[index]!.done));
  }
}
