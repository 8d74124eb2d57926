/** Hands encoded jobs to a driver: one, or many in pages. */
import { OnqueueError } from '../errors/onqueue-error';
import type { Connection } from './connection';
import { BulkInterruptedError, type Consequential, QueueUnavailableError } from './errors';
import type { EncodedJob } from './job-encoder';
import { nextTurn } from './next-turn';
import { pageBytes } from './payload-size';

/** What a call carries at most, so that no store is blocked by it. */
const MOST_ENTRIES = 100;
const MOST_BYTES = 1024 * 1024;

/** @throws QueueUnavailableError naming the job, and what else the driver throws */
export async function send(driver: Pick<Connection, 'push'>, job: Omit<EncodedJob, 'id'>): Promise<void> {
  try {
    await driver.push(job.queue, [job.entry]);
  } catch (error) {
    throw named(error, `${job.name} was not queued`);
  }
}

/**
 * Sends many jobs, page by page, each queue's in order.
 *
 * @throws BulkInterruptedError when a page failed and others before it went in
 */
export async function sendAll(
  jobs: readonly EncodedJob[],
  driverOf: (connection: string) => Pick<Connection, 'push'>,
): Promise<void> {
  const sent: string[] = [];
  for (const group of groups(jobs)) {
    const { connection, queue } = group[0];
    for (const page of pages(group)) {
      try {
        await driverOf(connection).push(
          queue,
          page.map(({ entry }) => entry),
        );
      } catch (error) {
        for (const { id } of takenOf(page, error)) sent.push(id);
        const cause = named(error, `${jobs.length - sent.length} of ${jobs.length} jobs were not queued`);
        if (sent.length === 0) throw cause;
        throw new BulkInterruptedError(sent, jobs.length, queue, { cause });
      }
      for (const { id } of page) sent.push(id);
      await nextTurn();
    }
  }
}

/**
 * Sends many jobs, as `sendAll` does, and goes on where a page is refused; with a connection that is away, not. Never
 * rejects: gives what went wrong.
 *
 * @param sent hears of each job that is in
 */
export async function sendWhatCanBe(
  jobs: readonly EncodedJob[],
  driverOf: (connection: string) => Pick<Connection, 'push' | 'driver'>,
  sent: (job: EncodedJob) => void,
): Promise<unknown[]> {
  const errors: unknown[] = [];
  const away = new Set<string>();
  for (const group of groups(jobs)) {
    const { connection, queue } = group[0];
    for (const page of pages(
      group,
      mostOf(() => driverOf(connection)),
    )) {
      if (away.has(connection)) break;
      try {
        await driverOf(connection).push(
          queue,
          page.map(({ entry }) => entry),
        );
        page.forEach(sent);
      } catch (error) {
        if (error instanceof QueueUnavailableError) away.add(connection);
        takenOf(page, error).forEach(sent);
        errors.push(
          named(error, page.length === 1 ? `${page[0]?.name} was not queued` : `${page.length} jobs were not queued`),
        );
      }
      await nextTurn();
    }
  }
  return errors;
}

/** What a driver took of a page that it refused in part: it says which it did not, and sent again the others would run twice. */
function takenOf(page: readonly EncodedJob[], error: unknown): readonly EncodedJob[] {
  const refused: unknown = error instanceof OnqueueError ? (error.facts as { readonly refused?: unknown }).refused : [];
  return Array.isArray(refused) && refused.length > 0 ? page.filter((_, place) => !refused.includes(place)) : [];
}

/** Of jobs that run within their push each ends for itself: one that has run must not be told as not sent. */
function mostOf(driver: () => Pick<Connection, 'driver'>): number {
  try {
    return driver().driver === 'sync' ? 1 : MOST_ENTRIES;
  } catch {
    // The push tells why.
    return MOST_ENTRIES;
  }
}

type Group = [EncodedJob, ...EncodedJob[]];

function groups(jobs: readonly EncodedJob[]): Iterable<Group> {
  const groups = new Map<string, Group>();
  let group: Group | undefined;
  for (const job of jobs) {
    // Mostly the next one goes where the last one went.
    if (group?.[0].connection !== job.connection || group[0].queue !== job.queue) {
      const target = JSON.stringify([job.connection, job.queue]);
      group = groups.get(target);
      if (group === undefined) {
        groups.set(target, (group = [job]));
        continue;
      }
    }
    group.push(job);
  }
  return groups.values();
}

// A page holds at least one job, whatever its size.
function* pages(jobs: readonly EncodedJob[], most = MOST_ENTRIES): Generator<EncodedJob[]> {
  let page: EncodedJob[] = [];
  let bytes = 0;
  for (const job of jobs) {
    const size = pageBytes(job.entry.payload);
    if (page.length === most || (page.length > 0 && bytes + size > MOST_BYTES)) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(job);
    bytes += size;
  }
  if (page.length > 0) yield page;
}

// One call may carry jobs of several dispatches, so each of them gets an error of its own, with its own job's name.
function named(error: unknown, consequence: string): unknown {
  return isConsequential(error) ? error.withConsequence(consequence) : error;
}

function isConsequential(error: unknown): error is Consequential {
  return error instanceof OnqueueError && 'withConsequence' in error;
}
