/** A job that goes to another connection than that of the job before it. */
import type { Seconds } from '../base/clock';
import type { Application } from './application';
import type { Connection, Entry, PageToPush } from './contract';
import { entriesFor, type Timed } from './due-entries';

export interface Onward extends Timed {
  readonly connection: string;
  readonly queue: string;
}

/**
 * For how long a key is kept. If a worker dies between its push and its outcome, another one comes to the job as soon as the
 * lease ends. A longer time would help only if all workers are away, and each key takes up memory.
 */
const KEPT: Seconds = 3600;

/**
 * Returns the entry that was sent. @throws E_UNKNOWN_CONNECTION, and what its driver throws
 *
 * @param key sends it once under this key, if the target can; absent: sends it in any case
 */
export async function sendOnward(
  application: Pick<Application, 'driver' | 'clock'>,
  onward: Onward,
  key?: string,
): Promise<Entry> {
  const target = application.driver(onward.connection);
  const [entry] = await entriesFor(target, [onward]);
  const page = { queue: onward.queue, entries: [entry!] };
  const isThere = key !== undefined && (await pushedOnce(target, page, key, application));
  if (!isThere) await target.push(onward.queue, [entry!]);
  return entry!;
}

/** False if nothing was pushed, now or before. */
async function pushedOnce(
  target: Connection,
  page: PageToPush,
  key: string,
  { clock }: Pick<Application, 'clock'>,
): Promise<boolean> {
  // A failover keeps keys only in its first connection, and that may be away.
  if (target.pushOnce === undefined || target.standsFor !== undefined) return false;
  const now = (await target.now?.()) ?? clock.now();
  return (await target.pushOnce(page, { key, until: now + KEPT * 1000 })) !== 'late';
}
