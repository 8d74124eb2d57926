/** Moments and spans in the tables: seconds, to the microsecond, so that sums and differences come out even. */
import type { Seconds } from '../../../clock/clock';

export const toMicroseconds = (seconds: Seconds): Seconds => Math.round(seconds * 1e6) / 1e6;
