/** The stored state of each schedule: one record, which only the process that read its latest version may overwrite. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { RecordStore } from '../connections/record-store';
import { fieldsIn } from '../payload/values';

export interface ScheduleState {
  /** What it sends and when, as declared by whoever keeps it. */
  readonly spec: string;
  /** The moment from which on the spec holds: earlier times are none of its occurrences. */
  readonly since: Milliseconds;
  /** When this was written. */
  readonly seenAt: Milliseconds;
  /** Absent: it is not paused. */
  readonly pausedAt?: Milliseconds | undefined;
  /** The last occurrence that was sent or skipped. Absent: there was none. */
  readonly lastAt?: Milliseconds | undefined;
  /** The last occurrence that was sent, and the queue it went to. Absent: there was none. */
  readonly sentAt?: Milliseconds | undefined;
  readonly sentTo?: string | undefined;
  /** The id of the job because of which the last occurrence was skipped. Absent: it was sent. */
  readonly heldBy?: string | undefined;
  /** Occurrences that were skipped because the job of the previous one still existed. */
  readonly skipped?: number | undefined;
}

export interface KeptState extends ScheduleState {
  readonly name: string;
  /** The stored text. */
  readonly text: string;
}

const KIND = 'schedule';
const PAGE = 500;

const DAY: Seconds = 24 * 3600;
/** A schedule that nobody declares any more is forgotten after this time. */
const KEPT: Seconds = 7 * DAY;
/** It stays paused even if no worker runs. */
const KEPT_PAUSED: Seconds = 365 * DAY;
/** How often a state is written again: otherwise it would expire if nothing changes. */
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
 * Undefined if somebody else has written since it was read; then nothing was written.
 *
 * @param back how far back the schedule looks: a process that comes after so long must still find the state
 */
export async function write(
  records: RecordStore,
  name: string,
  state: ScheduleState,
  before: KeptState | undefined,
  back: Seconds,
): Promise<KeptState | undefined> {
  const { spec, since, seenAt, pausedAt, lastAt, sentAt, sentTo, heldBy, skipped } = state;
  const text = JSON.stringify({ spec, since, seenAt, pausedAt, lastAt, sentAt, sentTo, heldBy, skipped });
  const keep = pausedAt === undefined ? Math.max(KEPT, back + 2 * DAY) : KEPT_PAUSED;
  const isWritten = await records.replace({ kind: KIND, id: name, value: text }, before?.text, keep);
  return isWritten ? { ...state, name, text } : undefined;
}

/** A record that is not a state, whoever wrote it, reads as one that may be overwritten and was never seen. */
function read(name: string, text: string): KeptState {
  const fields = fieldsIn(text) ?? {};
  const number = (field: keyof ScheduleState): number | undefined => {
    const value = fields[field];
    return typeof value === 'number' ? value : undefined;
  };
  const word = (field: keyof ScheduleState): string | undefined => {
    const value = fields[field];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    name,
    text,
    spec: word('spec') ?? '',
    since: number('since') ?? 0,
    seenAt: number('seenAt') ?? 0,
    pausedAt: number('pausedAt'),
    lastAt: number('lastAt'),
    sentAt: number('sentAt'),
    sentTo: word('sentTo'),
    heldBy: word('heldBy'),
    skipped: number('skipped'),
  };
}
