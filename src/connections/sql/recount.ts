/** Recounts the pending jobs of batches from the jobs' payloads, because rows that are removed by hand are not counted. */
import { type BatchTie, readTies } from '../../payload/ties';
import type { BatchState } from '../batch-store';
import type { Finding } from '../finding';
import type { BatchChange } from '../kit/batch-counts';
import { type Dialect, tiedIn } from './dialect';
import { AFTER_ALL } from './page';
import { rowsOf, sql, type Work } from './statement';

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
export function* weightsOf(dialect: Dialect): Work<Weights> {
  const weights = new Map<string, number>();
  for (let behind: number | undefined = 0; behind !== undefined;) {
    const page: Page = yield* pageBehind(dialect, behind);
    weigh(page, weights);
    behind = page.last;
  }
  return weights;
}

/** In pieces, so that others can run in between. @param read runs work that only reads */
export async function looseWeightsOf(
  dialect: Dialect,
  read: (work: () => Work<Page>) => Promise<Page>,
): Promise<Weights> {
  const weights = new Map<string, number>();
  for (let behind: number | undefined = 0; behind !== undefined;) {
    const from = behind;
    const page = await read(() => pageBehind(dialect, from));
    weigh(page, weights);
    behind = page.last;
  }
  return weights;
}

interface Page {
  /** The ends of the payloads with ties. */
  readonly tied: readonly Buffer[];
  /** Undefined if this is the last page. */
  readonly last: number | undefined;
}

function* pageBehind({ tables, tiedEnd, rows }: Dialect, id: number): Work<Page> {
  const behind = sql`FROM ${tables.jobs} WHERE id > ${id}`;
  const [row] = yield* rowsOf(sql`SELECT id ${behind} ORDER BY id LIMIT 1 OFFSET ${rows(PAGE - 1)}`);
  const last = row && Number(row[0]);
  const tied = yield* rowsOf(
    sql`SELECT ending FROM (SELECT ${tiedEnd} AS ending ${behind} AND id <= ${last ?? AFTER_ALL}) AS page
      WHERE ending IS NOT NULL`,
  );
  return { tied: tiedIn(tied.map(([ending = null]) => ending)), last };
}

function weigh({ tied }: Page, weights: Map<string, number>): void {
  for (const end of tied) {
    const tie = batchAtEnd(end);
    if (tie !== undefined) weights.set(tie.id, (weights.get(tie.id) ?? 0) + tie.weight);
  }
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
