/** graphile-worker with its defaults, or with what its documentation gives for throughput: batching of both ends. */
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

const logger = new Logger(() => () => {});
/** One for each job at once, and one that listens. */
const POOL = 12;
/** How often it is asked, when all have begun, whether all are done. */
const LOOK_MS = 5;

const BATCHING = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

export async function prepare({ url }, { batching = false } = {}) {
  const pgPool = new pg.Pool({ connectionString: url, max: POOL });
  // What fails in a call is thrown there; the rest is that a run's database is dropped at its end.
  pgPool.on('error', () => {});
  pgPool.on('connect', (client) => client.on('error', () => {}));
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const preset = { worker: { ...(batching ? BATCHING : {}) } };
  const size = async () => {
    const { rows } = await pgPool.query('SELECT count(*)::integer AS size FROM graphile_worker.jobs');
    return rows[0].size;
  };
  return {
    bulk: (mails) => utils.addJobs(mails.map((payload) => ({ identifier: 'SendMail', payload }))),

    async work(concurrency, watcher) {
      const count = await size();
      let begun = 0;
      const handle = async ({ number }) => {
        watcher.start(number);
        begun += 1;
        if (begun === count) confirmed().catch((error) => watcher.fail(error));
      };
      // Its event of a completed job comes before the store has confirmed it.
      const confirmed = async () => {
        while ((await size()) > 0) await pause(LOOK_MS);
        for (let each = 0; each < count; each += 1) watcher.settle();
      };
      const events = new EventEmitter();
      events.on('job:failed', ({ error }) => watcher.fail(error));
      const taskList = { SendMail: handle };
      const runner = await run({ pgPool, logger, events, taskList, concurrency, noHandleSignals: true, preset });
      return () => runner.stop();
    },

    size,

    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
}
