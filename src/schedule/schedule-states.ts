/** What the store keeps of each schedule: one record for each, which whoever has read it last may write. */
import type { Milliseconds, Seconds } from '../base/clock';
import { fieldsIn, type RecordStore } from '../connections/record-store';

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

const DAY: Seconds = 24 * 3600;
/** One that nobody declares any more is forgotten after this time. */
const KEPT: Seconds = 7 * DAY;
/** It stays paused also while no worker runs. */
const KEPT_PAUSED: Seconds = 365 * DAY;
/** A state is written anew as often, or it would be forgotten while there is nothing to tell. */
export const RENEWED_EVERY: Milliseconds = DAY * 1000;

export async function statesIn(records: RecordStore): Promise<ReadonlyMap<string, KeptState>> {
  const states = new Map<string, KeptState>();
  for (let offset = 0; ; offset += PAGE) {
    const page = await records.list(KIND, { limit: PAGE, offset });
    for (const { id, value } of page) states.set(id, read(id, value));
    if (page.length < PAGE) return states;
  }
}

export async function stateIn(records: RecordStore, name: string): Promise<KeptState | undefined> {
  const text = await records.get(KIND, name);
  return text === undefined ? undefined : read(name, text);
}

/**
 * Undefined: somebody has written since it was read, and this has not.
 *
 * @param back how far the schedule looks back: who comes after so long has to find it
 */
export async function write(
  records: RecordStore,
  name: string,
  state: ScheduleState,
  before: KeptState | undefined,
  back: Seconds,
): Promise<KeptState | undefined> {
  const { spec, since, seenAt, pausedAt, lastAt, skipped } = state;
  const text = JSON.stringify({ spec, since, seenAt, pausedAt, lastAt, skipped });
  const keep = pausedAt === undefined ? Math.max(KEPT, back + 2 * DAY) : KEPT_PAUSED;
  const isWritten = await records.replace({ kind: KIND, id: name, value: text }, before?.text, keep);
  return isWritten ? { ...state, name, text } : undefined;
}

/** Of what is none, written by whomever: one that is written over, and was seen by nobody. */
function read(name: string, text: string): KeptState {
  const fields = fieldsIn(text) ?? {};
  const number = (field: keyof ScheduleState): number | undefined => {
    const value = fields[field];
    return typeof value === 'number' ? value : undefined;
  };
  return {
    name,
    text,
    spec: typeof fields['spec'] === 'string' ? fields['spec'] : '',
    since: number('since') ?? 0,
    seenAt: number('seenAt') ?? 0,
    pausedAt: number('pausedAt'),
    lastAt: number('lastAt'),
    skipped: number('skipped'),
  };
}
