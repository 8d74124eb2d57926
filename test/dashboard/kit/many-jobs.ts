/** Very many jobs, because what a page shows must not depend on their number. */
import type { QueueManager } from '../../../src/application/queue-manager';
import { pagesOf } from '../../../src/base/collections';
import type { Connection } from '../../../src/connections/contract';
import { uuidv7 } from '../../../src/payload/uuid';
import { customer } from './shop-data';
import { SendInvoice } from './shop-jobs';
import { reserveFrom, settleIn } from '../../support/exchange';

/** The number of concurrent calls, so that a store always has one to work on. */
const LANES = 4;
/** A placeholder in the payload for the number of a job. */
const NUMBER = 1_234_567_890;
const EXCEPTION = `MailRefused: 452 4.2.2 Mailbox full
    at SendInvoice.handle (/srv/shop/jobs/send-invoice.ts:31:13)`;

/** Adds waiting and failed jobs to a queue of the default connection, on which none may be waiting yet. */
export async function addManyJobs(
  manager: QueueManager,
  queue: string,
  { waiting = 0, failed = 0 }: { readonly waiting?: number; readonly failed?: number },
): Promise<void> {
  const driver = manager.driver();
  // One payload is encoded and reused, because encoding a hundred thousand takes seconds.
  const job = new SendInvoice(NUMBER, customer(0), new Date(Date.UTC(2027, 3, 1)));
  const { entry, id } = manager.encoder.encode(job, { connection: driver.name, queue });
  const entryOf = (place: number) => ({
    payload: entry.payload.replace(String(NUMBER), String(place)).replace(id, uuidv7()),
  });
  const push = async (count: number): Promise<void> => {
    const entries = Array.from({ length: count }, (_, place) => entryOf(place));
    const pages = pagesOf(entries, ({ payload }) => payload.length);
    await inLanes(async () => {
      for (const page of pages) await driver.push(queue, page);
    });
  };
  await push(failed);
  await inLanes(() => failAll(driver, queue));
  await push(waiting);
}

/** Fails all waiting jobs as a worker would, but without running any. */
async function failAll(driver: Connection, queue: string): Promise<void> {
  for (;;) {
    const { reservations } = await reserveFrom(driver, { queues: [queue], limit: 100, lease: 60 });
    if (reservations.length === 0) return;
    await settleIn(
      driver,
      reservations.map((reservation) => ({
        outcome: 'failed',
        reservation,
        counters: { ...reservation.counters, exceptions: 1 },
        failure: { id: idOf(reservation.payload), name: 'SendInvoice', exception: EXCEPTION },
      })),
    );
  }
}

function idOf(payload: Buffer): string {
  return (JSON.parse(payload.toString()) as { readonly id: string }).id;
}

async function inLanes(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: LANES }, work));
}
