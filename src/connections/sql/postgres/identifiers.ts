/** Names of tables and of what belongs to them, quoted, so that they stand in a statement as they are written. */
import { eachTable, type TableNames, VERSIONS_TABLE } from '../table-names';

export interface Identifiers extends Readonly<Record<keyof TableNames, string>> {
  readonly versions: string;
  /** The sequence that gives places in line. */
  readonly places: string;
  /** Functions bear the version of the tables in which they came: older processes go on calling theirs. */
  readonly push: string;
  readonly pushTied: string;
  readonly pushBatch: string;
  readonly exchange: string;
  readonly retake: string;
  readonly changeBatches: string;
  /** Where hints for waiting workers are sent: a text, and not quoted. */
  readonly channel: string;
  /** Where those who wait for a record are told of it: a text, and not quoted. */
  readonly recordChannel: string;
}

export function identifiers(names: TableNames): Identifiers {
  const { jobs } = names;
  return {
    ...eachTable(names, quoted),
    versions: quoted(VERSIONS_TABLE),
    places: quoted(`${jobs}_places`),
    push: quoted(`${jobs}_push_v3`),
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

/** As a text in a statement. Names of tables hold no quotation marks. */
export const literal = (name: string): string => `'${name}'`;
