/** Moments and spans in the tables: seconds, to the microsecond, so that sums and differences come out even. */
import type { Milliseconds, Seconds } from '../../../base/clock';

export const toMicroseconds = (seconds: Seconds): Seconds => Math.round(seconds * 1e6) / 1e6;

/** Seconds until it is ready; 0 or less: at once. */
export function delayAt(
  { delay = 0, dueAt }: { readonly delay?: Seconds | undefined; readonly dueAt?: Milliseconds | undefined },
  now: Seconds,
): Seconds {
  return dueAt === undefined ? delay : toMicroseconds(dueAt / 1000 - now);
}
