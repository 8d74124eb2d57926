/**
 * Pages of a batch that are pushed once, under keys that whoever sends them again also knows: so a second sender goes on where the
 * first one died, and a seal knows whether the last page is in.
 */
import type { Clock, Milliseconds } from '../../base/clock';
import type { NewBatch } from '../../connections/batch-store';
import type { Connection, Once, PushedOnce } from '../../connections/contract';
import { entriesFor, pushEvent } from '../../connections/entries';
import type { EncodedJob } from '../encoded-job';
import { tellPushed } from '../send';

export interface BatchPage {
  readonly queue: string;
  readonly jobs: readonly EncodedJob[];
  /** The batch that begins with this page. */
  readonly begins?: NewBatch | undefined;
}

/** @param page `last`: once it is used, all of the batch is in */
export const pageKey = (batch: string, page: number | 'last'): string => `batch ${batch} ${page}`;

/** The time by the clock that judges keys. */
export async function timeOf(driver: Connection, clock: Clock): Promise<Milliseconds> {
  return (await driver.now?.()) ?? clock.now();
}

/** Pushes the page unless it was pushed before, and tells the hooks. @throws what the driver throws */
export async function pushPageOnce(driver: Connection, page: BatchPage, once: Once): Promise<PushedOnce> {
  const { queue, jobs, begins } = page;
  try {
    for (const job of jobs) await job.hooks?.emit('queueing', pushEvent(job));
    const pushed = await driver.pushOnce!({ queue, entries: await entriesFor(driver, jobs), begins }, once);
    for (const { observed } of jobs) observed?.end();
    if (typeof pushed !== 'string') for (const [place, job] of jobs.entries()) await tellPushed(job, pushed[place]);
    return pushed;
  } catch (error) {
    for (const { observed } of jobs) observed?.end(error);
    throw error;
  }
}
