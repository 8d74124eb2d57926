/** What one call to a store moves at most, so that none blocks it: jobs, and bytes of their texts. */
export const MOST_JOBS = 100;
export const MOST_BYTES = 1024 * 1024;

/** Characters of a text, a hundred of which have no third of a MiB. */
const SHORT = 1024;

/** Cuts a list into calls: each has one item at least, however long. `jobsOf`: how many jobs an item stands for. */
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

/** Where the page ends that begins at `start`. */
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

const one = (): number => 1;

/**
 * Bytes of a text for a call that carries 100 of them, or 1 MiB. Of a short one, of which no 100 come near that, it is what
 * it has at most: to count them all would cost as much as to write them.
 */
export function pageBytes(text: string): number {
  return text.length <= SHORT ? text.length * 3 : Buffer.byteLength(text);
}
