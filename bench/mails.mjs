/** The data of the jobs: about 100 bytes of JSON each, and no two alike. */
export function mails(count) {
  return Array.from({ length: count }, (_, number) => ({
    number,
    to: `reader-${number}@example.org`,
    subject: 'Your order is on its way, and will be there soon',
  }));
}

export function* pagesOf(list, length) {
  for (let start = 0; start < list.length; start += length) yield list.slice(start, start + length);
}
