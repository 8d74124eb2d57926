/** Says what `onqueue check` finds of a store that may lose jobs, once for each connection: few run the check. */
import type { Logger } from '../base/logger';
import type { Connection } from '../connections/contract';

const told = new WeakSet<Connection>();

/** To be called once the store has answered. Never rejects. */
export async function tellDangers(connection: Connection, logger: Logger): Promise<void> {
  const store = connection.standsFor ?? connection;
  if (told.has(store)) return;
  told.add(store);
  const { name, address } = store;
  // What else is in the way is told by what the worker does.
  const found = await store.diagnose().catch(() => []);
  for (const { level, subject, message, endangersJobs } of found) {
    if (endangersJobs !== true) continue;
    const text = `${address} may lose jobs. ${subject}: ${message}`;
    if (level === 'error') logger.error({ connection: name, subject }, text);
    else logger.warn({ connection: name, subject }, text);
  }
}
