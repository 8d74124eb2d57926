/** What one call to a store moves at most, so that none blocks it: jobs, and bytes of their texts. */
export const MOST_JOBS = 100;
export const MOST_BYTES = 1024 * 1024;

/** Cuts a list into calls: each has one item at least, however long. */
export function* pagesOf<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  most = MOST_JOBS,
  mostBytes = MOST_BYTES,
): Generator<readonly T[]> {
  let start = 0;
  let bytes = 0;
  for (let at = 0; at < items.length; at += 1) {
    const size = bytesOf(items[at]!);
    if (at - start === most || (at > start && bytes + size > mostBytes)) {
      yield items.slice(start, at);
      start = at;
      bytes = 0;
    }
    bytes += size;
  }
  if (start < items.length) yield items.slice(start);
}
