/** What dead processes left in a store: the record of a frozen worker, and a schedule that is no longer declared. */
import type { Milliseconds } from '../../../src/base/clock';
import type { RecordStore } from '../../../src/connections/record-store';
import { uuidAt } from '../../../src/payload/uuid';
import { write } from '../../../src/schedule/occurrence';
import { VERSION } from '../../../src/version';

const HOUR = 3_600_000;
/** Seconds to keep the record. Real ones are kept for a minute; this one must last as long as a test. */
const KEPT = 3600;

/** Writes the record of a worker that reported half a minute ago for the last time. */
export async function putSilentWorker(
  records: RecordStore,
  now: Milliseconds,
  {
    connection,
    queues,
    job,
  }: { readonly connection: string; readonly queues: readonly string[]; readonly job: string },
): Promise<void> {
  const at = now - 30_000;
  const report = {
    id: uuidAt('silent worker', at),
    host: 'worker-2.shop.internal',
    pid: 4711,
    version: VERSION,
    connection,
    queues,
    concurrency: 10,
    state: 'running',
    at,
    since: at - 26 * HOUR,
    lag: 2840,
    paused: [],
    outcomes: { completed: 48_213, released: 310, failed: 96, cancelled: 4, lost: 1 },
    busy: 1,
    running: [{ id: job, name: 'SyncCustomer', queue: 'sync', attempt: 1, since: at - 8000 }],
  };
  await records.put([{ kind: 'workers', id: report.id, value: JSON.stringify(report) }], KEPT);
}

export async function putOrphan(records: RecordStore, now: Milliseconds, name: string): Promise<void> {
  const spec = '0 2 * * * (Europe/Amsterdam): ArchiveOrders, missed latest within 3600 s';
  const lastAt = now - 20 * HOUR;
  await write(records, name, { spec, since: now - 40 * HOUR, seenAt: lastAt, lastAt, skipped: 2 }, undefined, 3600);
}

/** The steps of a job that has failed. */
export async function putSteps(records: RecordStore, now: Milliseconds, connection: string, id: string): Promise<void> {
  const steps = [
    { name: 'download', at: now - HOUR, ms: 72_000, command: 1 },
    { name: '<b>charge</b>', at: now - HOUR / 2, ms: 90, command: 2 },
  ];
  const value = JSON.stringify({ fence: 1, steps, cursors: [] });
  await records.put([{ kind: 'checkpoint', id: `${connection}:${id}`, value }], KEPT);
}
