/**
 * What a supervisor saw of the deaths of processes: when, which and how. Its next process keeps it for each job that the dead one
 * ran, so that the history of the job can say more of a crash than its counters do.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { RecordStore } from '../../connections/record-store';
import { fieldsIn, isRecord } from '../../payload/kinds';

/** The death of a worker's process while it ran a job. */
export interface Death {
  /** The fence of the job at that time. */
  readonly fence: number;
  /** By the supervisor's clock. */
  readonly at: Milliseconds;
  readonly worker: string;
  readonly signal?: string | undefined;
  readonly code?: number | undefined;
}

const KIND = 'deaths';
const KEPT: Seconds = 24 * 60 * 60;
const MOST_JOBS = 10_000;
/** More crashes than this are rare, because they are poison. */
const MOST = 20;
const LONGEST_ID = 255;

/** @throws what the store throws */
export async function keepDeath(records: RecordStore, id: string, death: Death): Promise<void> {
  if (id.length > LONGEST_ID) return;
  const all = [...(await deathsOf(records, id)), death].slice(-MOST);
  await records.put([{ kind: KIND, id, value: JSON.stringify({ deaths: all }) }], KEPT, MOST_JOBS);
}

/** Oldest first. @throws what the store throws */
export async function deathsOf(records: RecordStore, id: string): Promise<readonly Death[]> {
  const deaths = fieldsIn(await records.get(KIND, id))?.['deaths'];
  return Array.isArray(deaths) ? deaths.filter(isDeath) : [];
}

function isDeath(death: unknown): death is Death {
  if (!isRecord(death)) return false;
  const { fence, at, worker } = death;
  return typeof fence === 'number' && typeof at === 'number' && typeof worker === 'string';
}
