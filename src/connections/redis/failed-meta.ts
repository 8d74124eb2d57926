/** The stored form of a failed job: one line of JSON that says why it failed, then the payload as it was. */
import type { FailedEntry } from '../failed-store';
import { countersIn } from '../../payload/counters';
import { UNREADABLE_NAME } from '../../payload/unreadable';
import { fieldsIn } from '../../payload/kinds';

interface Meta {
  readonly name: string;
  readonly exception: string;
  /** Absent: the connection that keeps it. */
  readonly connection?: string | undefined;
  /** Absent: the payload's counters say it. */
  readonly attempts?: number | undefined;
}

export function metaLine({ name, exception, connection, attempts }: Meta): string {
  return JSON.stringify({ name, exception, connection, attempts });
}

/**
 * If somebody else wrote the entry and parts of it cannot be read, it still hides no other failed job and can be removed.
 *
 * @param keeper the name of the connection that keeps it
 */
export function failedEntry(id: string, queue: string, failedAt: number, kept: Buffer, keeper: string): FailedEntry {
  const end = kept.indexOf('\n');
  const meta = fieldsIn(kept.toString('utf8', 0, Math.max(end, 0))) ?? {};
  const payload = kept.subarray(end + 1);
  return {
    id,
    queue,
    failedAt,
    payload,
    name: textOf(meta['name']) ?? UNREADABLE_NAME,
    exception: textOf(meta['exception']) ?? NO_EXCEPTION,
    connection: textOf(meta['connection']) ?? keeper,
    attempts: typeof meta['attempts'] === 'number' ? meta['attempts'] : (countersIn(payload)?.attempts ?? 0),
  };
}

const NO_EXCEPTION = 'Why it failed cannot be read: the entry was not written by Onqueue, or was changed since.';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
