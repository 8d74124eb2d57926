/** A job that goes to another connection than that of the job before it. */
import type { Application } from './application';
import type { Entry } from './contract';
import { entriesFor, type Timed } from './due-entries';

export interface Onward extends Timed {
  readonly connection: string;
  readonly queue: string;
}

/** Returns the entry that was sent. @throws E_UNKNOWN_CONNECTION, and what its driver throws */
export async function sendOnward(application: Pick<Application, 'driver'>, onward: Onward): Promise<Entry> {
  const target = application.driver(onward.connection);
  const [entry] = await entriesFor(target, [onward]);
  await target.push(onward.queue, [entry!]);
  return entry!;
}
