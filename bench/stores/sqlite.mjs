/** A SQLite file in a folder of its own. Whoever opens it does the work: there is no server whose CPU could be asked. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function start() {
  const folder = mkdtempSync(join(tmpdir(), 'onqueue-bench-'));
  const end = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', end);
  return {
    address: { url: `sqlite:${join(folder, 'jobs.sqlite')}`, file: join(folder, 'jobs.sqlite') },
    versions: {},
    watch: async () => async () => ({}),

    async clear() {
      for (const file of readdirSync(folder)) rmSync(join(folder, file));
    },

    async stop() {
      process.off('exit', end);
      end();
    },
  };
}
