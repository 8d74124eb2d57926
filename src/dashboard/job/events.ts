/** What happened to a job, in order: when it waited and ran, and how each run ended. */
import type { Milliseconds } from '../../base/clock';
import type { Attempt, AttemptOutcome } from '../../operations/history/attempt';
import type { JobStory } from './job-story';

export interface JobEvent {
  /** `waits`: nobody works on it. `running`: its end is not yet known. */
  readonly kind: 'waits' | 'running' | AttemptOutcome;
  readonly from: Milliseconds;
  readonly until: Milliseconds;
  /** How long a run took. Undefined if unknown. */
  readonly ms?: Milliseconds | undefined;
  readonly attempt?: number | undefined;
  /** Undefined if nothing is kept of it. */
  readonly told?: Attempt | undefined;
  readonly isAhead?: boolean | undefined;
}

export const OUTCOMES: Readonly<
  Record<Exclude<JobEvent['kind'], 'waits'>, { readonly text: string; readonly tone: string }>
> = {
  failed: { text: 'failed', tone: 'bad' },
  'timed-out': { text: 'timed out', tone: 'bad' },
  crashed: { text: 'crashed', tone: 'bad' },
  lost: { text: 'lost', tone: 'warn' },
  cancelled: { text: 'cancelled', tone: 'warn' },
  completed: { text: 'completed', tone: 'good' },
  running: { text: 'runs', tone: 'accent' },
};

export function eventsOf({ job, run }: JobStory, now: Milliseconds): readonly JobEvent[] {
  const { history, createdAt, failedAt, completedAt, at, state, attempts } = job;
  const events: JobEvent[] = [];
  const closed = failedAt ?? completedAt;
  let end: Milliseconds = createdAt?.getTime() ?? startOf(history[0]) ?? closed?.getTime() ?? now;
  const waitUntil = (moment: Milliseconds, isAhead = false): void => {
    // Clocks of several machines are never exactly equal.
    if (moment <= end) return;
    events.push({ kind: 'waits', from: end, until: moment, isAhead });
    end = moment;
  };
  for (const told of history) {
    waitUntil(startOf(told)!);
    const until = Math.max(end, told.at.getTime());
    events.push({ kind: told.outcome, from: end, until, ms: told.ms, attempt: told.attempt, told });
    end = until;
  }
  // If the last attempt was not kept, the job's end still tells of it.
  if (closed !== undefined && (history.length === 0 || history.at(-1)!.at.getTime() < closed.getTime() - SLACK)) {
    waitUntil(closed.getTime());
    events.push({ kind: state === 'failed' ? 'failed' : 'completed', from: end, until: end, attempt: attempts });
  }
  if (state === 'ready') waitUntil(now);
  if (state === 'delayed') {
    waitUntil(now);
    waitUntil(at?.getTime() ?? now, true);
  }
  if (state === 'running') {
    const since = run?.job.since.getTime();
    if (since !== undefined) waitUntil(since);
    events.push({
      kind: 'running',
      from: end,
      until: Math.max(end, now),
      ms: since && Math.max(0, now - since),
      attempt: attempts,
    });
  }
  return events;
}

/** The end of an attempt is written before the end of its job, by another clock. */
const SLACK: Milliseconds = 5000;

function startOf(attempt: Attempt | undefined): Milliseconds | undefined {
  return attempt && attempt.at.getTime() - (attempt.ms ?? 0);
}
