/** The events of a push, for its hooks. */
import type { QueueingEvent } from '../job/hook-events';
import { BUILT_IN } from '../job/registry';
import { glimpseOf, UNREADABLE_NAME } from '../payload/unreadable';
import type { Entry } from './contract';

export interface FollowUpPlace {
  readonly connection: string;
  readonly queue: string;
}

interface Push extends FollowUpPlace {
  /** Empty: a raw payload, which may have none. */
  readonly id: string;
  readonly name: string;
  readonly entry: Entry;
}

export function pushEvent({ id, name, connection, queue, entry }: Push): QueueingEvent {
  const { payload, dueAt, delay = 0 } = entry;
  const when = dueAt === undefined ? delay : new Date(dueAt);
  return { connectionName: connection, queue, id: id || undefined, name, payload, delay: when };
}

/**
 * The event of a job that follows another. Undefined for a carrier, which only sends a job on: that job is reported where it
 * arrives.
 */
export function followUpEvent({ connection, queue }: FollowUpPlace, entry: Entry): QueueingEvent | undefined {
  const { id = '', name = UNREADABLE_NAME } = glimpseOf(Buffer.from(entry.payload));
  return name.startsWith(BUILT_IN) ? undefined : pushEvent({ id, name, connection, queue, entry });
}
