/**
 * Which jobs run apart: those whose next crash would be their last.
 *
 * A job that kills its process takes its neighbours with it, and they count a crash as well. Alone, the one to blame is
 * found, and nobody else is taken for poison.
 */
import type { JobDefinition } from '../job/definition';
import { DEFAULT_MAX_CRASHES } from '../job/resolve-options';
import type { Counters } from '../payload/counters';

export class LastChance {
  #crashes: number;

  /** @param definitions all jobs that are known: the store, which knows none of them, goes by the strictest */
  constructor(definitions: readonly JobDefinition[]) {
    const limits = definitions.map(({ options }) => options.maxCrashes ?? DEFAULT_MAX_CRASHES);
    this.#crashes = beforeTheLast(Math.min(DEFAULT_MAX_CRASHES, ...limits.filter((limit) => limit > 0)));
  }

  /** Jobs with so many crashes or more run apart. */
  get crashes(): number {
    return this.#crashes;
  }

  /** Whether a job that was handed out among others should have come alone: the store does not know how few crashes it may have. */
  hasMissed({ crashes }: Counters, maxCrashes: number): boolean {
    return crashes > 0 && maxCrashes > 0 && crashes < this.#crashes && crashes >= maxCrashes - 1;
  }

  /** From here on jobs that may crash no more than this run apart in time. */
  heed(maxCrashes: number): void {
    this.#crashes = Math.min(this.#crashes, beforeTheLast(maxCrashes));
  }
}

// A job that never crashed cannot be told from any other: one with `maxCrashes: 1` runs with the others.
function beforeTheLast(maxCrashes: number): number {
  return Math.max(1, maxCrashes - 1);
}
