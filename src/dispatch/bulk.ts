/**
 * Many jobs: encodes them, pushes them to their drivers in pages, and reports which are in if one fails, because those would run
 * twice if sent again.
 */
import { withConsequence } from '../base/define-error';
import { endOfTurn } from '../base/clock';
import { OnqueueError } from '../base/onqueue-error';
import { MOST_JOBS, pageBytes, pagesOf } from '../base/pages';
import type { NewBatch } from '../connections/batch-store';
import type { Pushed } from '../connections/contract';
import { entriesFor, pushEvent } from '../connections/entries';
import { QueueUnavailableError } from '../connections/errors';
import { notAJob } from '../job/errors';
import { BulkInterruptedError } from './errors';
import type { EncodedJob } from './encoded-job';
import { idAfter, isOwn, runsJobs, tellPushed, type Parcel, type Target } from './send';

/** A push that failed. */
export interface Refusal {
  readonly error: unknown;
  /** `job`: it ran within its push and failed; sent again, it would run twice. `own`: the job's own `queue()` failed. */
  readonly of: 'store' | 'job' | 'own';
}

/** At some 10 µs each, about a millisecond of work. */
export const ENCODED_AT_ONCE = 100;

/**
 * Encodes many jobs, and yields to the event loop in between.
 *
 * @throws E_NOT_A_JOB `jobs` is not a list; what `encode` throws, with the job's position
 */
export async function encodeAll<Encoded>(
  jobs: Iterable<object>,
  encode: (job: object) => Encoded,
): Promise<readonly Encoded[]> {
  if (typeof (jobs as Partial<Iterable<object>> | undefined)?.[Symbol.iterator] !== 'function')
    throw notAJob(jobs, 'a list of jobs');
  const encoded: Encoded[] = [];
  for (const job of jobs) {
    try {
      encoded.push(encode(job));
    } catch (error) {
      const place = encoded.length + 1;
      throw positioned(error, Array.isArray(jobs) ? `job ${place} of ${jobs.length}` : `job ${place}`);
    }
    if (encoded.length % ENCODED_AT_ONCE === 0) await endOfTurn();
  }
  return encoded;
}

/** Adds to one of our own errors which of many jobs it is about. */
export function positioned(error: unknown, position: string): unknown {
  if (!(error instanceof OnqueueError)) return error;
  const { message } = error;
  error.message = `${position}: ${message}`;
  // Node.js prints the stack, which quotes the original message.
  error.stack = error.stack?.replace(message, () => error.message) ?? error.message;
  return error;
}

/**
 * Sends the jobs, and returns their ids.
 *
 * @throws BulkInterruptedError if one failed and others are in; if none is in, the error itself
 */
export async function sendBulk(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
): Promise<string[]> {
  const inside: (readonly Parcel[])[] = [];
  /** Ids that are not the job's own. Noting all of them would cost as much as creating them. */
  const told = new Map<Parcel, string>();
  const idOf = (parcel: Parcel): string => told.get(parcel) ?? (isOwn(parcel) ? '' : parcel.id);
  const interrupt = ({ error, of }: Refusal, [{ name, queue }]: readonly [Parcel, ...Parcel[]]): never => {
    const sent = new Set(inside.flat());
    const total = parcels.length;
    const left = total - sent.size;
    const cause = withConsequence(error, `${left} of ${total} jobs ${left === 1 ? 'was' : 'were'} not queued`);
    if (sent.size === 0) throw cause;
    const unsent = Array.from(parcels.keys()).filter((place) => !sent.has(parcels[place]!));
    const what = {
      store: `the queue '${queue}' took no more`,
      job: `${name} ran and failed`,
      own: `the queue() of ${name} failed`,
    };
    const known = parcels.filter((parcel) => sent.has(parcel)).map(idOf);
    const ids = known.filter((id) => id !== '');
    throw new BulkInterruptedError({ ids, unsent, total, queue }, what[of], { cause });
  };
  const sent = (page: readonly Parcel[], ids?: readonly string[]): void => {
    inside.push(page);
    ids?.forEach((id, place) => told.set(page[place]!, id));
  };
  await sendAll(parcels, targetOf, sent, interrupt);
  return parcels.map(idOf);
}

/** A page on its way. */
interface Sending {
  readonly page: Page;
  readonly ended: Promise<Ended>;
}

interface Ended {
  /** What became of each job. Undefined if all are in. */
  readonly pushed?: readonly Pushed[] | void;
  /** `taken`: the jobs that are in nevertheless. */
  readonly refusal?: Refusal & { readonly taken: readonly EncodedJob[] };
}

/**
 * Sends many jobs, page by page, each queue's in order, then those with their own push. If a connection is unavailable, continues
 * with the others.
 *
 * @param sent called with jobs that are in or whose keys are held; with the ids, or those of the key holders, unless all are the
 * jobs' own
 * @param refused called for each page that is not in, or not completely; if it throws, the sending ends
 */
