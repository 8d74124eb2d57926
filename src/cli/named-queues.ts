/** Queues as a command line names them: `high default`, `high,default`, and as Laravel does, `redis:default`. */
import { checkQueueName } from '../job/queue-name';
import type { QueueConnection } from '../queue/queue-connection';
import type { QueueManager } from '../queue/queue-manager';
import { noteMemory } from './memory-remark';
import { namesIn } from './options';
import type { Session } from './session';

export interface QueueFlags {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

export interface NamedQueue {
  readonly connection: QueueConnection;
  readonly queue: string;
}

/**
 * By default the connection's own queue. With `--connection` a colon belongs to the queue's name.
 *
 * @throws InvalidQueueNameError, UnknownConnectionError
 */
export function namedQueues(
  session: Session,
  manager: QueueManager,
  words: readonly string[],
  flags: QueueFlags,
): NamedQueue[] {
  const names = [...new Set([...words, flags.queue ?? ''].flatMap(namesIn))];
  const usual = manager.connection(flags.connection);
  const queues = names.map((name) => {
    const colon = name.indexOf(':');
    const connection = name.slice(0, Math.max(colon, 0));
    return flags.connection === undefined && manager.connectionNames().includes(connection)
      ? { connection: manager.connection(connection), queue: name.slice(colon + 1) }
      : { connection: usual, queue: name };
  });
  // All of them before anything is done to the first.
  for (const { queue } of queues) checkQueueName(queue, 'queue');
  const all = queues.length > 0 ? queues : [{ connection: usual, queue: usual.defaultQueue }];
  for (const { name } of new Set(all.map(({ connection }) => connection))) noteMemory(session, manager, name);
  return all;
}
