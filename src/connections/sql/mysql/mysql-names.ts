/** What belongs to one connection's tables, as it stands in statements. */
import { createHash } from 'node:crypto';
import { type TableNames, VERSIONS_TABLE } from '../table-names';
import type { Sql } from '../statement';
import { identifier } from './inline';

export interface MysqlNames {
  readonly jobs: Sql;
  /** The index of the table of jobs that all queues are read by. */
  readonly turns: Sql;
  /** The index of the table of jobs that they are found by, by their ids in payloads. */
  readonly ids: Sql;
  readonly failed: Sql;
  readonly queues: Sql;
  readonly locks: Sql;
  readonly orders: Sql;
  readonly calls: Sql;
  readonly versions: Sql;
}

export function mysqlNames({ jobs, failed, queues, locks, orders, calls }: TableNames): MysqlNames {
  return {
    jobs: identifier(jobs),
    turns: identifier(`${jobs}_turns`),
    ids: identifier(`${jobs}_ids`),
    failed: identifier(failed),
    queues: identifier(queues),
    locks: identifier(locks),
    orders: identifier(orders),
    calls: identifier(calls),
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
