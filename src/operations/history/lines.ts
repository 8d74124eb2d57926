/** The lines that a job has logged: the text of their record, which is bounded, and how the lines of a later run get into it. */
import type { Milliseconds } from '../../base/clock';
import { pagesOf } from '../../base/collections';
import type { RecordStore, StoreRecord } from '../../connections/record-store';
import { fieldsIn, isRecord } from '../../payload/values';
import { HISTORY_KEPT, MOST_KEPT } from './attempt';

export const LINES = 'lines';
export const MOST_LINES = 200;
/** Bytes of a record. */
const MOST_BYTES = 16 * 1024;
/** Concurrent calls to the store. */
const AT_ONCE = 10;

/** A line that a job has logged. */
export interface LogLine {
  /** By the worker's clock. */
  readonly at: Date;
  readonly text: string;
}

/** A line as it is stored. */
export interface KeptLine {
  readonly at: Milliseconds;
  /** Of the run that said it: each run writes all of its own lines. */
  readonly fence: number;
  readonly text: string;
}

/** All that one run, or several, have said. */
export interface SaidLines {
  readonly id: string;
  readonly said: readonly KeptLine[];
}

/** Anybody may have written the text. */
export function readLines(text: string | undefined): readonly LogLine[] | undefined {
  const lines = keptIn(text).map(({ at, text: line }) => ({ at: new Date(at), text: line }));
  return lines.length === 0 ? undefined : lines;
}

function keptIn(text: string | undefined): readonly KeptLine[] {
  const { lines } = fieldsIn(text) ?? {};
  return Array.isArray(lines) ? lines.filter(isLine) : [];
}

const isLine = (line: unknown): line is KeptLine =>
  isRecord(line) &&
  typeof line['text'] === 'string' &&
  [line['at'], line['fence']].every((number) => Number.isFinite(number));

/** Writes what runs have said behind what is kept of earlier ones. @throws what the store throws */
export async function writeLines(records: RecordStore, page: readonly SaidLines[]): Promise<void> {
  const written: StoreRecord[] = [];
  for (const some of pagesOf(page, () => 0, AT_ONCE))
    written.push(...(await Promise.all(some.map((one) => recordOf(records, one)))));
  await records.put(written, HISTORY_KEPT, MOST_KEPT);
}

async function recordOf(records: RecordStore, { id, said }: SaidLines): Promise<StoreRecord> {
  // Before a first run there is none.
  const before = said[0]?.fence === 1 ? [] : keptIn(await records.get(LINES, id));
  const fences = new Set(said.map(({ fence }) => fence));
  const others = before.filter(({ fence }) => !fences.has(fence));
  const lines = [...others, ...said].slice(-MOST_LINES).map((line) => JSON.stringify(line));
  let bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  let first = 0;
  for (; bytes > MOST_BYTES - 20; first += 1) bytes -= Buffer.byteLength(lines[first]!) + 1;
  return { kind: LINES, id, value: `{"lines":[${lines.slice(first).join(',')}]}` };
}
