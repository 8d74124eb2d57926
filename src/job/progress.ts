/** The progress that a running job reports. */
import { isPlain } from '../base/plain-text';
import { invalidProgress } from './errors';

/** Longest text, in characters: it is shown in one line of a list. */
const LONGEST_TEXT = 255;

export interface Progress {
  /** From 0 to 1. */
  readonly value: number;
  readonly text: string | undefined;
}

/** @throws E_INVALID_PROGRESS */
export function checkedProgress(job: string, value: unknown, text: unknown): Progress {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw invalidProgress(job, value, HOW_FAR);
  if (text === undefined) return { value, text };
  const isLine = typeof text === 'string' && text.length <= LONGEST_TEXT && isPlain(text) && text.isWellFormed();
  if (!isLine) throw invalidProgress(job, text, `Its text is one line of up to ${LONGEST_TEXT} characters.`);
  return { value, text };
}

const HOW_FAR = 'Give a number from 0 to 1: progress(done / total).';
