/** What to say where a command looks into a store that no other process could have put anything into. */
import type { QueueManager } from '../application/queue-manager';
import type { ProjectFlags } from './options';
import type { Session } from './session';

/** Opens the project for a command on failed jobs, which are those of all connections. */
export async function openForFailed(session: Session, flags: ProjectFlags): Promise<QueueManager> {
  const manager = await session.open(flags);
  const keepers = manager.connectionNames().filter((name) => !['sync', 'null'].includes(driverOf(manager, name)));
  const remarks = keepers.map((name) => memoryRemark(manager, name));
  if (!remarks.includes(undefined)) note(session, remarks[0]);
  return manager;
}

export function noteMemory(session: Session, manager: QueueManager, connection: string | undefined): void {
  note(session, memoryRemark(manager, connection));
}

/** Undefined: the connection keeps its jobs where other processes reach them. */
export function memoryRemark(manager: QueueManager, connection?: string): string | undefined {
  if (driverOf(manager, connection) !== 'memory') return undefined;
  return (
    `The driver memory lives in one process: this one starts with an empty store (connection ${manager.settings(connection).name}), ` +
    'and sees no job of any other. Use redis or database where processes share jobs.'
  );
}

function note({ output }: Session, remark: string | undefined): void {
  if (remark !== undefined) output.note(remark);
}

function driverOf(manager: QueueManager, connection?: string): string {
  return manager.settings(connection).driver;
}
