/** A job that goes to another connection than the one where the job before it ended. */
import type { Application } from './application';
import { entriesFor, type Timed } from './due-entries';

export interface Onward extends Timed {
  readonly connection: string;
  readonly queue: string;
}

/** @throws E_UNKNOWN_CONNECTION, and what its driver throws */
export async function sendOnward(application: Pick<Application, 'driver'>, onward: Onward): Promise<void> {
  const target = application.driver(onward.connection);
  await target.push(onward.queue, await entriesFor(target, [onward]));
}
