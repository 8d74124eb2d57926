/** The unique keys that jobs on their way into a table would take. */
import type { Seconds } from '../../../base/clock';
import type { UniqueTie } from '../../../payload/ties';
import type { Pushed } from '../../contract';
import type { Holders, QueuedJob } from '../dialect';
import { raw, type Sql, sql } from '../statement';
import { LATEST } from './columns';
import { keyOf } from './mysql-names';

export interface Claim {
  /** Tells it from the other claims of a call. */
  readonly place: number;
  readonly key: string;
  /** The id of the job, as it stands in the table. */
  readonly holder: string;
  readonly for?: Seconds | undefined;
  /** The job holds the key while it has so many attempts at most; absent: for as long as it is there. */
  readonly attempts?: number | undefined;
}

export function claimOf(place: number, { key, until, for: most }: UniqueTie, id: string, attempts: number): Claim {
  const longest = most === undefined ? undefined : Math.min(most, LATEST);
  return { place, key, holder: keyOf(id), for: longest, attempts: until === 'start' ? attempts : undefined };
}

/** By their keys: so of two that want the same ones, neither has what the other waits for. */
export const inOrder = <T extends Claim>(claims: readonly T[]): readonly T[] =>
  claims.toSorted((a, b) => (a.key < b.key ? -1 : 1));

/** A job that goes in if a condition holds. */
export interface Candidate {
  readonly job: QueuedJob;
  readonly condition: Sql;
}

/** Of the jobs of a call: of each key, the first one claims it. */
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

  /** For statements behind those that have set `@onqueue_held`. */
  get candidates(): readonly Candidate[] {
    return this.jobs.flatMap((job, place) => {
      if (job.debounce !== undefined) return [];
      if (job.tie === undefined) return [{ job, condition: raw('TRUE') }];
      return this.#places.get(job.tie.key) === place ? [{ job, condition: isFree(sql`${place}`) }] : [];
    });
  }

  /** Undefined: all are simply queued. @param held the holders of keys @param text what stood in `@onqueue_held` */
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

/** `@onqueue_held` is made of `,` and a place, `:` and the id of the holder in hexadecimal digits. */
export const isFree = (place: Sql): Sql => sql`LOCATE(CONCAT(',', ${place}, ':'), @onqueue_held) = 0`;
