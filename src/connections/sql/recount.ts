/** What batches have pending, counted anew from the texts of the jobs: whoever removes rows by hand counts nothing. */
import { type BatchTie, readTies } from '../../payload/ties';
import type { BatchState } from '../batch-store';
import type { Finding } from '../finding';
import type { BatchChange } from '../kit/batch-counts';
import { type Dialect, tiedIn } from './dialect';
import { rowsOf, sql, type Work } from './statement';

/** Jobs that are read at once. */
const PAGE = 1000;

const OPENING = Buffer.from('{');

/** The batch of a job of whose text this is the end. */
export function batchAtEnd(end: Buffer): BatchTie | undefined {
  return readTies(Buffer.concat([OPENING, end]))?.batch;
}

/** How much the jobs weigh that are there, by batch. */
export function* weightsOf({ tables, tiedEnd }: Dialect): Work<ReadonlyMap<string, number>> {
  const weights = new Map<string, number>();
  for (let last = 0; ;) {
    const rows = yield* rowsOf(
      sql`SELECT id, ${tiedEnd} FROM ${tables.jobs} WHERE id > ${last} ORDER BY id LIMIT ${PAGE}`,
    );
    for (const end of tiedIn(rows.map(([, text = null]) => text))) {
      const tie = batchAtEnd(end);
      if (tie !== undefined) weights.set(tie.id, (weights.get(tie.id) ?? 0) + tie.weight);
    }
    if (rows.length < PAGE) return weights;
    last = Number(rows.at(-1)![0]);
  }
}

type Miscounted = Extract<Finding, { kind: 'miscounted' }>;

export function miscounted(
  batches: readonly BatchState[],
  weights: ReadonlyMap<string, number>,
): readonly Miscounted[] {
  const findings = batches.map(({ id, pending }): Miscounted => {
    return { kind: 'miscounted', batch: id, pending, found: weights.get(id) ?? 0 };
  });
  return findings.filter(({ pending, found }) => pending !== found);
}

/** What is gone was skipped; what is there again is skipped no more. */
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
