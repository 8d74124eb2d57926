/** Names of tables and of what belongs to them, quoted as they are written in statements. */
import { eachTable, type TableNames, VERSIONS_TABLE } from '../table-names';

export interface Identifiers extends Readonly<Record<keyof TableNames, string>> {
  readonly versions: string;
  /** The sequence that provides places in line. */
  readonly places: string;
  /** A function's name contains the version of the tables that introduced it: older processes go on calling theirs. */
  readonly push: string;
  readonly pushTied: string;
  readonly pushBatch: string;
  readonly exchange: string;
  readonly retake: string;
  readonly changeBatches: string;
  /** The channel for hints to waiting workers: as text, not quoted. */
  readonly channel: string;
  /** The channel for those who wait for a record: as text, not quoted. */
  readonly recordChannel: string;
}

export function identifiers(names: TableNames): Identifiers {
  const { jobs } = names;
  return {
    ...eachTable(names, quoted),
    versions: quoted(VERSIONS_TABLE),
    places: quoted(`${jobs}_places`),
    push: quoted(`${jobs}_push_v8`),
    pushTied: quoted(`${jobs}_push_tied_v5`),
    pushBatch: quoted(`${jobs}_push_batch_v6`),
    exchange: quoted(`${jobs}_exchange_v6`),
    retake: quoted(`${jobs}_retake_v5`),
    changeBatches: quoted(`${jobs}_change_batches_v6`),
    channel: `onqueue_${jobs}`,
    recordChannel: `onqueue_${jobs}_told`,
  };
}

export const quoted = (name: string): string => `"${name}"`;

/** A name as a string literal. Names of tables contain no quotation marks. */
export const literal = (name: string): string => `'${name}'`;
