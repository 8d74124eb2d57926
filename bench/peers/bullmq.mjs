/** BullMQ with its defaults, but that completed jobs are removed. Its events cannot be turned off. */
import { setTimeout as pause } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';

const RETRIES = { attempts: 5, backoff: { type: 'exponential', delay: 1_000 } };

export async function prepare({ host, port }, { retries = false, hold = 0, lease = 30 } = {}) {
  const connection = { host, port, maxRetriesPerRequest: null };
  const defaultJobOptions = { removeOnComplete: true, ...(retries ? RETRIES : {}) };
  const queues = new Map();
  const queueOf = (name) => {
    if (!queues.has(name)) queues.set(name, new Queue(name, { connection, defaultJobOptions }));
    return queues.get(name);
  };
  const mailQueue = queueOf('mails');
  await mailQueue.waitUntilReady();
  return {
    dispatchOne: (mail) => mailQueue.add('SendMail', mail),

    dispatchMany: (mails) => Promise.all(mails.map((mail) => mailQueue.add('SendMail', mail))),

    bulk(mails, { due, queue = 'mails' } = {}) {
      const opts = due === undefined ? {} : { delay: due.getTime() - Date.now() };
      return queueOf(queue).addBulk(mails.map((data) => ({ name: 'SendMail', data, opts })));
    },

    /** A worker of BullMQ has one queue: where there are several, so many workers share the process. */
    async work(concurrency, watcher, { queues: names = ['mails'] } = {}) {
      const handle = async ({ data }) => {
        watcher.start(data.number);
        if (hold > 0) await pause(hold);
      };
      const workers = names.map((name) => {
        const worker = new Worker(name, handle, { connection, concurrency, lockDuration: lease * 1000 });
        worker.on('completed', () => watcher.settle());
        worker.on('failed', (_job, error) => watcher.fail(error));
        worker.on('error', (error) => watcher.fail(error));
        return worker;
      });
      return () => Promise.all(workers.map((worker) => worker.close()));
    },

    async size() {
      const counts = await Promise.all([...queues.values()].map((queue) => queue.getJobCounts()));
      return counts.flatMap((each) => Object.values(each)).reduce((sum, count) => sum + count, 0);
    },

    close: () => Promise.all([...queues.values()].map((queue) => queue.close())),
  };
}
