/** The names of a connection's tables and indexes, as written in statements. */
import { createHash } from 'node:crypto';
import { eachTable, type TableNames, VERSIONS_TABLE } from '../table-names';
import type { Sql } from '../statement';
import { identifier } from './inline';

export interface MysqlNames extends Readonly<Record<keyof TableNames, Sql>> {
  /** The index of the jobs table on queue, state and turn. */
  readonly turns: Sql;
  /** The index of the jobs table on the payload's id. */
  readonly ids: Sql;
  readonly versions: Sql;
}

export function mysqlNames(names: TableNames): MysqlNames {
  return {
    ...eachTable(names, identifier),
    turns: identifier(`${names.jobs}_turns`),
    ids: identifier(`${names.jobs}_ids`),
    versions: identifier(VERSIONS_TABLE),
  };
}

/** Bytes that a column with an index holds. */
const LONGEST_KEY = 255;

/** The value of an indexed column: texts that are too long for an index are stored as their digest. */
export function keyOf(text: string): string {
  if (Buffer.byteLength(text) <= LONGEST_KEY) return text;
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
