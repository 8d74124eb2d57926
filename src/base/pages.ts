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
  let start = 0;
  let jobs = 0;
  let bytes = 0;
  for (let at = 0; at < items.length; at += 1) {
    const size = bytesOf(items[at]!);
    const count = jobsOf(items[at]!);
    if (at > start && (jobs + count > most || bytes + size > mostBytes)) {
      yield items.slice(start, at);
      start = at;
      jobs = bytes = 0;
    }
    jobs += count;
    bytes += size;
  }
  if (start < items.length) yield items.slice(start);
}

const one = (): number => 1;

/**
 * Bytes of a text for a call that carries 100 of them, or 1 MiB. Of a short one, of which no 100 come near that, it is what
 * it has at most: to count them all would cost as much as to write them.
 */
export function pageBytes(text: string): number {
  return text.length <= SHORT ? text.length * 3 : Buffer.byteLength(text);
}
