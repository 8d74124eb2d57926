/**
 * The counters at the very end of every payload, and how to replace them without re-encoding the text.
 *
 * The rules, which `lua/parts/texts.lua` follows in Redis:
 *
 * 1. The canonical tail ends the text, to the byte: `,"crashes":1,"exceptions":2,"timeouts":1,"releases":3,"attempts":4}`. The order
 *    is fixed, no white space stands in it, and those but `attempts` are there only when above 0. It is looked for in
 *    the last 128 bytes, and counts only where the text begins with `{`, perhaps behind white space. A number in it has at
 *    most 13 digits: so all of them fit there, and each language writes the next number in digits alone.
 * 2. Where there is one, it alone says what the counters are: a name that it leaves out is 0, whatever the body says.
 *    New counters replace it; not a byte before it changes.
 * 3. Otherwise the text is parsed: a counter is the member of its name if that is a number from 0 to 1e13, rounded down;
 *    else 0. New counters replace the final `}` and what white space follows it by `,` and a canonical tail. In an
 *    object without members no comma stands before it. Of duplicate keys the last wins, in JavaScript, PHP and Lua.
 * 4. A text that is no JSON object has no counters, and is given none.
 * 5. An `id` is put directly before the counters in the same way; one that stands there is found without parsing.
 */
import { InvalidPayloadError } from './errors';
import { fieldsIn } from './values';

export interface Counters {
  /** Tries used, including the current run. */
  readonly attempts: number;
  /** Reservations whose lease ran out. */
  readonly crashes: number;
  /** Attempts that ended with an error or a timeout. */
  readonly exceptions: number;
  /** Attempts that ended with a timeout. With failOnTimeout, a job whose worker died of one must not run again. */
  readonly timeouts: number;
  /** Reservations that were given back at no cost in tries. */
  readonly releases: number;
}

export const noCounters: Counters = { attempts: 0, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 };

const WINDOW = 128;
const ID_WINDOW = 64;
const LARGEST = 1e13;
const OPENING = 0x7b;
const CLOSING = 0x7d;

const TAIL =
  /([{,])(?:"crashes":([1-9]\d{0,12}),)?(?:"exceptions":([1-9]\d{0,12}),)?(?:"timeouts":([1-9]\d{0,12}),)?(?:"releases":([1-9]\d{0,12}),)?"attempts":(\d{1,13})}$/;
const ID = /[{,]"id":"([^"\\]+)"$/;

/**
 * The counters of the canonical tail, and the length of the body before it. Undefined if there is no such tail.
 *
 * Reads only the last 128 bytes. What comes before is not checked: a text that is not JSON may have a tail too.
 */
export function readCounters(payload: Buffer): { counters: Counters; bodyEnd: number } | undefined {
  if (payload[0] !== OPENING && payload[firstOther(payload)] !== OPENING) return undefined;
  const tail = TAIL.exec(payload.toString('latin1', Math.max(payload.length - WINDOW, 0)));
  if (tail === null) return undefined;
  const [text, separator, crashes, exceptions, timeouts, releases, attempts] = tail;
  return {
    counters: {
      attempts: Number(attempts),
      crashes: Number(crashes ?? 0),
      exceptions: Number(exceptions ?? 0),
      timeouts: Number(timeouts ?? 0),
      releases: Number(releases ?? 0),
    },
    bodyEnd: payload.length - text.length + (separator === '{' ? 1 : 0),
  };
}

/** Undefined if it is not a JSON object. */
export function countersIn(payload: Buffer): Counters | undefined {
  return readCounters(payload)?.counters ?? readCountersOfAny(payload);
}

/** The counters of a text without a canonical tail, by parsing it. Undefined if it is not a JSON object. */
export function readCountersOfAny(payload: Buffer | string): Counters | undefined {
  // As Latin-1: JSON's syntax is ASCII, and a text that is not UTF-8 still has its counters.
  const fields = fieldsIn(typeof payload === 'string' ? payload : payload.toString('latin1'));
  if (fields === undefined) return undefined;
  return {
    attempts: counted(fields['attempts']),
    crashes: counted(fields['crashes']),
    exceptions: counted(fields['exceptions']),
    timeouts: counted(fields['timeouts']),
    releases: counted(fields['releases']),
  };
}

