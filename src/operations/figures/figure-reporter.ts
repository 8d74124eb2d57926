/**
 * Brings the counts of this process for a connection to the store, where those of all processes are summed up: every ten seconds,
 * and at the end.
 *
 * No job waits for it. Counts that did not arrive are sent again, and added only once; a process that is killed loses those it
 * had not yet sent.
 */
import { timeOf, within, type Clock, type Milliseconds, type Timer } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { Logger } from '../../base/logger';
import { pagesOf } from '../../base/collections';
import type { Connection } from '../../connections/contract';
import { isStoreAway } from '../../connections/errors';
import type { Sums } from '../../connections/record-store';
import { uuidv7 } from '../../payload/uuid';
import {
  classesName,
  classKey,
  classText,
  DAY,
  figureName,
  LONGEST,
  RESOLUTIONS,
  spanAt,
  DISPATCHED,
  type Counts,
  type JobCounts,
  type JobCounters,
} from './job-counters';
import type { OperationsConnection } from '../../connections/application';
import type { QueueSampler } from './queue-sampler';

const INTERVAL: Milliseconds = 10_000;

/** How long a stopping worker waits for its last figures. */
const LAST_WORDS: Milliseconds = 2000;

/** Amounts in one call, if it covers several classes: some 2 ms of the slowest store. */
const MOST_AMOUNTS = 100;

export interface FigureReporterParts {
  readonly connection: Connection;
  /** The connection that keeps the figures. */
  readonly operations: OperationsConnection;
  readonly counters: JobCounters;
  readonly sampler: QueueSampler;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the log says that the store does not answer. */
  readonly isKnown: () => boolean;
}

export class FigureReporter {
  readonly #parts: FigureReporterParts;
  /** New at each start of a process: it tells the store which updates it already has. */
  readonly #source = uuidv7();
  #sequence = 0;
  /** Updates that may not have arrived in the store. */
  readonly #pending: { readonly sums: readonly Sums[]; readonly sequence: number }[] = [];
  /** Classes that are already listed for this day. */
  readonly #listed = new Set<string>();
  #day = 0;
  #timer: Timer | undefined;
  #reporting: Promise<void> = Promise.resolve();
  #isTroubled = false;
  #isOver = false;

  constructor(parts: FigureReporterParts) {
    this.#parts = parts;
    this.#arm();
  }

  /** Sends the rest, and waits up to two seconds for that. Never rejects. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#timer?.cancel();
    const reported = this.#reporting.then(() => this.#report());
    await within(this.#parts.clock, LAST_WORDS, reported).catch(() => undefined);
  }

  #arm(): void {
    this.#timer = this.#parts.clock.after(INTERVAL, () => {
      this.#reporting = this.#report().finally(() => {
        if (!this.#isOver) this.#arm();
      });
    });
  }

  /** Never rejects. */
  async #report(): Promise<void> {
    const { operations, sampler, clock } = this.#parts;
    try {
      await this.#sendPending();
      const now = await timeOf(operations, clock);
      this.#takeNews(now);
      if (!this.#isOver) await sampler.sample(now, (sampled) => this.#take([sampled], now));
      await this.#sendPending();
      this.#isTroubled = false;
    } catch (error) {
      this.#tell(error);
    }
  }

  #takeNews(now: Milliseconds): void {
    const { connection, counters } = this.#parts;
    const counted = counters.news('store', connection.name).map((one) => ({ ...one, counts: ofWorkers(one.counts) }));
    const news = counted.filter(({ counts }) => Object.keys(counts).length > 0);
    for (const page of pagesOf(news, () => 0, MOST_AMOUNTS, Infinity, amountsOf)) this.#take(page, now);
  }

  #take(news: readonly JobCounts[], now: Milliseconds): void {
    const sums = news.flatMap((one) => {
      const key = classKey(one);
      return RESOLUTIONS.map((resolution) => ({
        name: figureName(resolution, spanAt(now, resolution.step), key),
        amounts: one.counts,
        keep: resolution.keep,
      }));
    });
    const day = spanAt(now, DAY);
    if (day !== this.#day) this.#listed.clear();
    this.#day = day;
    const unlisted = news.map(classText).filter((text) => !this.#listed.has(text));
    for (const text of unlisted) this.#listed.add(text);
    const listed = Object.fromEntries(unlisted.map((text) => [text, 1]));
    if (unlisted.length > 0) sums.push({ name: classesName(day), amounts: listed, keep: LONGEST + DAY });
    this.#sequence += 1;
    this.#pending.push({ sums, sequence: this.#sequence });
  }

  async #sendPending(): Promise<void> {
    const { records } = this.#parts.operations;
    for (let first = this.#pending[0]; first !== undefined; first = this.#pending[0]) {
      try {
        await records.add(first.sums, this.#source, first.sequence);
      } catch (error) {
        // An update that is refused for good must not hold up all others.
        if (!isStoreAway(error)) this.#pending.shift();
        throw error;
      }
      this.#pending.shift();
    }
  }

  /** Logs a trouble once, until it works again. */
  #tell(error: unknown): void {
    const { connection, operations, logger, isKnown } = this.#parts;
    if (this.#isTroubled || (isStoreAway(error) && isKnown())) return;
    this.#isTroubled = true;
    const message = `Outcomes of jobs of '${connection.name}' could not be counted in '${operations.name}'; trying again: ${errorMessage(error)}`;
    logger.warn({ connection: operations.name }, message);
  }
}

const amountsOf = ({ counts }: JobCounts): number => Object.keys(counts).length * RESOLUTIONS.length;

// Dispatches are left out: processes without workers dispatch too, but do not report, so the sum would be incomplete.
function ofWorkers(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([field]) => field !== DISPATCHED));
}
