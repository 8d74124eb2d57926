/**
 * Jobs on their way into the tables. What is pushed while a call is under way travels together in the next one: a commit
 * costs more than the jobs in it, and wakes the workers once.
 */
import { QueueUnavailableError } from '../../errors';
import { MOST_BYTES, MOST_JOBS } from '../../../queue/pages';
import type { QueuedJob } from './dialect';

interface Load {
  readonly jobs: readonly QueuedJob[];
  readonly consequence: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export type Send = (jobs: readonly QueuedJob[], consequence: string) => Promise<void>;

export class PushLane {
  readonly #send: Send;
  readonly #waiting: Load[] = [];
  #running = false;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Resolves when the store has confirmed all of them. They go in together, whatever else travels with them. */
  push(jobs: readonly QueuedJob[], consequence: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ jobs, consequence, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    // By a microtask, so that what is dispatched at once travels at once.
    await Promise.resolve();
    for (let loads = this.#next(); loads.length > 0; loads = this.#next()) await this.#carry(loads);
    this.#running = false;
  }

  #next(): readonly Load[] {
    let jobs = 0;
    let bytes = 0;
    let count = 0;
    for (const load of this.#waiting) {
      jobs += load.jobs.length;
      bytes += load.jobs.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0);
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
        reject(error instanceof QueueUnavailableError ? error.withConsequence(consequence) : error);
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

/** It was asked until the deadline; so long everybody has waited who stood in line when it was sent. */
const hasWaited = (error: unknown): error is QueueUnavailableError =>
  error instanceof QueueUnavailableError && error.facts.deadline !== undefined;

/** Nothing was written, and one of them may be the reason. */
const isRefusal = (error: unknown): boolean =>
  !(error instanceof QueueUnavailableError) ||
  (error.facts.refused === true && error.facts.uncertain !== true && !hasWaited(error));
