/** What the store keeps of each schedule: one record for each, which whoever has read it last may write. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { RecordStore } from '../connections/record-store';

export interface ScheduleState {
  /** What decides what it sends: of whoever keeps it. */
  readonly spec: string;
  /** The moment from which on that holds: what was due before is none of its occurrences. */
  readonly since: Milliseconds;
  /** When this was written. */
  readonly seenAt: Milliseconds;
  /** Absent: it is not paused. */
  readonly pausedAt?: Milliseconds | undefined;
  /** The last occurrence that was sent, or left out; absent: none was. */
  readonly lastAt?: Milliseconds | undefined;
  /** Occurrences that were left out, because the job of the one before was still there. */
  readonly skipped?: number | undefined;
}

export interface KeptState extends ScheduleState {
  readonly name: string;
  /** As it stands in the store. */
  readonly text: string;
}

const KIND = 'schedule';
const PAGE = 500;

/** One that nobody declares any more is forgotten after this time. */
export const KEPT: Seconds = 7 * 24 * 3600;

export async function statesIn(records: RecordStore): Promise<ReadonlyMap<string, KeptState>> {
  const states = new Map<string, KeptState>();
  for (let offset = 0; ; offset += PAGE) {
    const page = await records.list(KIND, { limit: PAGE, offset });
    for (const { id, value } of page) {
      const state = read(id, value);
      if (state !== undefined) states.set(id, state);
    }
    if (page.length < PAGE) return states;
  }
}

export async function stateIn(records: RecordStore, name: string): Promise<KeptState | undefined> {
  const text = await records.get(KIND, name);
  return text === undefined ? undefined : read(name, text);
}

/** Undefined: somebody has written since it was read, and this has not. */
export async function write(
  records: RecordStore,
  name: string,
  state: ScheduleState,
  before: KeptState | undefined,
): Promise<KeptState | undefined> {
  const { spec, since, seenAt, pausedAt, lastAt, skipped } = state;
  const text = JSON.stringify({ spec, since, seenAt, pausedAt, lastAt, skipped });
  const isWritten = await records.replace({ kind: KIND, id: name, value: text }, before?.text, KEPT);
  return isWritten ? { ...state, name, text } : undefined;
}

// Written by another version, it may be anything.
function read(name: string, text: string): KeptState | undefined {
  const { spec, since, seenAt, pausedAt, lastAt, skipped } = JSON.parse(text) as Partial<Record<string, unknown>>;
  if (typeof spec !== 'string' || typeof since !== 'number') return undefined;
  const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return {
    name,
    text,
    spec,
    since,
    seenAt: number(seenAt) ?? since,
    pausedAt: number(pausedAt),
    lastAt: number(lastAt),
    skipped: number(skipped),
  };
}
