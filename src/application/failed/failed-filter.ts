/** Failed jobs as users see and choose them: those that match every given field of a filter. */
import { redact } from '../../base/redact';
import type { FailedEntry, FailedSearch } from '../../connections/failed-store';
import type { ChainedJob, FailedLink } from '../../job/job-context';
import { CARRIER, chainedJobOf, readCarried, type ChainLink } from '../../payload/chain';
import { decodeEnvelope } from '../../payload/envelope';
import { hasFollowers } from '../../payload/payload-text';
import { readTies } from '../../payload/ties';
import type { Milliseconds } from '../../base/clock';
import { durationSeconds, type Duration } from '../../job/duration';
import { invalidFailedFilter } from './errors';

/** A job that has failed for good, as it is kept. */
export interface FailedJob {
  readonly id: string;
  /** Where it came from. */
  readonly connection: string;
  readonly queue: string;
  readonly name: string;
  /** The payload's text. Bytes that are not UTF-8 become replacement characters; the store keeps them unchanged. */
  readonly payload: string;
  /** The error with its stack; anything that looks like a password is masked. */
  readonly exception: string;
  /** By the store's clock. */
  readonly failedAt: Date;
  /** The tries that it used. */
  readonly attempts: number;
  /** The rest of its chain, kept in its payload: these jobs follow once the job is retried and succeeds. */
  readonly chain: readonly ChainedJob[];
  /** For a job that a chain sent because a link failed: which link, and why. */
  readonly cause: FailedLink | undefined;
  /** The id of the batch that it belongs to. */
  readonly batch: string | undefined;
}

/** Redacts the error again, because another program that shares the store may not have. */
export function failedJobOf({
  id,
  connection,
  queue,
  name,
  payload,
  exception,
  failedAt,
  attempts,
}: FailedEntry): FailedJob {
  const { links, cause } = chainOf(name, payload);
  // Field by field: copying the rest of the entry took most of the time of a list of a thousand.
  return {
    id,
    connection,
    queue,
    name,
    payload: payload.toString(),
    exception: redact(exception),
    failedAt: new Date(failedAt),
    attempts,
    chain: links.map((link) => chainedJobOf(link, connection)),
    cause,
    batch: readTies(payload)?.batch?.id,
  };
}

interface ReadChain {
  readonly links: readonly ChainLink[];
  readonly cause?: FailedLink | undefined;
}

const NONE: ReadChain = { links: [] };

function chainOf(name: string, payload: Buffer): ReadChain {
  const isCarrier = name === CARRIER;
  // Most payloads have no chain and need no parsing.
  if (!isCarrier && !hasFollowers(payload) && !payload.includes('"cause":{')) return NONE;
  try {
    const { chain, cause, fields } = decodeEnvelope(payload);
    return isCarrier ? { links: readCarried(fields['data']) } : { links: chain.links, cause };
  } catch {
    return NONE;
  }
}

export interface FailedFilter {
  /** Jobs of this queue. */
  readonly queue?: string | undefined;
  /** Jobs that came from this connection. */
  readonly connection?: string | undefined;
  /** Jobs of this name. */
  readonly name?: string | undefined;
  /** Jobs of the batch with this id. */
  readonly batch?: string | undefined;
  /** Jobs with this text in their error: its message, stack or causes, as `exception` shows them. */
  readonly error?: string | undefined;
  /**
   * Jobs of one group, as the dashboard forms them: by what the first lines of their errors have in common, such as `MailRefused:
   * 550`. Stacks and causes do not count.
   */
  readonly group?: string | undefined;
  /** Jobs that failed longer ago than this, in seconds or as `'7d'`, by their store's clock. */
  readonly olderThan?: Duration | undefined;
}

const TEXTS: readonly string[] = ['queue', 'connection', 'name', 'batch', 'error', 'group'];

