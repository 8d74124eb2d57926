/** The connection and the queues that a command line names, in Laravel's manner: `clear redis --queue=high,default`. */
import type { Command } from 'commander';
import { nearest } from '../base/nearest';
import { checkQueueName } from '../job/queue-name';
import { unknownConnection } from '../application/errors';
import type { QueueConnection } from '../dispatch/queue-connection';
import type { QueueManager } from '../application/queue-manager';
import { refuse } from './command';
import { noteMemory } from './memory-remark';
import { namesIn, type ProjectFlags } from './options';
import type { Session } from './session';

export interface QueueFlags extends ProjectFlags {
  readonly queue?: string | undefined;
}

export interface Named {
  readonly connection: QueueConnection;
  /** Those of `--queue`, each once; none: it was not given. */
  readonly queues: readonly string[];
}

/** What `--all` or the names of queues say. */
export interface QueuesFlags extends QueueFlags {
  readonly all?: true | undefined;
}

export function addConnectionArgument(command: Command): Command {
  return command.argument('[connection]', 'connection of the configuration (default: its default)');
}

/**
 * Laravel's `redis:high` is the queue `high` of the connection `redis`.
 *
 * @throws InvalidQueueNameError, E_UNKNOWN_CONNECTION
 */
export function namedQueues(session: Session, manager: QueueManager, command: Command, { queue }: QueueFlags): Named {
  const [word] = command.args;
  const [before = '', ...behind] = word?.split(':') ?? [];
  const isPair = behind.length > 0 && isConnection(manager, before) && !isConnection(manager, word!);
  const name = isPair ? before : word;
  const queues = [...(isPair ? [behind.join(':')] : []), queue ?? ''].flatMap(namesIn);
  checkConnection(manager, command.name(), name, queues);
  const names = [...new Set(queues)];
  // All of them before anything is done to the first.
  for (const each of names) checkQueueName(each, 'queue');
  noteMemory(session, manager, name);
  return { connection: manager.connection(name), queues: names };
}

/** Refuses `--all` beside queues: which of them is meant? */
export function checkAll(command: Command, { all }: QueuesFlags, queues: readonly string[]): void {
  if (all === true && queues.length > 0) refuse(command, 'give either --all or queues, not both');
}

/** Says of a queue that stands where a connection belongs where it is to stand. @throws E_UNKNOWN_CONNECTION */
export function checkConnection(
  manager: QueueManager,
  command: string,
  name: string | undefined,
  queues: readonly string[] = [],
): void {
  if (name === undefined || isConnection(manager, name)) return;
  const known = manager.connectionNames();
  const line = `onqueue ${command} --queue=${[name, ...queues].join(',')}`;
  throw unknownConnection(
    name,
    known,
    manager.configurationSource,
    nearest(name, known)[0],
    `If a queue is meant: ${line}`,
  );
}

function isConnection(manager: QueueManager, name: string): boolean {
  return name === 'sync' || manager.connectionNames().includes(name);
}
