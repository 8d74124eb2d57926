/**
 * The decision of a rate limit, and the text that is kept for each key. Pure: what it knows is in its arguments.
 *
 * For each rate of a key it counts the starts of the last window, in slices of a hundredth of it. A start counts until the end of
 * its slice is as old as the window: so there are never too many in any window, and at worst one in a hundred too few. A job
 * that may not start gets a slot, one after the other, so that those who wait come back in order and about once each.
 */
import type { Milliseconds, Random } from '../base/clock';

/** At most `allow` starts in any window of this length. */
export interface WindowRate {
  readonly allow: number;
  readonly every: Milliseconds;
}

/** What is known of a key. */
export interface Book {
  readonly rates: readonly WindowRate[];
  /** When the process that gave it these rates was started, or changed them. */
  readonly since: Milliseconds;
  /** The last slot that was given. */
  readonly booked: Milliseconds;
  /** The starts that each rate counts: slice, number, slice, number, … */
  readonly starts: readonly (readonly number[])[];
}

/** Who asks. */
export interface Asking {
  /** It was put off before. One that was not gives way to those who wait for their slots. */
  readonly again: boolean;
  /** It can wait so long where it is. */
  readonly patience: Milliseconds;
}

export interface Decision {
  /** The same book if nothing has changed. */
  readonly book: Book;
  /** 0: it may start. Otherwise it is to ask again after so long. */
  readonly wait: Milliseconds;
}

const SLICES = 100;
/** The farthest slot. Jobs without one come back at random, so that a cleared queue leaves no gap of hours. */
export const HORIZON: Milliseconds = 600_000;
/** A moment from further in the future was written while a clock was wrong. */
const FARTHEST_AHEAD: Milliseconds = 60_000;

export function decide(book: Book, now: Milliseconds, { again, patience }: Asking, random: Random): Decision {
  const { rates, starts, booked } = book;
  const free = Math.max(now, ...rates.map((rate, place) => freeAt(rate, starts[place]!)));
  if (free <= now && (again || booked <= now)) return { book: started(book, now), wait: 0 };
  const left = Math.ceil(free - now);
  if (again && left <= patience) return { book, wait: Math.max(left, 1) };
  // Longer by a slice, or each job would come while the start before it still counts.
  const step = Math.max(...rates.map(({ allow, every }) => (every + every / SLICES) / allow));
  const slot = Math.ceil(booked > now ? Math.max(free, booked + step) : free);
  if (slot - now > HORIZON) return { book, wait: Math.ceil(HORIZON * (0.5 + random() / 2)) };
  return { book: { ...book, booked: slot }, wait: Math.ceil(slot - now) };
}

/** When one more may start, as far as this rate is concerned. */
function freeAt({ allow, every }: WindowRate, starts: readonly number[]): Milliseconds {
  let used = 0;
  for (let at = 1; at < starts.length; at += 2) used += starts[at]!;
  let free = -Infinity;
  for (let at = 0; used >= allow; at += 2) {
    used -= starts[at + 1]!;
    free = endOf(starts[at]!, every) + every;
  }
  return free;
}

function started(book: Book, now: Milliseconds): Book {
  const starts = book.rates.map(({ every }, place) => {
    const slice = sliceOf(now, every);
    const known = book.starts[place]!;
    const last = known.at(-2) ?? -Infinity;
    // The clock of another process may be a little ahead.
    return last >= slice ? [...known.slice(0, -1), known.at(-1)! + 1] : [...known, slice, 1];
  });
  return { ...book, starts };
}

const sliceOf = (moment: Milliseconds, every: Milliseconds): number => Math.floor((moment * SLICES) / every);
const endOf = (slice: number, every: Milliseconds): Milliseconds => ((slice + 1) * every) / SLICES;

/** Without what no longer counts. */
export function liveBook(book: Book, now: Milliseconds): Book {
  const starts = book.rates.map(({ every }, place) => {
    const present = sliceOf(now, every);
    const live: number[] = [];
    for (let at = 0; at < book.starts[place]!.length; at += 2) {
      const slice = book.starts[place]![at]!;
      if (endOf(slice, every) + every <= now) continue;
      // After a whole window in the future it would hold back all, for as long as the clock that wrote it was wrong.
      live.push(slice > present + SLICES ? present : slice, book.starts[place]![at + 1]!);
    }
    return live;
  });
  return { ...book, starts, booked: book.booked > now + HORIZON + FARTHEST_AHEAD ? now : book.booked };
}

/**
 * The book by the rates that count: of two programs that give a key different ones, those that came later. Its starts count
 * under the new rates too.
 */
export function agreedBook(book: Book | undefined, own: Pick<Book, 'rates' | 'since'>, now: Milliseconds): Book {
  const { rates, since } = own;
  if (book === undefined) return { rates, since, booked: 0, starts: rates.map(() => []) };
  const isNewer = book.since > since && book.since <= now + FARTHEST_AHEAD;
  if (isNewer || areSame(book.rates, rates)) return book;
  return { rates, since, booked: book.booked, starts: rates.map(({ every }) => startsUnder(every, book)) };
}

export function areSame(some: readonly WindowRate[], others: readonly WindowRate[]): boolean {
  const isSame = ({ allow, every }: WindowRate, place: number): boolean =>
    allow === others[place]!.allow && every === others[place]!.every;
  return some.length === others.length && some.every(isSame);
}

function startsUnder(every: Milliseconds, { rates, starts }: Book): readonly number[] {
  const same = rates.findIndex((rate) => rate.every === every);
  if (same !== -1) return starts[same]!;
  // The longest window has them all.
  const longest = Math.max(...rates.map((rate) => rate.every));
  const known = starts[rates.findIndex((rate) => rate.every === longest)]!;
  const result: number[] = [];
  for (let at = 0; at < known.length; at += 2) {
    const slice = Math.ceil((endOf(known[at]!, longest) * SLICES) / every) - 1;
    if (result.at(-2) === slice) result[result.length - 1]! += known[at + 1]!;
    else result.push(slice, known[at + 1]!);
  }
  return result;
}

/** @param nonce makes the text of each writer another one: two that charge alike must not both count as written */
export function bookText({ rates, since, booked, starts }: Book, nonce: string): string {
  const lists = rates.map(({ allow, every }, place) => [allow, every, ...starts[place]!]);
  return JSON.stringify([nonce, Math.round(since), booked, ...lists]);
}

/** Undefined if it cannot be read. */
export function bookOf(text: string): Book | undefined {
  try {
    const [, since, booked, ...lists] = JSON.parse(text) as [string, number, number, ...number[][]];
    const isRight = lists.length > 0 && lists.every((list) => list.length >= 2 && list.length % 2 === 0);
    const numbers = [since, booked, ...lists.flat()];
    if (!isRight || !numbers.every((number) => Number.isFinite(number) && number >= 0)) return undefined;
    if (lists.some(([allow, every]) => allow! < 1 || every! <= 0)) return undefined;
    const rates = lists.map(([allow, every]) => ({ allow: allow!, every: every! }));
    return { rates, since, booked, starts: lists.map((list) => list.slice(2)) };
  } catch {
    return undefined;
  }
}
