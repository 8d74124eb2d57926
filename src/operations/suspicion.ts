/**
 * The record of a job that waits to run alone, because its next crash would be its last. It is why a job's state says so, and how
 * the next worker knows how often others have waited in vain.
 */
import type { Seconds } from '../base/clock';
import type { RecordStore } from '../connections/record-store';
import { type Counters, countersIn, fenceOf } from '../payload/counters';
import { fieldsIn } from '../payload/kinds';

export interface Suspicion {
  /** Crashes of the job when it was written: after another one, it starts over. */
  readonly crashes: number;
  /** The reservation that it was written in. The next one has another fence. */
  readonly fence: number;
  /** How often the job went back because its neighbours did not end in time. */
  readonly times: number;
}

const KIND = 'suspects';
/** It may have to wait behind many others once its pause is over. */
const KEPT: Seconds = 24 * 60 * 60;
const MOST = 10_000;
const LONGEST_ID = 255;

export async function keepSuspicion(records: RecordStore, id: string, suspicion: Suspicion): Promise<void> {
  if (id.length <= LONGEST_ID) await records.put([{ kind: KIND, id, value: JSON.stringify(suspicion) }], KEPT, MOST);
}

export async function forgetSuspicion(records: RecordStore, id: string): Promise<void> {
  if (id.length <= LONGEST_ID) await records.put([{ kind: KIND, id, value: '' }], 0);
}

/** Undefined if none is kept, or it is about an earlier crash. */
export async function suspicionOf(
  records: RecordStore,
  id: string,
  counters: Counters,
): Promise<Suspicion | undefined> {
  if (id.length > LONGEST_ID) return undefined;
  const { crashes, fence, times } = fieldsIn(await records.get(KIND, id)) ?? {};
  if (crashes !== counters.crashes || typeof fence !== 'number' || typeof times !== 'number') return undefined;
  return { crashes, fence, times };
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
  return suspicion?.fence === fenceOf(counters);
}
