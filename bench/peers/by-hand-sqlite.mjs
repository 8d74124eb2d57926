/** The least that one would write oneself on SQLite: one transaction settles N jobs and reserves N. A mark to measure by. */
import { createRequire } from 'node:module';

// What Onqueue uses.
const Database = createRequire(new URL('../../dist/index.js', import.meta.url))('libsql');

const LEASE_MS = 30_000;
const WAIT_MS = 100;

export async function prepare({ file }) {
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.exec(
    'CREATE TABLE IF NOT EXISTS mails (id INTEGER PRIMARY KEY, text TEXT NOT NULL, until INTEGER NOT NULL)',
  );
  database.exec('CREATE INDEX IF NOT EXISTS due ON mails (until, id)');
  const insert = database.prepare('INSERT INTO mails (text, until) VALUES (?, 0)');
  const settle = database.prepare('DELETE FROM mails WHERE id = ?');
  const reserve = database.prepare(
    'UPDATE mails SET until = ? WHERE id IN (SELECT id FROM mails WHERE until < ? ORDER BY until, id LIMIT ?) RETURNING id, text',
  );
  const exchange = database.transaction((done, count) => {
    for (const { id } of done) settle.run(id);
    return reserve.all(Date.now() + LEASE_MS, Date.now(), count);
  });
  return {
    bulk: database.transaction((mails) => {
      for (const mail of mails) insert.run(JSON.stringify(mail));
    }),

    async work(concurrency, watcher) {
      const stopping = new AbortController();
      const isWorking = () => !stopping.signal.aborted;
      const handle = async ({ text }) => watcher.start(JSON.parse(text).number);
      const loop = async () => {
        for (let done = []; isWorking() || done.length > 0;) {
          const jobs = exchange.immediate(done, isWorking() ? concurrency : 0);
          for (let each = 0; each < done.length; each += 1) watcher.settle();
          await Promise.all(jobs.map(handle));
          if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
          done = jobs;
        }
      };
      const ended = loop().catch((error) => watcher.fail(error));
      return async () => {
        stopping.abort();
        await ended;
      };
    },

    size: async () => database.prepare('SELECT count(*) AS size FROM mails').get().size,

    close: async () => database.close(),
  };
}
