/** Work of all kinds for any length of time: neither the workers nor the store may grow, and nothing may stay open. */
import { statSync } from 'node:fs';
import Redis from 'ioredis';
import { systemClock } from '../../../src/base/clock';
import { eventually } from '../../support/eventually';
import { Block, Carry, digestOf, Heed, Stumble, Take } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import type { WorkerProcess } from '../kit/worker-process';
import { type Soak } from './soak';

interface Size {
  readonly minutes: number;
}

interface Measurement {
  readonly rss: number;
  readonly open: readonly string[];
  readonly outcomes: { readonly completed: number; readonly failed: number };
}

const LEASE = 10;
const SAMPLES = 40;
/** Failed jobs are kept until they are pruned. */
const KEPT = 200;
const MEGABYTE = 1_000_000;
/** A process takes a while to reach its size, and cannot be judged before. */
const MEASURABLE_MINUTES = 2;
const GROWTH = 1.15;

export const mixedWork: Soak<Size> = {
  name: 'mixed',
  title: 'mixed work',
  figure: 'memory of workers and store flat, 0 handles leaked, every job accounted for',
  stores: ['redis', 'sqlite'],
  // So short, it shows only that the soak works.
  inTests: [],
  sizes: { test: { minutes: 0.02 }, soak: { minutes: 2.5 }, full: { minutes: 60 } },

  async play(store, { minutes }) {
    const stage = await Stage.open(store, { lease: LEASE });
    const redis = stage.redis && new Redis(stage.redis.url);
    try {
      const workers = [1, 2].map(() => stage.hire({ concurrency: 10 }, { events: ['measured'] }));
      await Promise.all(workers.map(({ ready }) => ready));
      const sizes: { readonly workers: number[]; readonly store: number[] } = { workers: [], store: [] };
      let dispatched = await feed(stage);
      await stage.drained();
      // Handles that the first job needs, such as the lease thread, are kept for the next ones.
      const before = (await eventually(() => measureAtRest(stage, workers)))!;
      let pruned = 0;
      const end = systemClock.monotonic() + minutes * 60_000;
      for (let sample = 1; sample <= SAMPLES; sample += 1) {
        const until = end - ((SAMPLES - sample) / SAMPLES) * minutes * 60_000;
        while (systemClock.monotonic() < until) dispatched += await feed(stage);
        pruned += await stage.driver.failed!.prune({ keep: KEPT });
        sizes.workers.push(Math.max(...(await measureAll(stage, workers)).map(({ rss }) => rss)) / MEGABYTE);
        sizes.store.push((redis === undefined ? fileSize(stage) : await usedMemory(redis)) / MEGABYTE);
      }
      await stage.drained();
      let after: readonly Measurement[] = [];
      let leaked: readonly string[] = [];
      const isClosed = async (): Promise<boolean> => {
        after = await measureAll(stage, workers);
        leaked = after.flatMap(({ open }, index) => more(before[index]!.open, open));
        return leaked.length === 0;
      };
      // On a busy machine a connection that was given up takes a moment to close. A leaked handle stays.
      await eventually(isClosed, { deadline: 10_000 }).catch(() => undefined);
      const exits = await Promise.all(workers.map((worker) => worker.terminate()));

      const completed = sum(after.map(({ outcomes }) => outcomes.completed));
      const failed = (await stage.driver.failed!.count()) + pruned;
      const grown = minutes < MEASURABLE_MINUTES ? [] : Object.entries(sizes).flatMap(growth);
      return {
        reached:
          `${dispatched} jobs in ${minutes} min: ${completed} completed, ${failed} failed; ` +
          `worker ${range(sizes.workers)} MB, store ${range(sizes.store)} MB, ${leaked.length} handles leaked`,
        offences: [
          ...(completed + failed === dispatched ? [] : [`${dispatched - completed - failed} jobs are unaccounted for`]),
          ...[...new Set(leaked)].map((kind) => `${kind} was left open`),
          ...grown,
          ...exits.filter(({ code }) => code !== 0).map(({ code, signal }) => `a worker ended with ${code ?? signal}`),
        ],
      };
    } finally {
      redis?.disconnect();
      await stage.close();
    }
  },
};

const TEXT = 'carried '.repeat(1000);
const DIGEST = digestOf(TEXT);

/** Dispatches just enough to keep the workers busy. */
async function feed(stage: Stage): Promise<number> {
  const { ready } = await stage.driver.queues.counts('default');
  if (ready > 500) return 0;
  const jobs = Array.from({ length: 500 }, (_, index) => jobOf(index % 100));
  await stage.bus.bulk(jobs);
  return jobs.length;
}

function jobOf(place: number): object {
  if (place < 70) return new Take(place % 3);
  if (place < 80) return new Take(0).delay('1s');
  if (place < 88) return new Stumble(1);
  if (place < 90) return new Stumble(3);
  if (place < 93) return new Carry(TEXT, DIGEST);
  if (place < 98) return new Heed(place % 10);
  return new Block(2);
}

/** From the ledger, to which each process writes its memory and handles on request. */
async function measureAll(stage: Stage, workers: readonly WorkerProcess[]): Promise<readonly Measurement[]> {
  const seen = stage.ledger.lines.length;
  for (const worker of workers) worker.measure();
  return Promise.all(
    workers.map(async ({ pid }) => {
      const line = await eventually(() => stage.ledger.since(seen).find((one) => one.pid === pid), {
        deadline: 150_000,
      });
      return JSON.parse(line!.note) as Measurement;
    }),
  );
}

/** Undefined while a worker is between two calls: it holds no socket then, so that of its next call would look leaked. */
async function measureAtRest(
  stage: Stage,
  workers: readonly WorkerProcess[],
): Promise<readonly Measurement[] | undefined> {
  const measured = await measureAll(stage, workers);
  return measured.some(({ open }) => open.includes('Immediate')) ? undefined : measured;
}

async function usedMemory(redis: Redis): Promise<number> {
  const [, bytes] = /^used_memory:(\d+)/m.exec(await redis.info('memory'))!;
  return Number(bytes);
}

const fileSize = ({ driver }: Stage): number => statSync(driver.address.replace(/^sqlite:/, '')).size;

/** Handles that come and go. One that stayed would keep the process from ending, which is checked too. */
const PASSING = new Set(['Timeout', 'Immediate']);

/** The handles in `after` that are not in `before`. */
function more(before: readonly string[], after: readonly string[]): string[] {
  const left = [...before];
  return after.filter((kind) => {
    if (PASSING.has(kind)) return false;
    const place = left.indexOf(kind);
    if (place !== -1) left.splice(place, 1);
    return place === -1;
  });
}

/** Compares the last quarter with the second, because the first is for warming up. */
function growth([what, sizes]: [string, readonly number[]]): readonly string[] {
  const quarter = Math.floor(sizes.length / 4);
  const early = median(sizes.slice(quarter, 2 * quarter));
  const late = median(sizes.slice(-quarter));
  return late <= early * GROWTH ? [] : [`the memory of ${what} grew from ${early.toFixed(1)} to ${late.toFixed(1)} MB`];
}

const median = (values: readonly number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1]!;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const range = (sizes: readonly number[]): string => `${Math.min(...sizes).toFixed(1)}–${Math.max(...sizes).toFixed(1)}`;
