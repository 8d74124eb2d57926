/** Recounts the pending jobs of batches from the jobs' payloads, because rows that are removed by hand are not counted. */
import { readTies, type BatchTie } from '../../payload/ties';
import type { BatchState } from '../batch-store';
import type { Finding } from '../contract';
import type { BatchChange } from '../kit/batch-counts';
import { tiedIn, type Dialect } from './dialect';
import { AFTER_ALL } from './page';
import { numeral, rowsOf, sql, valueOf, type Sql, type SqlValue, type Work } from './statement';

/** Jobs that are read at once. */
const PAGE = 1000;

const OPENING = Buffer.from('{');

/** The batch of a job, from the end of its payload. */
export function batchAtEnd(end: Buffer): BatchTie | undefined {
  return readTies(Buffer.concat([OPENING, end]))?.batch;
}

/** The total weight of the existing jobs of each batch. */
export type Weights = ReadonlyMap<string, number>;

/** A consistent result if the batches are locked. */
export function* weightsOf({ tables, tiedEnd, rows }: Dialect): Work<Weights> {
  const weights = new Map<string, number>();
  for (let last: SqlValue = 0; last !== null;) {
    const behind: Sql = sql`FROM ${tables.jobs} WHERE id > ${numeral(last)}`;
    last = yield* valueOf(sql`SELECT id ${behind} ORDER BY id LIMIT 1 OFFSET ${rows(PAGE - 1)}`);
    const ends = yield* rowsOf(
      sql`SELECT ending FROM (SELECT ${tiedEnd} AS ending ${behind} AND id <= ${numeral(last ?? AFTER_ALL)}) AS page
        WHERE ending IS NOT NULL`,
    );
    for (const end of tiedIn(ends.map(([ending = null]) => ending))) {
      const tie = batchAtEnd(end);
      if (tie !== undefined) weights.set(tie.id, (weights.get(tie.id) ?? 0) + tie.weight);
    }
  }
  return weights;
}

type Miscounted = Extract<Finding, { kind: 'miscounted' }>;

export function miscounted(batches: readonly BatchState[], weights: Weights): readonly Miscounted[] {
  const findings = batches.map(({ id, pending }): Miscounted => {
    return { kind: 'miscounted', batch: id, pending, found: weights.get(id) ?? 0 };
  });
  return findings.filter(({ pending, found }) => pending !== found);
}

/** Jobs that are gone count as skipped; jobs that are back no longer do. */
export function repairsOf(
  findings: readonly Miscounted[],
  batches: readonly BatchState[],
): ReadonlyMap<string, BatchChange> {
  const skipped = new Map(batches.map((batch) => [batch.id, batch.skipped]));
  return new Map(
    findings.map(({ batch, pending, found }) => {
      const change = found - pending;
      return [batch, { pending: change, skipped: -Math.min(change, skipped.get(batch)!) }];
    }),
  );
}
