/** How a failed job is kept: one line of JSON that says why, then the payload as it is. */
import type { FailedEntry } from '../failed-store';
import { readCounters, readCountersOfAny } from '../../payload/counters';
import { UNREADABLE_NAME } from '../../payload/unreadable';
import type { Failure } from '../contract';

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

/**
 * What cannot be read of it, as somebody else wrote it, hides no other failed job, and none from who removes them.
 *
 * @param keeper the name of the connection that keeps it
 */
export function failedEntry(id: string, queue: string, failedAt: number, kept: Buffer, keeper: string): FailedEntry {
  const end = kept.indexOf('\n');
  const meta = metaOf(kept.toString('utf8', 0, Math.max(end, 0)));
  const payload = kept.subarray(end + 1);
  return {
    id,
    queue,
    failedAt,
    payload,
    name: textOf(meta['name']) ?? UNREADABLE_NAME,
    exception: textOf(meta['exception']) ?? NO_EXCEPTION,
    connection: textOf(meta['connection']) ?? keeper,
    attempts:
      typeof meta['attempts'] === 'number'
        ? meta['attempts']
        : ((readCounters(payload)?.counters ?? readCountersOfAny(payload))?.attempts ?? 0),
  };
}

const NO_EXCEPTION = 'Why it failed cannot be read: the entry was not written by Onqueue, or was changed since.';

function metaOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const meta: unknown = JSON.parse(line);
    return typeof meta === 'object' && meta !== null ? { ...meta } : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
