/** Under which names figures stand among the sums of a store, and for how long. */
import { createHash } from 'node:crypto';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { JobClass } from './job-counts';

/** Figures that are summed up over spans of one length. */
export interface Resolution {
  readonly letter: string;
  readonly step: Seconds;
  readonly keep: Seconds;
}

export const DAY: Seconds = 86_400;

export const MINUTES: Resolution = { letter: 'm', step: 60, keep: 7200 };
const QUARTERS: Resolution = { letter: 'q', step: 900, keep: DAY };
/** Of three hours: what is older is looked at from afar, and finer spans of a week would take most of the space. */
const EIGHTHS: Resolution = { letter: 'e', step: 10_800, keep: 7 * DAY };

/** The finest first. */
export const RESOLUTIONS = [MINUTES, QUARTERS, EIGHTHS] as const;

/** So long figures are kept. */
export const LONGEST: Seconds = EIGHTHS.keep;

/** Of a queue as a whole, in place of the name of a job: how much waits in it. */
export const WHOLE_QUEUE = '';

/** The number of the span that a moment is in. */
export const spanAt = (moment: Milliseconds, step: Seconds): number => Math.floor(moment / (step * 1000));

/** The sum whose names are the classes that were counted on a day. */
export const classesName = (day: number): string => `figures/classes/${day}`;

/** How a class stands there. */
export const classText = ({ connection, queue, job }: JobClass): string => JSON.stringify([connection, queue, job]);

/** None: somebody has written it who does not know how. */
export function readClass(text: string): readonly JobClass[] {
  try {
    const [connection, queue, job] = JSON.parse(text) as readonly unknown[];
    const isClass = typeof connection === 'string' && typeof queue === 'string' && typeof job === 'string';
    return isClass ? [{ connection, queue, job }] : [];
  } catch {
    return [];
  }
}

/** The sum of a class: names of any length would not fit. */
export function figureName({ letter }: Resolution, span: number, text: string): string {
  return `figures/${letter}${span}/${createHash('sha256').update(text).digest('base64url').slice(0, 12)}`;
}
