/**
 * Changes the tables of a database server while workers and dispatches go on.
 *
 * A change waits for all who use its table, and everybody who comes later waits behind it. So each step waits for half a
 * second or one at most, and is tried again after a pause in which the others go on: a backup or a forgotten transaction
 * delays the migration, and nothing else.
 */
import type { Clock, Milliseconds, Seconds } from '../../../base/clock';
import type { Logger } from '../../../base/logger';
import { run, type Sql, type Work } from '../statement';
import { ageText, type OldTransaction } from './old-transactions';

export type Log = Pick<Logger, 'info' | 'warn'>;

/** A part of the migration. It can be run again, and changes nothing that is as it should be. */
export type Step = () => Work<unknown>;

export interface Holder extends OldTransaction {
  readonly table: string;
}

/** Somebody is in the way, and will not be in a moment. */
export class HeldUp extends Error {}

export interface Steps {
  /** Keeps other processes from migrating at the same time; throws `HeldUp` if one does. Absent if the steps do so. */
  readonly begin?: Step;
  readonly end?: Step;
  readonly steps: readonly Step[];
  /** Writes the version. Returns the one before: that of this Onqueue if another process has done the work. */
  readonly finish: () => Work<number>;
  /** Whether the step was undone because of others. */
  readonly isHeldUp: (error: unknown) => boolean;
  /** The oldest transaction that may be in the way, and the table that it holds. */
  readonly holder: () => Work<Holder | undefined>;
  readonly pause: (seconds: Seconds) => Sql;
}

/** Between two tries. The first are short: usually somebody has just committed. */
const PAUSES: readonly Seconds[] = [0.1, 0.2, 0.5, 1, 2];

/** How often a wait is told of. */
const TOLD_EVERY: Milliseconds = 30_000;

/** Shorter ones are the traffic. */
const SHORT: Seconds = 1;

/** Returns the version before. */
export function* migration(steps: Steps, clock: Clock, log: Log): Work<number> {
  let toldAt = -Infinity;
  let toldOf = '';
  const patiently = function* <T>(step: () => Work<T>): Work<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return yield* step();
      } catch (error) {
        if (!(error instanceof HeldUp) && !steps.isHeldUp(error)) throw error;
        const holder = yield* steps.holder();
        const isKnown = holder?.who === toldOf && clock.monotonic() - toldAt < TOLD_EVERY;
        if (holder !== undefined && holder.age > SHORT && !isKnown) {
          [toldAt, toldOf] = [clock.monotonic(), holder.who];
          const { who, age, table } = holder;
          const wait = 'The migration waits for its end; workers and dispatches go on.';
          log.warn({ who, age }, `A transaction of ${ageText(age)} holds ${table}: ${who}. ${wait}`);
        }
        yield* run(steps.pause(PAUSES[tries] ?? PAUSES.at(-1)!));
      }
    }
  };
  if (steps.begin !== undefined) yield* patiently(steps.begin);
  try {
    for (const step of steps.steps) yield* patiently(step);
    return yield* patiently(steps.finish);
  } finally {
    if (steps.end !== undefined) yield* steps.end();
  }
}
