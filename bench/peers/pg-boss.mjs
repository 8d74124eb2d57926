/**
 * pg-boss by its `fetch` and `complete`, with as many jobs in a batch as the concurrency says: its `work` fetches one batch
 * every half second at most. Its maintenance and monitoring are on.
 */
import PgBoss from 'pg-boss';

export async function prepare({ url }) {
  const boss = new PgBoss(url);
  let problem = (error) => {
    throw error;
  };
  boss.on('error', (error) => problem(error));
  await boss.start();
  await boss.createQueue('mails');
  return {
    bulk: (mails) => boss.insert(mails.map((data) => ({ name: 'mails', data }))),

    async work(concurrency, watcher) {
      const stopping = new AbortController();
      const isWorking = () => !stopping.signal.aborted;
      problem = (error) => watcher.fail(error);
      const loop = async () => {
        while (isWorking()) {
          const jobs = await boss.fetch('mails', { batchSize: concurrency });
          if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 500));
          else {
            await Promise.all(jobs.map(async ({ data }) => watcher.start(data.number)));
            await boss.complete(
              'mails',
              jobs.map(({ id }) => id),
            );
            for (let each = 0; each < jobs.length; each += 1) watcher.settle();
          }
        }
      };
      const ended = loop().catch(problem);
      return async () => {
        stopping.abort();
        await ended;
      };
    },

    size: () => boss.getQueueSize('mails', { before: 'completed' }),

    close() {
      // A run's database is dropped at its end, and a connection may be left.
      problem = () => {};
      return boss.stop({ graceful: false, wait: true });
    },
  };
}
