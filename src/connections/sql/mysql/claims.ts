/** The unique keys that pushed jobs want to take. */
import type { Seconds } from '../../../base/clock';
import type { UniqueTie } from '../../../payload/ties';
import type { Pushed } from '../../contract';
import type { Holders, QueuedJob } from '../dialect';
import { raw, type Sql, sql } from '../statement';
import { LATEST } from './columns';
import { keyOf } from './mysql-names';

export interface Claim {
  /** The index of the job in its call. */
  readonly place: number;
  readonly key: string;
  /** The id of the job, as stored in the table. */
  readonly holder: string;
  readonly for?: Seconds | undefined;
  /** The job holds the key until it has more attempts than this; absent: for as long as it exists. */
  readonly attempts?: number | undefined;
}

export function claimOf(place: number, { key, until, for: most }: UniqueTie, id: string, attempts: number): Claim {
  const longest = most === undefined ? undefined : Math.min(most, LATEST);
  return { place, key, holder: keyOf(id), for: longest, attempts: until === 'start' ? attempts : undefined };
}

/** Ordered by key, so that two calls that want the same keys do not deadlock. */
export const inOrder = <T extends Claim>(claims: readonly T[]): readonly T[] =>
  claims.toSorted((a, b) => (a.key < b.key ? -1 : 1));

/** A job that is inserted if a condition holds. */
export interface Candidate {
  readonly job: QueuedJob;
  readonly condition: Sql;
}

/** The claims of a call's jobs. Of several jobs with one key, only the first claims it. */
export class Claims {
  readonly jobs: readonly QueuedJob[];
  readonly all: readonly Claim[];
  readonly #places = new Map<string, number>();

  constructor(jobs: readonly QueuedJob[]) {
    this.jobs = jobs;
    const claims: Claim[] = [];
    for (const [place, { tie, uuid, counters }] of jobs.entries()) {
      if (tie === undefined || this.#places.has(tie.key)) continue;
      this.#places.set(tie.key, place);
      claims.push(claimOf(place, tie, uuid, counters.attempts));
    }
    this.all = inOrder(claims);
  }

  /** For statements that come after `@onqueue_held` was set. */
  get candidates(): readonly Candidate[] {
    return this.jobs.flatMap((job, place) => {
      if (job.debounce !== undefined) return [];
      if (job.tie === undefined) return [{ job, condition: raw('TRUE') }];
      return this.#places.get(job.tie.key) === place ? [{ job, condition: isFree(sql`${place}`) }] : [];
    });
  }

  /**
   * Undefined if all jobs were simply queued.
   * @param held the holders of keys
   * @param text the value of `@onqueue_held`
   */
  holders(held: ReadonlyMap<string, string>, text: string): Holders | undefined {
    const holders = new Map<number, Exclude<Pushed, 'queued'>>();
    for (const [, place, id] of text.matchAll(/;(\d+):([\dA-F]*)/g))
      holders.set(Number(place), { replaced: idIn(id!) });
    for (const [place, { tie }] of this.jobs.entries()) {
      if (tie === undefined) continue;
      const first = this.#places.get(tie.key)!;
      const duplicate = held.get(tie.key) ?? (first === place ? undefined : this.jobs[first]!.uuid);
      if (duplicate !== undefined) holders.set(place, { duplicate });
    }
    return holders.size === 0 ? undefined : holders;
  }

  /** @param text what stood in `@onqueue_held` */
  holdersIn(text: string): Holders | undefined {
    const held = [...text.matchAll(/,(\d+):([\dA-F]*)/g)];
    return this.holders(new Map(held.map(([, place, id]) => [this.jobs[Number(place)]!.tie!.key, idIn(id!)])), text);
  }
}

const idIn = (digits: string): string => Buffer.from(digits, 'hex').toString();

/**
 * In `@onqueue_held` each key that is taken has an entry: `,`, the index of the job, `:`, and the id of the holder in
 * hexadecimal digits.
 */
export const isFree = (place: Sql): Sql => sql`LOCATE(CONCAT(',', ${place}, ':'), @onqueue_held) = 0`;
