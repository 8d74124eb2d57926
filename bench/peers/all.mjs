/**
 * Who is compared, in the order of the table. Each has a module beside this one, which exports
 *
 * - `prepare(address)`: connects, and gives an object with
 * - `dispatchOne(mail)`: queues one job, and resolves when the store has it;
 * - `dispatchMany(mails)`: queues one job for each, all under way at once;
 * - `bulk(mails)`: queues one job for each, by the peer's call for many;
 * - `process(concurrency, count)`: works until `count` jobs are settled; gives the milliseconds from the first job's
 *   start to the store's confirmation of the last;
 * - `size()`: how many jobs the store holds, in whatever state;
 * - `close()`.
 */
export const peers = ['onqueue', 'bullmq', 'bee-queue', 'by-hand'];

/** Ratios are to this one. */
export const baseline = 'bullmq';
