/** Durations as users write them, and the one parser that turns them into seconds. */
import type { Seconds } from '../clock/clock';

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd';

/** A number is seconds, as in Laravel; a string carries its unit. */
export type Duration = number | `${number}${DurationUnit}`;

/** A duration from now, or the moment itself. */
export type Delay = Duration | Date;

export type DurationSeconds = Seconds;
