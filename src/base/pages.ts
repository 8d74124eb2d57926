/** How much one call to a store may move, so that it does not block the store: jobs, and bytes of their payloads. */
export const MOST_JOBS = 100;
export const MOST_BYTES = 1024 * 1024;

/** 100 texts of this many characters stay below a third of a MiB. */
const SHORT = 1024;

/**
 * Cuts a list into pages, one for each call. A page has at least one item, however long. `jobsOf`: how many jobs an item stands
 * for.
 */
export function* pagesOf<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  most = MOST_JOBS,
  mostBytes = MOST_BYTES,
  jobsOf: (item: T) => number = one,
): Generator<readonly T[]> {
  for (let start = 0; start < items.length;) {
    const end = endOfPage(items, bytesOf, start, most, mostBytes, jobsOf);
    yield items.slice(start, end);
    start = end;
  }
}

/** The end of the page that begins at `start`. */
export function endOfPage<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  start = 0,
  most = MOST_JOBS,
  mostBytes = MOST_BYTES,
  jobsOf: (item: T) => number = one,
): number {
  let jobs = 0;
  let bytes = 0;
  for (let at = start; at < items.length; at += 1) {
    jobs += jobsOf(items[at]!);
    bytes += bytesOf(items[at]!);
    if (at > start && (jobs > most || bytes > mostBytes)) return at;
  }
  return items.length;
}

/**
 * How many items to read next if their size is unknown: one, and then as many as have room in a page if they are as large as
 * those before.
 */
export function nextToRead(most: number, read: number, bytes: number): number {
  return read === 0 ? 1 : Math.min(most, MOST_JOBS, Math.max(1, Math.floor((MOST_BYTES * read) / Math.max(1, bytes))));
}

const one = (): number => 1;

/**
 * The bytes of a text, for a call that carries up to 100 texts or 1 MiB. For a short text, an upper bound: 100 of those come
 * nowhere near 1 MiB, and counting exactly would cost as much as writing.
 */
export function pageBytes(text: string): number {
  return text.length <= SHORT ? text.length * 3 : Buffer.byteLength(text);
}