/** Whether both are texts of one job at different times: they differ only in their counters. */
export function isSameJob(one: Buffer, other: Buffer): boolean {
  return one.equals(other) || (hasCounters(one) && hasCounters(other) && bodyOf(one).equals(bodyOf(other)));
}

/** 0 if the text is not a JSON object. */
export function fenceIn(payload: Buffer): number {
  return fenceOf(countersIn(payload) ?? noCounters);
}

/** Whether the text is a JSON object: nothing else has counters. */
export function hasCounters(payload: Buffer): boolean {
  return countersIn(payload) !== undefined;
}

/** The canonical tail, with the comma that separates it from the body. */
export function countersTail({ attempts, crashes, exceptions, timeouts, releases }: Counters): string {
  let tail = `,"attempts":${attempts}}`;
  if (releases > 0) tail = `,"releases":${releases}${tail}`;
  if (timeouts > 0) tail = `,"timeouts":${timeouts}${tail}`;
  if (exceptions > 0) tail = `,"exceptions":${exceptions}${tail}`;
  if (crashes > 0) tail = `,"crashes":${crashes}${tail}`;
  return tail;
}

/**
 * The same payload with these counters at its end.
 *
 * @throws InvalidPayloadError when the text has no closing brace to put them before
 */
export function withCounters(payload: Buffer, counters: Counters): Buffer {
  return joined(bodyOf(payload), countersTail(counters));
}

/**
 * The same payload with this `id` directly before its counters.
 *
 * @throws InvalidPayloadError when the text has no closing brace to put it before
 */
export function withId(payload: Buffer, id: string): Buffer {
  const body = bodyOf(payload);
  const counters = readCounters(payload)?.counters;
  return joined(body, `,"id":${JSON.stringify(id)}${counters === undefined ? '}' : countersTail(counters)}`);
}

/** Whether the payload has an `id` that is a non-empty string. */
export function hasId(payload: Buffer): boolean {
  return readId(payload) !== undefined;
}

