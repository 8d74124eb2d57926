/** bee-queue as its documentation sets it for throughput: no events, no jobs kept in memory or after success. */
import BeeQueue from 'bee-queue';
import { Tally } from '../tally.mjs';

const SETTINGS = { getEvents: false, sendEvents: false, storeJobs: false, removeOnSuccess: true };

export async function prepare({ host, port }) {
  const open = (isWorker) => new BeeQueue('mails', { ...SETTINGS, isWorker, redis: { host, port } }).ready();
  const queue = await open(false);
  return {
    dispatchOne: (mail) => queue.createJob(mail).save(),

    dispatchMany: (mails) => Promise.all(mails.map((mail) => queue.createJob(mail).save())),

    async bulk(mails) {
      const errors = await queue.saveAll(mails.map((mail) => queue.createJob(mail)));
      if (errors.size > 0) throw new Error(`${errors.size} jobs were not queued`, { cause: [...errors.values()][0] });
    },

    async process(concurrency, count) {
      const tally = new Tally(count);
      const worker = await open(true);
      worker.on('succeeded', () => tally.settle());
      worker.on('failed', (_job, error) => tally.fail(error));
      worker.on('error', (error) => tally.fail(error));
      worker.process(concurrency, async () => tally.start());
      const elapsed = await tally.elapsed;
      await worker.close();
      return elapsed;
    },

    async size() {
      const { waiting, active, succeeded, failed, delayed } = await queue.checkHealth();
      return waiting + active + succeeded + failed + delayed;
    },

    close: () => queue.close(),
  };
}
