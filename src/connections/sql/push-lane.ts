/**
 * Jobs on their way into the tables. What is pushed while a call is under way travels together in the next one: a commit
 * costs more than the jobs in it, and wakes the workers once.
 */
import { withConsequence } from '../../base/define-error';
import { MOST_BYTES, MOST_JOBS, pagesOf } from '../../base/pages';
import { ConnectionClosedError, QueueUnavailableError } from '../errors';
import { Lane } from '../kit/lane';
import type { QueuedJob } from './dialect';
import { packetTooLarge } from './errors';

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
  readonly #lane = new Lane<Load>({ carry: (loads) => this.#carry(loads), fitting });
  #closed = false;

  /** @param connection its name in the configuration */
  constructor(connection: string, send: Send) {
    this.#connection = connection;
    this.#send = send;
  }

  /** What stands in line goes in first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#lane.settled;
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
      const refuse = (error: unknown): void => reject(withConsequence(error, consequence) as Error);
      this.#lane.send({ jobs, consequence, resolve, reject: refuse });
    });
  }

  async #carry(loads: readonly Load[]): Promise<void> {
    const [first] = loads;
    const jobs = loads.flatMap((load) => load.jobs);
    try {
      await this.#send(jobs, first!.consequence);
      for (const { resolve } of loads) resolve();
    } catch (error) {
      if (loads.length === 1 || !isRefusal(error)) throw error;
      for (const load of loads) await this.#carryAlone(load);
    }
  }

  /** One that is refused for itself takes no others with it. */
  async #carryAlone(load: Load): Promise<void> {
    try {
      await this.#carry([load]);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      load.reject(error);
    }
  }
}

/** How many of those that wait travel in one call: one that may be refused for itself goes alone. */
function fitting(loads: readonly Load[]): number {
  const bytesOf = ({ jobs }: Load): number => jobs.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0);
  const jobsOf = ({ jobs }: Load): number => (jobs.some(({ unique }) => unique) ? MOST_JOBS : jobs.length);
  const [page = []] = pagesOf(loads, bytesOf, MOST_JOBS, MOST_BYTES, jobsOf);
  return page.length;
}

/** Nothing was written, and one of the jobs may be the reason. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof QueueUnavailableError)) return true;
  const { refused, uncertain, deadline } = error.facts;
  return refused === true && uncertain !== true && deadline === undefined;
}
