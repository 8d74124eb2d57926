/** Which connection keeps the records of another one: observations of its jobs, and its schedules. */
import type { Connection } from '../connections/contract';
import { noRecords } from './errors';

export interface RecordsApplication {
  driver(name: string): Connection;
  /** The connection that the configuration names. Undefined if each keeps its own. */
  readonly operationsConnection: string | undefined;
  readonly failedConnection: string;
}

/** A connection with the capability `operations`. */
export type OperationsConnection = Connection & {
  readonly [Part in 'find' | 'pushOnce' | 'records']-?: NonNullable<Connection[Part]>;
};

/** Undefined if no connection keeps records. */
export function operationsOf(
  connection: Connection,
  application: RecordsApplication,
): OperationsConnection | undefined {
  const { operationsConnection: named, failedConnection } = application;
  if (named !== undefined) return keeping(application.driver(named));
  return keeping(connection) ?? keeping(application.driver(failedConnection));
}

/** @throws E_NO_RECORDS */
export function neededOperationsOf(connection: Connection, application: RecordsApplication): OperationsConnection {
  const found = operationsOf(connection, application);
  if (found !== undefined) return found;
  throw noRecords(application.operationsConnection ?? connection.name);
}

function keeping(connection: Connection): OperationsConnection | undefined {
  return connection.capabilities.operations === true ? (connection as OperationsConnection) : undefined;
}
