/**
 * What is measured, in the order of the tables. A scenario has
 *
 * - `name`, for the command line, and `title`, for people;
 * - `jobs`: how many in a round, chosen so that a round of the slowest peer takes a few seconds; `full`: how many with
 *   `--full`, if that makes a difference;
 * - `left(jobs, own, settings)`: how many the store must hold at the end; otherwise the round is an error;
 * - `arrange(peer, jobs, participant)`: what comes before, and is not measured; what it gives is handed on to
 * - `act(peer, jobs, arranged)`: what is measured; gives `own`, which has what the figures are made of;
 *
 * and may have
 *
 * - `end(arranged)`: stops what was arranged;
 * - `figures`: which are shown, see `figures.mjs`; by default throughput;
 * - `participants`: `name` in the table, `peer`, and `settings` for its `prepare`, or just the peer's name; by default all
 *   who are on Redis. A function is told whether it is `full`;
 * - `baseline`: the name of the one to whom ratios are; by default BullMQ;
 * - `store`: what the jobs are kept in, by default `redis`;
 * - `fresh`: each run in a process of its own, with no run before that does not count; `warmUp`: the part of the jobs in
 *   that first run, by default a half;
 * - `rounds`: at most so many.
 */
import { throughput } from '../figures.mjs';
import { baseline, peers } from '../peers/all.mjs';
import { bytes, bytesOfRetries, bytesOfShort } from './bytes.mjs';
import { dispatchBulk } from './dispatch-bulk.mjs';
import { dispatchOne } from './dispatch-one.mjs';
import { dispatchParallel } from './dispatch-parallel.mjs';
import { due } from './due.mjs';
import { extras } from './extras.mjs';
import { idle } from './idle.mjs';
import { logging } from './logging.mjs';
import { manyQueues } from './many-queues.mjs';
import { manyWorkers } from './many-workers.mjs';
import { payload } from './payload.mjs';
import { pickUp } from './pick-up.mjs';
import { postgres, postgresBulk } from './postgres.mjs';
import { processing, processingFirst } from './process.mjs';
import { ready } from './ready.mjs';
import { sqlite } from './sqlite.mjs';
import { startUp } from './start-up.mjs';
import { workerMemory } from './worker-memory.mjs';

export const scenarios = [
  dispatchOne,
  dispatchParallel,
  dispatchBulk,
  processing(1, 8_000, 5),
  processing(10, 20_000, 3),
  processing(100, 60_000, 1.5),
  processingFirst(10, 10_000),
  processingFirst(100, 20_000),
  manyQueues,
  extras(1, 3_000),
  extras(10, 8_000),
  extras(100, 15_000),
  logging(10, 8_000),
  logging(100, 20_000),
  payload('100b', 100, 3_000),
  payload('10kb', 10_000, 1_000),
  payload('1mb', 1_000_000, 40),
  pickUp,
  bytes,
  bytesOfRetries,
  bytesOfShort,
  ready,
  due,
  workerMemory,
  idle,
  manyWorkers,
  startUp,
  postgres(10, 10_000),
  postgres(100, 20_000),
  postgresBulk,
  sqlite,
];

/** With all that it leaves out. */
export function complete(scenario, full) {
  const { participants = peers } = scenario;
  const listed = typeof participants === 'function' ? participants(full) : participants;
  return {
    figures: throughput,
    baseline,
    store: 'redis',
    ...scenario,
    jobs: full ? (scenario.full ?? scenario.jobs) : scenario.jobs,
    participants: listed.map((each) => ({
      settings: {},
      ...(typeof each === 'string' ? { name: each, peer: each } : each),
    })),
  };
}
