/** Which queues have jobs, and when they will: read without locks. */
import type { Seconds } from '../../base/clock';
import type { Dialect, Line, Outlook } from './dialect';
import { raw, type Sql, sql, type SqlRow, type SqlValue } from './statement';

export interface QueueOutlook {
  readonly queue: string;
  readonly ready: boolean;
  /** When the first delayed job becomes ready, seconds since 1970. */
  readonly due: Seconds;
  /** When the first lease ends. */
  readonly leaseEnd: Seconds;
  /** When its pause ends. Infinity: when it is resumed. -Infinity: it is not paused. */
  readonly pausedUntil: Seconds;
  /** The same for all queues: changes with each restart; undefined if there was none. */
  readonly restart: string | undefined;
  /** The same for all queues: an unfinished batch was cancelled. */
  readonly isCancelling: boolean;
}

/** Rounds to microseconds, so that sums and differences come out even. */
export const toMicroseconds = (seconds: Seconds): Seconds => Math.round(seconds * 1e6) / 1e6;

/** Later than the end of any pause. */
export const FOR_EVER = 9_999_999_999_999;

/** Selects the row that `queueOutlook` reads. @param cancelling selects a row if an unfinished batch was cancelled */
export function outlookStatement(
  { orders }: Dialect['tables'],
  { of, state, at }: Line,
  read: Dialect['read'],
  queue: string | Sql,
  cancelling: Sql,
): Sql {
  const line = of(queue);
  return sql`SELECT
    (SELECT 1 ${line} AND ${state.ready} LIMIT 1),
    (SELECT min(${at.delayed}) ${line} AND ${state.delayed}),
    (SELECT min(${at.reserved}) ${line} AND ${state.reserved}),
    (SELECT COALESCE(ends_at, ${raw(String(FOR_EVER))}) FROM ${orders} WHERE kind = 'pause' AND value = ${queue}),
    (SELECT ${read('max(value)')} FROM ${orders} WHERE kind = 'restart'),
    (${cancelling})`;
}

export function queueOutlook(queue: string, row: SqlRow): QueueOutlook {
  const [ready = null, due = null, leaseEnd = null, pause = null, restart = null, cancelling = null] = row;
  return {
    queue,
    ready: ready !== null,
    due: moment(due),
    leaseEnd: moment(leaseEnd),
    pausedUntil: pause === null ? -Infinity : moment(pause),
    restart: restart === null ? undefined : String(restart),
    isCancelling: cancelling !== null,
  };
}

/** Reads a time. A text that somebody has put there counts as never. */
function moment(value: SqlValue): Seconds {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
  const seconds = isNumber ? Number(value) : Infinity;
  return seconds < FOR_EVER ? seconds : Infinity;
}

export function outlookOf(outlooks: readonly QueueOutlook[], now: Seconds): Outlook {
  const moments = outlooks.flatMap(({ pausedUntil, ready, due, leaseEnd }) => {
    if (pausedUntil > now) return [pausedUntil];
    return ready ? [now] : [due, leaseEnd];
  });
  const paused = outlooks.filter(({ pausedUntil }) => pausedUntil > now).map(({ queue }) => queue);
  const restart = outlooks[0]?.restart;
  return {
    nextIn: Math.max(toMicroseconds(Math.min(...moments, Infinity) - now), 0),
    now: now * 1000,
    ...(paused.length > 0 && { paused }),
    ...(restart !== undefined && { restart }),
  };
}
