/** The names of figures among the sums of a store, and how long they are kept. */
import { createHash } from 'node:crypto';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { JobClass } from './job-counts';

/** Figures summed up over spans of one length. */
export interface Resolution {
  readonly letter: string;
  readonly step: Seconds;
  readonly keep: Seconds;
}

export const DAY: Seconds = 86_400;

export const MINUTES: Resolution = { letter: 'm', step: 60, keep: 7200 };
const QUARTERS: Resolution = { letter: 'q', step: 900, keep: DAY };
/** Spans of three hours: older figures are only looked at from afar, and finer spans of a week would take most of the space. */
const EIGHTHS: Resolution = { letter: 'e', step: 10_800, keep: 7 * DAY };

/** The finest first. */
export const RESOLUTIONS = [MINUTES, QUARTERS, EIGHTHS] as const;

/** How long figures are kept at most. */
export const LONGEST: Seconds = EIGHTHS.keep;

/** Stands for a whole queue instead of a job's name: how many jobs wait in it. */
export const WHOLE_QUEUE = '';

/** The number of the span that contains a moment. */
export const spanAt = (moment: Milliseconds, step: Seconds): number => Math.floor(moment / (step * 1000));

/** The sum whose fields are the classes that were counted on a day. */
export const classesName = (day: number): string => `figures/classes/${day}`;

/** The field of a class in that sum. */
export const classText = ({ connection, queue, job }: JobClass): string => JSON.stringify([connection, queue, job]);

/** Empty if the text is not one of ours. */
export function readClass(text: string): readonly JobClass[] {
  try {
    const [connection, queue, job] = JSON.parse(text) as readonly unknown[];
    const isClass = typeof connection === 'string' && typeof queue === 'string' && typeof job === 'string';
    return isClass ? [{ connection, queue, job }] : [];
  } catch {
    return [];
  }
}

/** The sum of a class. Hashed, because names of any length would not fit. */
export function figureName({ letter }: Resolution, span: number, text: string): string {
  return `figures/${letter}${span}/${createHash('sha256').update(text).digest('base64url').slice(0, 12)}`;
}
