/** What belongs to one connection's tables, as it stands in statements. */
import { createHash } from 'node:crypto';
import { eachTable, type TableNames, VERSIONS_TABLE } from '../table-names';
import type { Sql } from '../statement';
import { identifier } from './inline';

export interface MysqlNames extends Readonly<Record<keyof TableNames, Sql>> {
  /** The index of the table of jobs that all queues are read by. */
  readonly turns: Sql;
  /** The index of the table of jobs that they are found by, by their ids in payloads. */
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

/** Bytes that a column with an index of its own holds. */
const LONGEST_KEY = 255;

/** As it is looked for: what is too long for an index stands there as its digest. */
export function keyOf(text: string): string {
  if (Buffer.byteLength(text) <= LONGEST_KEY) return text;
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