/** The payload's `id`. Undefined if it is not a string, or empty. `canonical`: the result of `readCounters` for it. */
export function readId(payload: Buffer, canonical = readCounters(payload)): string | undefined {
  const found = canonical && idBefore(payload, canonical.bodyEnd);
  if (found !== undefined) return found;
  // As UTF-8: as Latin-1, it would be another id.
  const id = fieldsIn(payload.toString())?.['id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The `id` directly before the counters, found without parsing. */
export function idAtEnd(payload: Buffer): string | undefined {
  const canonical = readCounters(payload);
  return canonical && idBefore(payload, canonical.bodyEnd);
}

function idBefore(payload: Buffer, bodyEnd: number): string | undefined {
  const found = ID.exec(payload.toString('latin1', Math.max(bodyEnd - ID_WINDOW, 0), bodyEnd))?.[1];
  return found === undefined ? undefined : Buffer.from(found, 'latin1').toString();
}

/** Grows by 1 with every reservation of the job. */
export const fenceOf = ({ attempts, crashes, releases }: Counters): number => attempts + crashes + releases;

/** A worker takes the job. */
export const afterReserve = (counters: Counters): Counters => ({ ...counters, attempts: counters.attempts + 1 });

/** Given back at no cost: the try does not count. */
export const afterFreeRelease = (counters: Counters): Counters => ({
  ...counters,
  attempts: Math.max(counters.attempts - 1, 0),
  releases: counters.releases + 1,
});

/** The attempt ended with an error: the try counts. */
export const afterFailedAttempt = (counters: Counters): Counters => ({
  ...counters,
  exceptions: counters.exceptions + 1,
});

/** The attempt ended with its timeout, which is a failed attempt too. */
export const afterTimedOut = (counters: Counters): Counters => ({
  ...afterFailedAttempt(counters),
  timeouts: counters.timeouts + 1,
});

/** The lease ran out: a crash counts instead of a try. */
export const afterReclaim = (counters: Counters): Counters => ({
  ...counters,
  attempts: Math.max(counters.attempts - 1, 0),
  crashes: counters.crashes + 1,
});

/**
 * The crash hit a job that was not started: it was only held. So it counts as a free release, and this reservation as another. The
 * sum stays, so that the next fence is higher.
 */
export const afterHeldCrash = (counters: Counters): Counters => ({
  ...afterFreeRelease(counters),
  crashes: counters.crashes - 1,
  releases: counters.releases + 2,
});

/** A failed job starts over. `releases` takes over the sum, so that no earlier text or fence ever returns. */
export const afterRetry = (counters: Counters): Counters => ({ ...noCounters, releases: fenceOf(counters) });

/**
 * A job that is sent back from the failed jobs is marked with its fence at that time.
 *
 * `releases` takes over that fence, so that no earlier text returns. The mark says how much of it predates the retry, so
 * that a job whose name no worker knows has its full time again. It comes before the `id`, which a store can find without
 * parsing only at the end.
 */
export const RETRY_MARK = 'fenceAtRetry';

/** The end of a body: the mark of an earlier retry and the id, if present. */
const RETRY_MARK_PLACE = new RegExp(String.raw`(?:,"${RETRY_MARK}":\d{1,15})?((?:,"id":"[^"\\]+")?)$`);

/** The same payload with this mark. It must end in our counters, and have other members. */
export function withRetryMark(payload: Buffer, fence: number): Buffer {
  const canonical = readCounters(payload);
  if (canonical === undefined) return payload;
  // As Latin-1, so that bytes that are not UTF-8 stay as they are.
  const body = payload
    .toString('latin1', 0, canonical.bodyEnd)
    .replace(RETRY_MARK_PLACE, `,"${RETRY_MARK}":${fence}$1`);
  return Buffer.from(body + countersTail(canonical.counters), 'latin1');
}

/** Reservations that were given back at no cost since the last retry, or ever if there was none. */
export function releasesSinceRetry(fields: Readonly<Record<string, unknown>>, { releases }: Counters): number {
  const fence = fenceAtRetry(fields);
  return fence <= releases ? releases - fence : releases;
}

/** The fence at the last retry; 0 if there was none, or somebody else has written the mark. */
export function fenceAtRetry(fields: Readonly<Record<string, unknown>>): number {
  const fence = fields[RETRY_MARK];
  return typeof fence === 'number' ? fence : 0;
}

function counted(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value < LARGEST ? Math.floor(value) : 0;
}

/** The part before the counters or, without a canonical tail, before the final brace. */
function bodyOf(payload: Buffer): Buffer {
  const canonical = readCounters(payload);
  if (canonical !== undefined) return payload.subarray(0, canonical.bodyEnd);
  const end = lastOther(payload, payload.length);
  if (payload[end] !== CLOSING) throw new InvalidPayloadError('it does not end in }, as a JSON object does');
  return payload.subarray(0, end);
}

// In an object without members, no comma is needed.
function joined(body: Buffer, members: string): Buffer {
  const isEmpty = body[lastOther(body, body.length)] === OPENING;
  return Buffer.concat([body, Buffer.from(isEmpty ? members.slice(1) : members)]);
}

/** The place of the first byte that is not white space. */
function firstOther(text: Buffer): number {
  let place = 0;
  while (isWhiteSpace(text[place])) place++;
  return place;
}

/** The place of the last byte before `end` that is not white space. */
function lastOther(text: Buffer, end: number): number {
  let place = end - 1;
  while (place >= 0 && isWhiteSpace(text[place])) place--;
  return place;
}

function isWhiteSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The name of a job whose text is not a payload. */
export const UNREADABLE_NAME = '(unreadable)';

/** Why a store set a text aside: the error of the failed job. The same words as in lua/parts/aside.lua. */
export const NOT_AN_OBJECT =
  'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. docs/format.md says what a payload looks like.';

/** The name and id of a job, read from the two ends of its text. */
export interface Glimpse {
  readonly id: string | undefined;
  readonly name: string | undefined;
}

const BEGINNING = 512;

/** How we and Laravel begin a text. */
const NAME = /^\{(?:"uuid":"[^"\\]*",)?"(?:displayName|job)":("(?:[^"\\]|\\["\\/])+")/;

/** What can be said about a text that is not a payload, or that must not be parsed because it may kill the parser. */
export function glimpseOf(payload: Buffer): Glimpse {
  const quoted = NAME.exec(payload.toString('utf8', 0, BEGINNING))?.[1];
  return { id: idAtEnd(payload), name: quoted?.slice(1, -1).replace(/\\(.)/g, '$1') };
}
