/** Figures of two hours or more, as workers would have stored them: busy and quiet times, and an outage of the customer service. */
import type { Milliseconds } from '../../../src/base/clock';
import type { RecordStore, Sums } from '../../../src/connections/record-store';
import {
  classesName,
  classText,
  DAY,
  figureName,
  LONGEST,
  RESOLUTIONS,
  spanAt,
  WHOLE_QUEUE,
  classKey,
  bucketOf,
  OUTCOME_FIELDS,
  RUN_TIMES,
  sumOf,
  WAITS,
  type Counts,
  type Distribution,
  type JobClass,
} from '../../../src/operations/figures/job-counters';
import { SAMPLE } from '../../../src/operations/figures/queue-sampler';

export interface Traffic {
  readonly job: string;
  readonly queue: string;
  /** Average jobs per minute. */
  readonly rate: number;
  /** The usual duration of a run. */
  readonly took: Milliseconds;
  /** The percentage of runs that fail. */
  readonly failing: number;
}

/** When the customer service was away, in minutes before the present. */
const OUTAGE = { from: 52, to: 38, queue: 'sync' };
const LENGTH = 120;
/** The number of sums in one call. */
const PAGE = 40;
/** How much longer or shorter than usual runs take, and the percentage of such runs. */
const SPREAD = [
  { factor: 0.4, share: 15 },
  { factor: 1, share: 60 },
  { factor: 2.2, share: 20 },
  { factor: 6, share: 5 },
];

/** @param now the end of the figures, by the clock of the store @param length in minutes */
export async function putPastFigures(
  records: RecordStore,
  connection: string,
  traffic: readonly Traffic[],
  now: Milliseconds,
  length = LENGTH,
): Promise<void> {
  const sums = new Map<string, [Sums, ...Sums[]]>();
  const chance = seeded(7);
  const add = (added: readonly Sums[]): void => {
    for (const one of added) {
      const others = sums.get(one.name);
      if (others === undefined) sums.set(one.name, [one]);
      else others.push(one);
    }
  };
  for (let ago = length - 1; ago >= 1; ago -= 1) {
    const at = now - ago * 60_000;
    for (const one of traffic) {
      const { job, queue } = one;
      add(sumsAt(at, ago, { connection, queue, job }, runsOf(one, ago, chance)));
      add(sumsAt(at, ago, { connection, queue, job: WHOLE_QUEUE }, sampleOf(one, ago, chance)));
    }
  }
  const all = Array.from(sums.values(), (each) => ({ ...each[0], amounts: sumOf(each.map((one) => one.amounts)) }));
  for (let from = 0; from < all.length; from += PAGE) await records.add(all.slice(from, from + PAGE), 'past', from + 1);
}

function sumsAt(at: Milliseconds, ago: number, of: JobClass, amounts: Counts): Sums[] {
  const text = classText(of);
  return [
    // What is kept for a shorter time has expired.
    ...RESOLUTIONS.filter(({ keep }) => keep > ago * 60).map((resolution) => ({
      name: figureName(resolution, spanAt(at, resolution.step), classKey(of)),
      amounts,
      keep: resolution.keep,
    })),
    { name: classesName(spanAt(at, DAY)), amounts: { [text]: 1 }, keep: LONGEST },
  ];
}

function runsOf({ rate, took, failing, queue }: Traffic, ago: number, chance: () => number): Counts {
  const isOut = queue === OUTAGE.queue && ago <= OUTAGE.from && ago > OUTAGE.to;
  const wave = 1 + 0.45 * Math.sin(ago / 11) + 0.2 * Math.sin(ago / 3.7);
  const count = Math.round(rate * wave * (0.85 + 0.3 * chance()));
  const failed = Math.min(count, Math.round((count * (isOut ? 70 : failing)) / 100 + chance() - 0.5));
  const released = Math.round(failed * 0.8);
  return {
    [OUTCOME_FIELDS.completed]: count - failed,
    [OUTCOME_FIELDS.failed]: failed,
    [OUTCOME_FIELDS.released]: released,
    ...timesOf(RUN_TIMES, count + released, isOut ? 5000 : took),
    ...timesOf(WAITS, count, isOut ? 45_000 : 400 * wave),
  };
}

function sampleOf({ rate, queue }: Traffic, ago: number, chance: () => number): Counts {
  const isOut = queue === OUTAGE.queue && ago <= OUTAGE.from && ago > OUTAGE.to;
  const ready = Math.round(rate * chance() + (isOut ? rate * (OUTAGE.from - ago) : 0));
  return {
    [SAMPLE.samples]: 1,
    [SAMPLE.ready]: ready,
    [SAMPLE.delayed]: Math.round(3 * chance()),
    [SAMPLE.reserved]: Math.min(ready, 3),
    [SAMPLE.wait]: ready * 800,
  };
}

function timesOf(distribution: Distribution, count: number, usual: Milliseconds): Counts {
  const fields = distribution.buckets;
  const counts: Record<string, number> = {};
  let sum = 0;
  let left = count;
  for (const [place, { factor, share }] of SPREAD.entries()) {
    const some = place === SPREAD.length - 1 ? left : Math.round((count * share) / 100);
    const bucket = fields[bucketOf(distribution, usual * factor)]!;
    counts[bucket] = (counts[bucket] ?? 0) + Math.min(some, left);
    sum += Math.min(some, left) * usual * factor;
    left -= Math.min(some, left);
  }
  return { ...counts, [distribution.field]: Math.round(sum / 1000 / distribution.unit) };
}

/** Pseudorandom numbers from 0 to 1, the same each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