/** Whether all fields are undefined. */
export function isEmpty(filter: FailedFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

/**
 * Refuses a filter with a mistake, because it could match all failed jobs.
 *
 * @throws E_FAILED_FILTER, E_INVALID_DURATION
 */
export function checkFilter(filter: FailedFilter, call: string): void {
  if (isEmpty(filter)) throw invalidFailedFilter(call, filter, 'it chooses none');
  for (const [field, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    if (field === 'olderThan') durationSeconds(value, `olderThan of ${call}`);
    else if (!TEXTS.includes(field)) throw invalidFailedFilter(call, filter, `'${field}' is not one of its fields`);
    else if (typeof value !== 'string' || value === '')
      throw invalidFailedFilter(call, filter, `'${field}' is not a string`);
  }
}

/** @throws E_FAILED_FILTER one of the numbers is not a count */
export function checkCounts(counts: Readonly<Record<string, number | undefined>>, call: string): void {
  for (const [field, count] of Object.entries(counts)) {
    if (count === undefined || count === Infinity || (Number.isSafeInteger(count) && count >= 0)) continue;
    throw invalidFailedFilter(call, counts, `'${field}' must be a whole number, 0 or more`, '');
  }
}

/** The fields of a failed job that filters look at. */
type Asked = Pick<FailedJob, 'queue' | 'connection' | 'name' | 'batch' | 'exception' | 'failedAt'>;

/** @throws E_INVALID_DURATION */
export function matching(
  { queue, connection, name, batch, error, group, olderThan }: FailedFilter,
  now: Milliseconds,
): (job: Asked) => boolean {
  const before = olderThan === undefined ? Infinity : now - durationSeconds(olderThan, 'olderThan') * 1000;
  return (job) =>
    (queue === undefined || job.queue === queue) &&
    (connection === undefined || job.connection === connection) &&
    (name === undefined || job.name === name) &&
    (batch === undefined || job.batch === batch) &&
    (error === undefined || job.exception.includes(error)) &&
    (group === undefined || commonText(job.exception) === group) &&
    job.failedAt.getTime() < before;
}

/** A filter as a store is asked for it. */
export interface KeptFilter {
  readonly queue: string | undefined;
  readonly search: FailedSearch;
  /** The last word, because a store need not look for anything. */
  readonly fits: (entry: FailedEntry) => boolean;
}

/** @param now the time by the store's clock; called only if the filter has `olderThan` */
export async function keptFilter(
  filter: FailedFilter,
  now: () => Promise<Milliseconds> | Milliseconds,
): Promise<KeptFilter> {
  const { queue, connection, name, batch, group, olderThan } = filter;
  // What the errors of a group have in common is a part of each.
  const error = filter.error ?? (group?.isWellFormed() === true ? group : undefined);
  const moment = olderThan === undefined ? 0 : await now();
  const until = olderThan === undefined ? undefined : moment - durationSeconds(olderThan, 'olderThan') * 1000;
  return { queue, search: { connection, name, batch, error, until }, fits: fitting(filter, moment) };
}

/** Like `matching`, for entries of a store; reads only the fields that the filter needs. */
function fitting(filter: FailedFilter, now: Milliseconds): (entry: FailedEntry) => boolean {
  const fits = matching(filter, now);
  return ({ queue, connection, name, payload, exception, failedAt }) =>
    fits({
      queue,
      connection,
      name,
      failedAt: new Date(failedAt),
      get batch() {
        return readTies(payload)?.batch?.id;
      },
      // Masked, as it is shown: nobody must find out a secret by trying filters.
      get exception() {
        return redact(exception);
      },
    });
}

/** Longest text, in characters. */
const LONGEST = 160;

/** `Error: customer gone-17 is unknown` → `Error: customer`: the first line, up to the part that differs from job to job. */
export function commonText(exception: string): string {
  // HTML forms do not return line ends and lone surrogates unchanged.
  const [line = ''] = /[^\r\n\0\p{Cs}]+/u.exec(exception) ?? [];
  const pieces = piecesOf(line.slice(0, LONGEST));
  const [first = ''] = pieces;
  // If the error begins with a part that differs, its class alone would say too little.
  if (!/^[\w$]*:?$/.test(first)) return first;
  const longest = pieces.reduce((one, other) => (other.length > one.length ? other : one), first);
  return longest === '' ? line.slice(0, LONGEST).trim() : longest;
}

/** The texts between words that look like numbers, ids, names or places. */
function piecesOf(line: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let before = '';
  for (const { 0: word, index } of line.matchAll(/\S+/g)) {
    if (differs(word, before)) {
      pieces.push(line.slice(start, index).trim());
      start = index + word.length;
    }
    before = word;
  }
  return [...pieces, line.slice(start).trim()];
}

function differs(word: string, before: string): boolean {
  // The status of a response says what went wrong.
  if (/^[1-5]\d\d\b/.test(word) && /^(status|code|http\S*)[:=]?$|:$/i.test(before)) return false;
  return /[\d'"`“”«»@]|^[/\\<{[]/.test(word);
}
