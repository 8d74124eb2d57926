/** What the parts of a connection work with: its failed jobs, locks, records, batches and orders. */
import type { BatchRows } from './batch-rows';
import type { Dialect } from './dialect';
import type { Purpose } from './engine';
import { perform, runAll, type Work } from './statement';

/**
 * Runs work if the connection is open and its tables exist.
 *
 * @param operation for errors: `failed.list`
 * @throws ConnectionClosedError, and what `Engine.run` throws
 */
export type Access = <T>(operation: string, purpose: Purpose, work: () => Work<T>) => Promise<T>;

export interface Store {
  readonly access: Access;
  readonly dialect: Dialect;
  readonly batchRows: BatchRows;
  /** Call it when this process has written to a queue. */
  readonly wrote: (queue: string) => void;
}

export abstract class StorePart {
  protected readonly access: Access;
  protected readonly dialect: Dialect;
  protected readonly batchRows: BatchRows;
  protected readonly wrote: Store['wrote'];

  constructor({ access, dialect, batchRows, wrote }: Store) {
    this.access = access;
    this.dialect = dialect;
    this.batchRows = batchRows;
    this.wrote = wrote;
  }
}

/** Runs each step of the work in a call of its own, so that others can run in between. */
export function inPieces<T>(access: Access, operation: string, purpose: Purpose, work: Work<T>): Promise<T> {
  return perform({ run: (statements) => access(operation, purpose, () => runAll(statements)) }, work);
}
