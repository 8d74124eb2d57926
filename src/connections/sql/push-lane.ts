/**
 * Jobs on their way into the tables. What is pushed while a call is under way travels together in the next one: a commit
 * costs more than the jobs in it, and wakes the workers once.
 */
import { ConnectionClosedError, QueueUnavailableError } from '../errors';
import { withConsequence } from '../../base/define-error';
import { MOST_BYTES, MOST_JOBS } from '../../base/pages';
import { packetTooLarge } from './errors';
import type { QueuedJob } from './dialect';

interface Load {
  readonly jobs: readonly QueuedJob[];
  readonly consequence: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export type Send = (jobs: readonly QueuedJob[], consequence: string) => Promise<void>;

export class PushLane {
  readonly #connection: string;
  readonly #send: Send;
  readonly #waiting: Load[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  /** @param connection its name in the configuration */
  constructor(connection: string, send: Send) {
    this.#connection = connection;
    this.#send = send;
  }

  /** What stands in line goes in first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /**
   * Resolves when the store has confirmed all of them, in pages.
   *
   * @throws E_DATABASE_PACKET_TOO_LARGE of those that are too long by themselves, which it tells; the others are queued
   */
  async pushAll(length: number, pages: Iterable<readonly QueuedJob[]>): Promise<void> {
    const refused: number[] = [];
    let refusal: ReturnType<typeof packetTooLarge> | undefined;
    let place = 0;
    const push = async (page: readonly QueuedJob[]): Promise<void> => {
      const before = place === 0 ? '' : `the first ${place} of ${length} jobs were queued, `;
      const consequence = `${before}${length - place === 1 ? 'the job was' : 'the other jobs were'} not queued`;
      try {
        await this.push(page, consequence);
      } catch (error) {
        if (!packetTooLarge.is(error)) throw error;
        if (page.length > 1) {
          // The server takes less at once than a page is long, or one of them is too long by itself.
          const half = Math.ceil(page.length / 2);
          await push(page.slice(0, half));
          await push(page.slice(half));
          return;
        }
        refusal ??= error;
        refused.push(place);
      }
      place += page.length;
    };
    for (const page of pages) await push(page);
    if (refusal === undefined) return;
    const consequence = `${refused.length} of ${length} jobs ${refused.length === 1 ? 'was' : 'were'} not queued`;
    throw packetTooLarge({ ...refusal.facts, refused, ...(length > 1 && { consequence }) });
  }

  /** Resolves when the store has confirmed all of them. They go in together, whatever else travels with them. */
  push(jobs: readonly QueuedJob[], consequence: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new ConnectionClosedError(this.#connection, 'push');
      this.#waiting.push({ jobs, consequence, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // By a microtask, so that what is dispatched at once travels at once.
    await Promise.resolve();
    for (let loads = this.#next(); loads.length > 0; loads = this.#next()) await this.#carry(loads);
    this.#running = undefined;
  }

  #next(): readonly Load[] {
    let jobs = 0;
    let bytes = 0;
    let count = 0;
    for (const load of this.#waiting) {
      jobs += load.jobs.length;
      bytes += load.jobs.reduce((sum, job) => sum + bytesOf(job), 0);
      // One that may be refused for itself must not take others with it.
      const alone = load.jobs.some(({ unique }) => unique);
      if (count > 0 && (alone || jobs > MOST_JOBS || bytes > MOST_BYTES)) break;
      count += 1;
      if (alone) break;
    }
    return this.#waiting.splice(0, count);
  }

  async #carry(loads: readonly Load[]): Promise<void> {
    const [first] = loads;
    if (first === undefined) return;
    const behind = this.#waiting.length;
    try {
      await this.#send(
        loads.flatMap(({ jobs }) => jobs),
        first.consequence,
      );
      for (const { resolve } of loads) resolve();
    } catch (error) {
      if (loads.length > 1 && isRefusal(error)) {
        for (const load of loads) await this.#carry([load]);
        return;
      }
      for (const { reject, consequence } of loads) {
        reject(withConsequence(error, consequence));
      }
      if (!hasWaited(error)) return;
      // Page after page, each up to the deadline, the last would wait for many times that.
      const { facts, cause } = error;
      for (const { reject, consequence } of this.#waiting.splice(0, behind)) {
        reject(new QueueUnavailableError({ ...facts, consequence, uncertain: false }, { cause }));
      }
    }
  }
}

const bytesOf = ({ payload }: QueuedJob): number => Buffer.byteLength(payload);

/** It was asked until the deadline; so long everybody has waited who stood in line when it was sent. */
const hasWaited = (error: unknown): error is QueueUnavailableError =>
  error instanceof QueueUnavailableError && error.facts.deadline !== undefined;

/** Nothing was written, and one of them may be the reason. */
const isRefusal = (error: unknown): boolean =>
  !(error instanceof QueueUnavailableError) ||
  (error.facts.refused === true && error.facts.uncertain !== true && !hasWaited(error));
