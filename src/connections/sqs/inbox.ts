/**
 * Receives the jobs of one queue. A worker waits by a long poll; the next reserve hands out the job that it brings, or the
 * job goes back at no cost if nobody takes it.
 *
 * An idle worker costs one request in twenty seconds: the poll goes on while the worker checks whether there is something to
 * do.
 */
import type { Message } from '@aws-sdk/client-sqs';
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import { MOST_BYTES } from '../../base/collections';
import type { Reservation } from '../contract';
import { givenBack, type Wake } from '../kit/connection';
import { Holding, sharedNow, attributesOf, entryOf, incoming, LONGEST_LEASE, remainingDelay } from './message';
import { renew, settle } from './settle';
import type { Receive, SqsQueue } from './queue';

/** Most messages that SQS returns at once. */
const MOST_RECEIVED = 10;

/** The longest that SQS waits before it reports that there is nothing. */
const LONGEST_POLL: Seconds = 20;

/** A worker that was woken asks much sooner than this, and one that waits comes back sooner. */
const LONGEST_KEPT: Seconds = 5;

/** The whole seconds for which SQS is asked to hide a message. It hides none for longer. */
const wholeLease = (seconds: Seconds): Seconds => Math.min(Math.ceil(seconds), LONGEST_LEASE);

/** Part of a lease that may be over before it is renewed for a job that is handed out. */
const STALE = 1 / 3;

export class Inbox {
  readonly queue: SqsQueue;
  readonly #clock: Clock;
  readonly #lease: Seconds;
  /** The job that a poll has brought, until somebody takes it or it goes back. */
  #kept: Reservation | undefined;
  #returning: Timer | undefined;
  #poll: AbortController | undefined;
  readonly #listeners = new Set<Wake>();
  #lonely: Timer | undefined;

  /** @param lease the lease of jobs that a poll brings */
  constructor(queue: SqsQueue, clock: Clock, lease: Seconds) {
    this.queue = queue;
    this.#clock = clock;
    this.#lease = wholeLease(lease);
  }

  /** Holds nothing, and nobody waits here. */
  get isIdle(): boolean {
    return this.#kept === undefined && this.#listeners.size === 0 && this.#poll === undefined;
  }

  /** Up to `limit` jobs, each with a lease of `seconds` from about now. @throws only if there are none */
  async take(limit: number, seconds: Seconds): Promise<readonly Reservation[]> {
    const lease = wholeLease(seconds);
    const taken = await this.#takeKept(lease);
    let bytes = 0;
    // A poll under way would have brought any job there is.
    while (taken.length < limit && bytes < MOST_BYTES && this.#poll === undefined) {
      // From a FIFO queue only one at a time: two jobs of one group must not run side by side.
      const wanted = Math.min(limit - taken.length, this.queue.isFifo ? 1 : MOST_RECEIVED);
      try {
        const { count, jobs } = await this.#receive({ limit: wanted, lease });
        taken.push(...jobs);
        for (const { payload } of jobs) bytes += payload.length;
        if (count < wanted) break;
      } catch (error) {
        if (taken.length === 0) throw error;
        break;
      }
    }
    return taken;
  }

  /**
   * Wakes once a job comes, at once if one has come already, or with the error of the poll. Returns the function that stops
   * listening.
   */
  listen(wake: Wake): () => void {
    this.#listeners.add(wake);
    this.#lonely?.cancel();
    if (this.#kept !== undefined) wake();
    // On a FIFO queue, a job that is received and not run costs a try.
    else if (this.#poll === undefined && !this.queue.isFifo) void this.#pollOn();
    return () => {
      this.#listeners.delete(wake);
      this.#lonely?.cancel();
      if (this.#listeners.size === 0) this.#lonely = this.#clock.after(LONGEST_KEPT * 1000, () => this.#poll?.abort());
    };
  }

  /** Gives back a job that was not handed out. One that SQS hands out at this very moment comes back when its lease ends. */
  async close(): Promise<void> {
    this.#lonely?.cancel();
    this.#poll?.abort();
    await this.#giveBack();
  }

  async #pollOn(): Promise<void> {
    let error: unknown;
    try {
      // A job that is still delayed wakes as well: a reserve sends ten of those on at once.
      for (let count = 0; count === 0 && this.#listeners.size > 0;) {
        // Each request leaves a trace on its signal. One for all would grow for as long as a worker is idle.
        const { signal } = (this.#poll = new AbortController());
        const received = await this.#receive({ limit: 1, lease: this.#lease, waits: LONGEST_POLL, signal });
        [this.#kept] = received.jobs;
        ({ count } = received);
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

  // A job that was polled for with another lease gets the one that is asked for.
  async #takeKept(lease: Seconds): Promise<Reservation[]> {
    const kept = this.#keptNoLonger();
    if (kept === undefined) return [];
    const now = sharedNow(this.#clock);
    const left = Holding.of(kept)!.leaseEnd - now;
    if (left >= lease * 1000 * (1 - STALE) && left <= lease * 1000) return [kept];
    const [result] = await renew(this.queue, [kept], lease, now).catch(() => []);
    return result === 'renewed' ? [kept] : [];
  }

  // If this fails, the job comes back when its lease ends.
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

  /** `count`: also those that are still delayed, and were sent on. */
  async #receive(receive: Receive): Promise<{ readonly count: number; readonly jobs: readonly Reservation[] }> {
    const { lease, waits } = receive;
    const askedAt = sharedNow(this.#clock);
    const messages = await this.queue.receive(receive);
    // A long poll may have waited: the lease began when SQS handed the job out, one answer's travel time ago.
    const receivedAt = waits === undefined ? askedAt : sharedNow(this.#clock) - Math.min(1000, lease * 100);
    const now = this.queue.caller.link.time.now();
    const early = messages.filter((message) => remainingDelay(message, now) > 0);
    if (early.length > 0) await this.#delayAgain(early, now);
    const due = messages.filter((message) => !early.includes(message));
    return { count: messages.length, jobs: due.map((message) => this.#reservation(message, receivedAt, lease)) };
  }

  #reservation(message: Message, receivedAt: Milliseconds, lease: Seconds): Reservation {
    const sentAgain = { group: message.Attributes?.MessageGroupId, attributes: attributesOf(message) };
    const { token } = Holding.receive(message.ReceiptHandle ?? '', receivedAt, lease, sentAgain);
    return { queue: this.queue.name, ...incoming(message, this.queue.isFifo), token };
  }

  // Sent again first, then deleted. If something fails in between, the old message comes back by itself.
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
