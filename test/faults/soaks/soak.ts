/** What one soak is: a fault that is played many times, and the figure that is to be reached. */
import type { Account } from '../kit/accounting';
import type { StoreName } from '../kit/stage';

/** What a soak has found. */
export interface Finding {
  /** What was reached, in the words of `figure`. */
  readonly reached: string;
  /** What must not be; empty: the figure is reached. */
  readonly offences: readonly string[];
  /** What took longer than `figure` allows: judged by `npm run soak` on a quiet machine, never by a test. */
  readonly late?: readonly string[];
}

export interface Soak<Size = object> {
  /** `kill-9`: to name it on the command line. */
  readonly name: string;
  readonly title: string;
  readonly figure: string;
  readonly stores: readonly StoreName[];
  /** On which of them it also stands among the tests; default: on all. */
  readonly inTests?: readonly StoreName[];
  /** In every run of the tests; by `npm run soak`; by `npm run soak -- --full`. */
  readonly sizes: { readonly test: Size; readonly soak: Size; readonly full: Size };
  play(store: StoreName, size: Size): Promise<Finding>;
}

/** The counts that every soak tells. */
export function tally({ dispatched, completed, failed, waiting, lost, again, refused }: Account): string {
  const counts = { completed, failed, waiting, lost, 'run again': again, refused };
  const told = Object.entries(counts).filter(([name, count]) => count > 0 || name === 'lost');
  return `${dispatched} jobs: ${told.map(([name, count]) => `${count} ${name}`).join(', ')}`;
}

/** An offence where `value` is beyond `most`. */
export function atMost(what: string, value: number, most: number): readonly string[] {
  return value <= most ? [] : [`${what} was ${value}, and may be ${most} at most`];
}
