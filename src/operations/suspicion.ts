/**
 * The record of a job whose next crash would be its last: it waits to run alone, or was started. It is why a job's state says so,
 * how the next worker knows how often others have waited in vain, and whether a crash came of its run.
 */
import type { Seconds } from '../base/clock';
import { LONGEST_ID, type RecordStore } from '../connections/record-store';
import { countersIn, fenceOf, type Counters } from '../payload/counters';
import { fieldsIn } from '../payload/values';

export interface Suspicion {
  /** Crashes of the job when it was written: after another one, it starts over. */
  readonly crashes: number;
  /** The reservation that it was written in. The next one has another fence. */
  readonly fence: number;
  /** How often the job went back because its neighbours did not end in time. */
  readonly times: number;
  /** Whether the worker was about to start it. */
  readonly isStarted: boolean;
}

const KIND = 'suspects';
/** Longer than a job waits behind others once its pause is over, and longer than it runs. */
const KEPT: Seconds = 7 * 24 * 60 * 60;
const MOST = 10_000;

export async function keepSuspicion(records: RecordStore, id: string, suspicion: Suspicion): Promise<void> {
  if (id.length <= LONGEST_ID) await records.put([{ kind: KIND, id, value: JSON.stringify(suspicion) }], KEPT, MOST);
}

/** Undefined if none is kept, or it is about an earlier crash. */
export async function suspicionOf(
  records: RecordStore,
  id: string,
  counters: Counters,
): Promise<Suspicion | undefined> {
  if (id.length > LONGEST_ID) return undefined;
  const { crashes, fence, times, isStarted } = fieldsIn(await records.get(KIND, id)) ?? {};
  if (crashes !== counters.crashes || typeof fence !== 'number' || typeof times !== 'number') return undefined;
  return { crashes, fence, times, isStarted: isStarted === true };
}

/**
 * Whether the last crash of a job does not count, because it was not started. Where a start is not on record, that is assumed once.
 *
 * @param wasLastChance whether it was on its last chance then, so that its start would be on record
 */
export async function isCrashExcused(
  records: RecordStore,
  id: string,
  counters: Counters,
  wasLastChance: boolean,
): Promise<boolean> {
  if (id.length > LONGEST_ID) return false;
  const { crashes, fence, isStarted } = fieldsIn(await records.get(KIND, id)) ?? {};
  if (crashes === counters.crashes - 1 && fence === fenceOf(counters) - 1) return isStarted !== true;
  return wasLastChance && !(Number(crashes) >= counters.crashes);
}

/** Whether the job waits for that, in a worker or its queue. Looks up nothing for jobs that never crashed. */
export async function waitsToRunAlone(
  records: RecordStore | undefined,
  id: string | undefined,
  payload: Buffer,
): Promise<boolean> {
  const counters = countersIn(payload);
  if (records === undefined || id === undefined || counters === undefined || counters.crashes === 0) return false;
  // The list is worth more than this mark.
  const suspicion = await suspicionOf(records, id, counters).catch(() => undefined);
  return suspicion?.isStarted === false && suspicion.fence === fenceOf(counters);
}
