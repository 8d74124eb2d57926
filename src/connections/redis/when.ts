/** When a job becomes ready, as the scripts take it: seconds from now, or a moment by the clock of Redis. */
import type { Milliseconds, Seconds } from '../../base/clock';

export function whenOf(delay: Seconds, dueAt: Milliseconds | undefined): string | number {
  return dueAt === undefined ? delay : `@${dueAt / 1000}`;
}
