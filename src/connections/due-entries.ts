/**
 * Entries in the form that a driver takes: its clock judges moments if it can, and ours never does if the store tells its
 * own time.
 */
import { type Milliseconds, type Seconds, systemClock } from '../base/clock';
import { withRetryUntil } from '../payload/payload-text';
import type { Connection, Entry } from './contract';

export interface Timed {
  readonly entry: Entry;
  /** A span from the push, after which no attempt starts; its end is written into the payload when it is sent. */
  readonly retryWithin?: Seconds | undefined;
}

/** A target for jobs, as far as its clock is concerned. */
export type TimedTarget = Partial<Pick<Connection, 'now' | 'capabilities'>>;

/** The same entries if none depends on a clock, as nearly always. */
export async function entriesFor(target: TimedTarget, jobs: readonly Timed[]): Promise<readonly Entry[]> {
  const judges = target.capabilities?.moments === true;
  const asks = ({ entry, retryWithin }: Timed): boolean =>
    retryWithin !== undefined || (entry.dueAt !== undefined && !judges);
  if (!jobs.some(asks)) return jobs.map(({ entry }) => entry);
  const now = target.now === undefined ? systemClock.now() : await target.now();
  return jobs.map((job) => (asks(job) ? entryAt(job, now, judges) : job.entry));
}

/** `now`: by the clock that judges it. */
export function entryAt({ entry, retryWithin }: Timed, now: Milliseconds, judges: boolean): Entry {
  const { dueAt, ...rest } = entry;
  const payload = retryWithin === undefined ? entry.payload : withRetryUntil(entry.payload, now + retryWithin * 1000);
  if (dueAt === undefined || judges) return { ...entry, payload };
  return { ...rest, payload, delay: Math.max(0, (dueAt - now) / 1000) };
}
