/** bee-queue as its documentation sets it for throughput: no events, no jobs kept in memory or after success. */
import BeeQueue from 'bee-queue';

const SETTINGS = { getEvents: false, sendEvents: false, storeJobs: false, removeOnSuccess: true };

export async function prepare({ host, port }, { retries = false } = {}) {
  const open = (isWorker) => new BeeQueue('mails', { ...SETTINGS, isWorker, redis: { host, port } }).ready();
  const queue = await open(false);
  const jobOf = (mail) => {
    const job = queue.createJob(mail);
    return retries ? job.retries(5).backoff('exponential', 1_000) : job;
  };
  return {
    dispatchOne: (mail) => jobOf(mail).save(),

    dispatchMany: (mails) => Promise.all(mails.map((mail) => jobOf(mail).save())),

    async bulk(mails) {
      const errors = await queue.saveAll(mails.map(jobOf));
      if (errors.size > 0) throw new Error(`${errors.size} jobs were not queued`, { cause: [...errors.values()][0] });
    },

    async work(concurrency, watcher) {
      const worker = await open(true);
      worker.on('succeeded', () => watcher.settle());
      worker.on('failed', (_job, error) => watcher.fail(error));
      worker.on('error', (error) => watcher.fail(error));
      worker.process(concurrency, async ({ data }) => watcher.start(data.number));
      return () => worker.close();
    },

    async size() {
      const { waiting, active, succeeded, failed, delayed } = await queue.checkHealth();
      return waiting + active + succeeded + failed + delayed;
    },

    close: () => queue.close(),
  };
}
