/** The connections and queues that a command line names, as in Laravel: `clear redis --queue=high,default`. */
import { unknownConnection } from '../application/errors';
import type { QueueManager } from '../application/queue-manager';
import type { Connection } from '../connections/contract';
import { keepingConnections } from '../connections/driver';
import type { QueueConnection } from '../dispatch/queue-connection';
import { checkQueueName } from '../job/option-kinds';
import type { Call } from './command';
import { namesIn, type ProjectFlags } from './flags';

/** The optional argument of commands that look at one connection. */
export const CONNECTION_WORD = ['[connection]', 'a connection of the configuration (default: its default)'] as const;

interface QueueFlags extends ProjectFlags {
  readonly queue?: string | undefined;
  readonly all?: boolean | undefined;
}

/** What a command line names. */
interface Named {
  readonly manager: QueueManager;
  readonly connection: QueueConnection;
  readonly driver: Connection;
  /** The queues of `--queue`, without duplicates; empty without the flag. */
  readonly queues: readonly string[];
  /** The same; without the flag, the connection's default queue. */
  readonly queuesOrOwn: readonly string[];
}

/** As in Laravel, `redis:high` means the queue `high` of `redis`. @throws E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION */
export async function openNamed(call: Call<QueueFlags>): Promise<Named> {
  const manager = await call.open();
  const [word] = call.words;
  const [before = '', ...behind] = word?.split(':') ?? [];
  const isPair = behind.length > 0 && isConnection(manager, before) && !isConnection(manager, word!);
  const name = isPair ? before : word;
  const queues = [
    ...(isPair ? namesIn(behind.join(':'), `the queues of ${word}`) : []),
    ...(call.flags.queue === undefined ? [] : namesIn(call.flags.queue, '--queue')),
  ].filter((queue, at, all) => all.indexOf(queue) === at);
  checkConnection(manager, call.command, name, queues);
  // Checks all names before anything happens to the first queue.
  for (const queue of queues) checkQueueName(queue, 'queue');
  if (call.flags.all === true && queues.length > 0) call.refuse('give either --all or queues, not both');
  noteMemory(call, manager, [name]);
  const connection = manager.connection(name);
  const queuesOrOwn = queues.length === 0 ? [connection.defaultQueue] : queues;
  return { manager, connection, driver: manager.driver(name), queues, queuesOrOwn };
}

/** Opens the project for the connection of `--connection`. @throws E_UNKNOWN_CONNECTION */
export async function openConnection(
  call: Call<ProjectFlags & { readonly connection?: string | undefined }>,
): Promise<Pick<Named, 'manager' | 'connection'>> {
  const manager = await call.open();
  const connection = manager.connection(call.flags.connection);
  noteMemory(call, manager, [call.flags.connection]);
  return { manager, connection };
}

/** Opens the project for all connections that keep jobs. */
export async function openKeeping(call: Call<ProjectFlags>): Promise<QueueManager> {
  const manager = await call.open();
  noteMemory(call, manager, keepingConnections(manager));
  return manager;
}

/** Refuses a queue in the place of a connection, and says how to name it. @throws E_UNKNOWN_CONNECTION */
export function checkConnection(
  manager: QueueManager,
  command: string,
  name: string | undefined,
  queues: readonly string[] = [],
): void {
  if (name === undefined || isConnection(manager, name)) return;
  const line = `onqueue ${command} --queue=${[name, ...queues].join(',')}`;
  const remedy = `If you meant a queue: ${line}`;
  throw unknownConnection(name, manager.connectionNames(), manager.configurationSource, remedy);
}

function isConnection(manager: QueueManager, name: string): boolean {
  return name === 'sync' || manager.connectionNames().includes(name);
}

/** Prints a note if all these connections keep their jobs only in this process. */
export function noteMemory(call: Call, manager: QueueManager, connections: readonly (string | undefined)[]): void {
  const remarks = connections.map((name) => memoryRemark(manager, name));
  const [first] = remarks;
  if (first !== undefined && !remarks.includes(undefined)) call.output.note(first);
}

/** Undefined if other processes can reach the connection's jobs. */
export function memoryRemark(manager: QueueManager, connection?: string): string | undefined {
  const { driver, name } = manager.settings(connection);
  if (driver !== 'memory') return undefined;
  return (
    `The memory driver lives in one process: this one starts with an empty store (connection ${name}) ` +
    'and sees no jobs of others. Use redis or database to share jobs between processes.'
  );
}
