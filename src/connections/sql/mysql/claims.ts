/** The unique keys that pushed jobs want to take. */
import type { Seconds } from '../../../base/clock';
import type { UniqueTie } from '../../../payload/ties';
import { CallKeys } from '../call-keys';
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

export class Claims extends CallKeys {
  readonly all: readonly Claim[];

  constructor(jobs: readonly QueuedJob[]) {
    super(jobs);
    const claims = [...this.firsts.values()].map((place) => {
      const { tie, uuid, counters } = jobs[place]!;
      return claimOf(place, tie!, uuid, counters.attempts);
    });
    this.all = inOrder(claims);
  }

  /** For statements that come after `@onqueue_held` was set. */
  get candidates(): readonly Candidate[] {
    return this.jobs.flatMap((job, place) => {
      if (!this.isAsked(job, place)) return [];
      return [{ job, condition: job.tie === undefined ? raw('TRUE') : isFree(sql`${place}`) }];
    });
  }

  /**
   * Undefined if all jobs were simply queued.
   * @param text the value of `@onqueue_held`
   * @param held the holders of keys, by key, if they are not in the text
   */
  holdersIn(text: string, held = this.#heldIn(text)): Holders | undefined {
    return this.holders(held, idsIn(text, ';'));
  }

  #heldIn(text: string): ReadonlyMap<string, string> {
    return new Map(idsIn(text, ',').map(([place, id]) => [this.jobs[Number(place)]!.tie!.key, id]));
  }
}

/** The entries of `@onqueue_held` with this mark: the indexes of jobs with the ids of others. */
function idsIn(text: string, mark: ',' | ';'): readonly (readonly [place: string, id: string])[] {
  const entries = text.matchAll(new RegExp(`${mark}(\\d+):([\\dA-F]*)`, 'g'));
  return [...entries].map(([, place, digits]) => [place!, Buffer.from(digits!, 'hex').toString()]);
}

/**
 * In `@onqueue_held` each key that is taken has an entry: `,`, the index of the job, `:`, and the id of the holder in
 * hexadecimal digits.
 */
export const isFree = (place: Sql): Sql => sql`LOCATE(CONCAT(',', ${place}, ':'), @onqueue_held) = 0`;
