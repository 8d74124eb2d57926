/**
 * Who is compared, in the order of the tables. Each has a module beside this one, which exports
 *
 * - `prepare(address, settings)`: connects, and gives an object with
 * - `dispatchOne(mail)`: queues one job, and resolves when the store has it;
 * - `dispatchMany(mails)`: queues one job for each, all under way at once;
 * - `bulk(mails, { due, queue })`: queues one job for each, by the peer's call for many; `due`, a date, and `queue` only
 *   where a scenario gives them;
 * - `work(concurrency, watcher, { queues })`: starts a worker, and gives a function that stops it. The watcher is told:
 *   `start(number)`, when a handler starts; `settle()`, when the store has confirmed that a job is done; `fail(error)`;
 * - `size()`: how many jobs the store holds, in whatever state;
 * - `close()`.
 *
 * It has what the scenarios need in which it takes part. Settings are
 *
 * - `retries`: each job may be tried 5 times, with waits that grow;
 * - of Onqueue, `hooks: false` and `injection: false`: without them;
 * - of graphile-worker, `batching`: with it;
 * - and what a scenario says to itself.
 */
export const peers = ['onqueue', 'bullmq', 'bee-queue', 'by-hand'];

/** Ratios are to this one. */
export const baseline = 'bullmq';
