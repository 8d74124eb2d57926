/**
 * What is measured, in the order of the table. A scenario has
 *
 * - `name`, for the command line, and `title`, for people;
 * - `jobs`: how many in a round, chosen so that a round of the slowest peer takes a few seconds;
 * - `left(jobs)`: how many the store must hold at the end; otherwise the round is an error;
 * - `arrange(peer, jobs)`: what comes before, and is not measured; what it gives is handed on to
 * - `act(peer, jobs, arranged)`: what is measured; gives milliseconds.
 */
import { dispatchBulk } from './dispatch-bulk.mjs';
import { dispatchOne } from './dispatch-one.mjs';
import { dispatchParallel } from './dispatch-parallel.mjs';
import { processing } from './process.mjs';

export const scenarios = [
  dispatchOne,
  dispatchParallel,
  dispatchBulk,
  processing(1, 4_000),
  processing(10, 10_000),
  processing(100, 20_000),
];
