/** BullMQ with its defaults, but that completed jobs are removed. Its events cannot be turned off. */
import { Queue, Worker } from 'bullmq';
import { Tally } from '../tally.mjs';

export async function prepare({ host, port }) {
  const connection = { host, port, maxRetriesPerRequest: null };
  const queue = new Queue('mails', { connection, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  return {
    dispatchOne: (mail) => queue.add('SendMail', mail),

    dispatchMany: (mails) => Promise.all(mails.map((mail) => queue.add('SendMail', mail))),

    bulk: (mails) => queue.addBulk(mails.map((data) => ({ name: 'SendMail', data }))),

    async process(concurrency, count) {
      const tally = new Tally(count);
      const handle = async () => tally.start();
      const worker = new Worker('mails', handle, { connection, concurrency });
      worker.on('completed', () => tally.settle());
      worker.on('failed', (_job, error) => tally.fail(error));
      worker.on('error', (error) => tally.fail(error));
      const elapsed = await tally.elapsed;
      await worker.close();
      return elapsed;
    },

    async size() {
      return Object.values(await queue.getJobCounts()).reduce((sum, count) => sum + count, 0);
    },

    close: () => queue.close(),
  };
}
