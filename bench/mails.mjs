/** The data of the jobs: about 100 bytes of JSON each, or as many as are asked for, and no two alike. */
const SUBJECT = 'Your order is on its way, and will be there soon';

/** What the rest of the data takes, about. */
const OTHERS = 52;

/** @param bytes of JSON in each, about */
export function mails(count, bytes = OTHERS + SUBJECT.length, first = 0) {
  // A text that is joined from pieces would be joined anew for each job.
  const subject = Buffer.alloc(Math.max(0, bytes - OTHERS), SUBJECT).toString();
  return Array.from({ length: count }, (_, place) => {
    const number = first + place;
    return { number, to: `reader-${number}@example.org`, subject };
  });
}

export function* pagesOf(list, length) {
  for (let start = 0; start < list.length; start += length) yield list.slice(start, start + length);
}

const PAGE = 1_000;

/** Queues so many, by the peer's call for many. Made page by page: a million at once would be in the way of what follows. */
export async function fill(peer, count, options) {
  for (let queued = 0; queued < count; queued += PAGE) {
    await peer.bulk(mails(Math.min(PAGE, count - queued), undefined, queued), options);
  }
}