export async function sendAll(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
  sent: (page: readonly Parcel[], ids?: readonly string[]) => void,
  refused: (refusal: Refusal, page: readonly [Parcel, ...Parcel[]]) => void,
): Promise<void> {
  const away = new Set<string>();
  for (const group of groups(parcels.filter((parcel): parcel is EncodedJob => !isOwn(parcel)))) {
    const { connection } = group[0];
    const target = (): Target => targetOf(connection);
    const { jobs, atOnce } = mostOf(target);
    const underWay: Sending[] = [];
    const refusals: (readonly [Refusal, Page])[] = [];
    // If a page was refused, the pages already on their way are awaited before anybody is told: they may be in.
    const hear = async (most: number): Promise<void> => {
      while (underWay.length > (refusals.length > 0 ? 0 : most)) {
        const { page, ended } = underWay.shift()!;
        const { pushed, refusal } = await ended;
        if (pushed)
          sent(
            page,
            page.map((job, place) => idAfter(job, pushed[place])),
          );
        else sent(refusal?.taken ?? page);
        if (refusal !== undefined) refusals.push([refusal, page]);
      }
      for (const [refusal, page] of refusals.splice(0)) {
        if (refusal.of === 'store' && refusal.error instanceof QueueUnavailableError) away.add(connection);
        refused(refusal, page);
      }
    };
    // Each page has at least one job.
    for (const page of pagesOf(group, bytesOf, jobs) as Iterable<Page>) {
      if (away.has(connection)) break;
      underWay.push(await push(target, page));
      // Pages that are sent in one turn are written together.
      if (underWay.length < atOnce) continue;
      await hear(atOnce - 1);
      await endOfTurn();
    }
    await hear(0);
  }
  for (const own of parcels.filter(isOwn)) {
    try {
      sent([own], [await own.push()]);
    } catch (error) {
      refused({ error, of: 'own' }, [own]);
    }
  }
}

/** Resolves when the page is on its way. @param begins the batch that it begins */
export async function push(targetOf: () => Target, page: Page, begins?: NewBatch): Promise<Sending> {
  let of: Refusal['of'] = 'store';
  const refusal = (error: unknown): Ended => {
    const taken = of === 'job' ? page : takenOf(page, error);
    for (const job of page) job.observed?.end(taken.includes(job) ? undefined : error);
    return { refusal: { error, taken, of } };
  };
  try {
    const target = targetOf();
    if (runsJobs(target)) of = 'job';
    for (const job of page) if (job.hooks !== undefined) await job.hooks.emit('queueing', pushEvent(job));
    const pushing = target.push(page[0].queue, await entriesFor(target, page), begins);
    return { page, ended: pushing.then((pushed) => told(page, pushed)).catch(refusal) };
  } catch (error) {
    return { page, ended: Promise.resolve(refusal(error)) };
  }
}

async function told(page: Page, pushed: readonly Pushed[] | void): Promise<Ended> {
  for (const { observed } of page) observed?.end();
  for (let place = 0; place < page.length; place += 1) {
    const hearing = tellPushed(page[place]!, pushed?.[place]);
    if (hearing !== undefined) await hearing;
  }
  return { pushed };
}

/**
 * The jobs that a driver took of a page that it refused in part: it names the refused ones. Sent again, the others would run
 * twice.
 */
function takenOf(page: readonly EncodedJob[], error: unknown): readonly EncodedJob[] {
  const refused: unknown = error instanceof OnqueueError ? (error.facts as { readonly refused?: unknown }).refused : [];
  return Array.isArray(refused) && refused.length > 0 ? page.filter((_, place) => !refused.includes(place)) : [];
}

/**
 * How many jobs travel in a page, and how many pages at once. Jobs that run within their push travel alone: one that has run must
 * not be reported as not sent.
 */
function mostOf(targetOf: () => Target): { readonly jobs: number; readonly atOnce: number } {
  try {
    const target = targetOf();
    return { jobs: runsJobs(target) ? 1 : MOST_JOBS, atOnce: target.pushesAtOnce ?? 1 };
  } catch {
    // The push will report the error.
    return { jobs: MOST_JOBS, atOnce: 1 };
  }
}

/** Jobs of one queue, for one call. */
export type Page = readonly [EncodedJob, ...EncodedJob[]];

export const bytesOf = ({ entry }: EncodedJob): number => pageBytes(entry.payload);

/** The jobs of each queue, in order. */
export function groups(jobs: Iterable<EncodedJob>): Iterable<Page> {
  const groups = new Map<string, [EncodedJob, ...EncodedJob[]]>();
  let group: [EncodedJob, ...EncodedJob[]] | undefined;
  for (const job of jobs) {
    // The next job usually goes where the last one went.
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
