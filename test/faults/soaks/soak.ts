/** A soak: a fault that is played many times, and the figure to reach. */
import type { Account } from '../kit/accounting';
import type { StoreName } from '../kit/stage';

/** The result of a soak. */
export interface Finding {
  /** The result in the words of `figure`. */
  readonly reached: string;
  /** Violations. Empty if the figure was reached. */
  readonly offences: readonly string[];
  /** What took longer than `figure` allows. Judged only by `npm run soak` on a quiet machine, never by a test. */
  readonly late?: readonly string[];
}

export interface Soak<Size = object> {
  /** Its name on the command line, such as `kill-9`. */
  readonly name: string;
  readonly title: string;
  readonly figure: string;
  readonly stores: readonly StoreName[];
  /** The stores on which it is also a test. Default: all. */
  readonly inTests?: readonly StoreName[];
  /** The sizes for the tests, for `npm run soak`, and for `npm run soak -- --full`. */
  readonly sizes: { readonly test: Size; readonly soak: Size; readonly full: Size };
  play(store: StoreName, size: Size): Promise<Finding>;
}

/** The counts that every soak reports. */
export function tally({ dispatched, completed, failed, waiting, lost, again, refused }: Account): string {
  const counts = { completed, failed, waiting, lost, 'run again': again, refused };
  const told = Object.entries(counts).filter(([name, count]) => count > 0 || name === 'lost');
  return `${dispatched} jobs: ${told.map(([name, count]) => `${count} ${name}`).join(', ')}`;
}

/** An offence if `value` is beyond `most`. */
export function atMost(what: string, value: number, most: number): readonly string[] {
  return value <= most ? [] : [`${what} was ${value}, and may be ${most} at most`];
}

/** Asks again and again while something lasts. What goes wrong there is not hidden by an ask that it left behind. */
export async function whileAsking<T>(ask: () => Promise<void>, something: () => Promise<T>): Promise<T> {
  let isOver = false;
  const asking = (async () => {
    while (!isOver) await ask();
  })();
  asking.catch(() => undefined);
  try {
    return await something();
  } finally {
    isOver = true;
    await asking;
  }
}
