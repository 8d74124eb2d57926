/** How a failed job is kept: one line of JSON that says why, then the payload as it is. */
import type { FailedEntry } from '../../failed/failed-store';
import { readCounters, readCountersOfAny } from '../../payload/counters';
import type { Failure } from '../../queue/connection';

interface Meta {
  readonly name: string;
  readonly exception: string;
  /** Absent: the connection that keeps it. */
  readonly connection?: string | undefined;
  /** Absent: as the payload's counters say. */
  readonly attempts?: number | undefined;
}

export function failureMeta({ name, exception }: Failure): string {
  return JSON.stringify({ name, exception } satisfies Meta);
}

export function foreignMeta({ name, exception, connection, attempts }: Omit<FailedEntry, 'failedAt'>): string {
  return JSON.stringify({ name, exception, connection, attempts } satisfies Meta);
}

/** @param keeper the name of the connection that keeps it */
export function failedEntry(id: string, queue: string, failedAt: number, kept: Buffer, keeper: string): FailedEntry {
  const end = kept.indexOf('\n');
  const { name, exception, connection, attempts } = JSON.parse(kept.toString('utf8', 0, end)) as Meta;
  const payload = kept.subarray(end + 1);
  return {
    id,
    queue,
    failedAt,
    payload,
    name,
    exception,
    connection: connection ?? keeper,
    attempts: attempts ?? (readCounters(payload)?.counters ?? readCountersOfAny(payload))?.attempts ?? 0,
  };
}
