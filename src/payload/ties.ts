/**
 * What a job counts in for as long as it is there: its unique key, or the key that it waits under, and its batch. They stand in the
 * job's own text, so that whatever ends the job in its store leaves them in the same step.
 *
 * In the text, `"ties"` is a list with spaces, right before the `id`, or before the mark of a retry that stands there:
 * `…,"ties":"ue<key>:60000 b<batch>*3","id":"…","attempts":0}`. A unique key is `u`, then `e` or `s` (until its end or its start), 22
 * characters, and perhaps `:` and for how many milliseconds it holds at most. The key of a debounced job is `d`, 22 characters, and
 * perhaps `:` and for how many milliseconds it can be put off. A batch is `b`, its id, `*` and the weight of the job. Only there they
 * count: a field of that name may be anywhere.
 */
import { hash } from 'node:crypto';
import type { Milliseconds, Seconds } from '../base/clock';
import { readCounters, RETRY_MARK } from './counters';
import { TIES, withFollowers, withMembers } from './payload-text';

export interface UniqueTie {
  /** 22 characters: `uniqueKey` makes it. */
  readonly key: string;
  /** What frees it: that the job ends, or that it is handed to a worker. */
  readonly until: 'start' | 'end';
  /** Longer than this it is not held; absent: for as long as the job is there. */
  readonly for?: Seconds | undefined;
}

export interface DebounceTie {
  /** 22 characters, of one queue: `debounceKey` makes it. */
  readonly key: string;
  /** So long after the first of those that took each other's places, it waits no more; absent: that has no end. */
  readonly longest?: Seconds | undefined;
}

export interface BatchTie {
  readonly id: string;
  /** Jobs of the batch that hang on it: itself, and the links that follow it. */
  readonly weight: number;
}

export interface Ties {
  readonly unique?: UniqueTie | undefined;
  /** Of a job without `unique` and `batch`: another one may take its place. */
  readonly debounce?: DebounceTie | undefined;
  readonly batch?: BatchTie | undefined;
}

export interface TiedJob extends Ties {
  readonly id: string;
}

/** As much as an id, a mark and ties take, generously. */
const WINDOW = 512;
/** As much as they take with the counters behind them: ties stand in so many bytes at the end of a text, and begin so. */
export const TIED_END = WINDOW + 128;
export const TIES_OPENING = `"${TIES}":"`;

const PLACE = new RegExp(String.raw`,"${TIES}":"([^"]*)"(?:,"${RETRY_MARK}":\d{1,15})?,"id":"([^"\\]+)"$`);
const UNIQUE = /^u([es])([\w-]{22})(?::(\d{1,15}))?(?= |$)/;
const DEBOUNCE = /^d([\w-]{22})(?::(\d{1,15}))?(?= |$)/;
const BATCH = /(?:^| )b([\w-]{1,64})\*(\d{1,9})(?= |$)/;

/** 128 bits of a hash: a key may be long, and may be a secret. */
export function uniqueKey(job: string, key: string): string {
  return keyOf(job, key);
}

/** A store looks for the one that waits in the queue of the push alone. */
export function debounceKey(job: string, key: string, queue: string): string {
  return keyOf('debounce', queue, job, key);
}

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', parts.join('\0'), 'buffer').toString('base64url', 0, 16);
}

/** The same payload, which `encodePayload` gave, with these ties. What follows it is in it already. */
export function withTies(payload: string, ties: Ties): string {
  const member = tiesMember(ties);
  return member === '' ? payload : withMembers(withFollowers(payload), member);
}

/** The jobs of a batch share their tie as a rule, so the text of the last one is kept. */
let last: { readonly batch: BatchTie; readonly member: string } | undefined;

/** As it stands in a payload, with a comma behind it. Empty if there are none. */
export function tiesMember(ties: Ties): string {
  const { batch } = ties;
  if (batch === undefined || ties.unique !== undefined || ties.debounce !== undefined) return memberOf(ties);
  if (last?.batch !== batch) last = { batch, member: memberOf(ties) };
  return last.member;
}

function memberOf({ unique, debounce, batch }: Ties): string {
  const ties: string[] = [];
  if (unique !== undefined) ties.push(`u${unique.until.charAt(0)}${unique.key}${bound(unique.for)}`);
  if (debounce !== undefined) ties.push(`d${debounce.key}${bound(debounce.longest)}`);
  if (batch !== undefined) ties.push(`b${batch.id}*${batch.weight}`);
  return ties.length === 0 ? '' : `"${TIES}":"${ties.join(' ')}",`;
}

function bound(most: Seconds | undefined): string {
  return most === undefined ? '' : `:${mostOf(most)}`;
}

/** As it is written. */
export function mostOf(most: Seconds): Milliseconds {
  return Math.max(Math.round(most * 1000), 1);
}

/** What stands at the end of a body, in its order. */
const ENDING = new RegExp(String.raw`(?:,"${TIES}":"[^"]*")?(?:,"${RETRY_MARK}":\d{1,15})?(?:,"id":"[^"\\]+")?$`);

/** Where a member goes that is added to a payload later: before its ties, mark and id, which are found without parsing only at the end. */
export function placeOfMembers(payload: Buffer, bodyEnd: number): number {
  return bodyEnd - (ENDING.exec(payload.toString('latin1', Math.max(bodyEnd - WINDOW, 0), bodyEnd))?.[0].length ?? 0);
}

const [QUOTE, COLON, ZERO, NINE] = [0x22, 0x3a, 0x30, 0x39];
const MARK_END = RETRY_MARK.charCodeAt(RETRY_MARK.length - 1);

/**
 * Whether a text, or the number of a mark, stands before the last `id`. As a rule neither does, and whoever ends a job asks: this
 * takes a tenth of the time of reading them.
 */
function mayBeTied(payload: Buffer): boolean {
  let before = payload.lastIndexOf(',"id":"', -1, 'latin1') - 1;
  if (payload[before] === QUOTE) return true;
  while (payload[before]! >= ZERO && payload[before]! <= NINE) before -= 1;
  return payload[before] === COLON && payload[before - 2] === MARK_END;
}

/** The id of a job with ties, which stands in its text right behind them. */
export function idOfTied(payload: string): string | undefined {
  return ID_AT_END.exec(payload.slice(-WINDOW))?.[1];
}

const ID_AT_END = /,"id":"([^"\\]+)"(?:,"[a-z]+":\d{1,13})+\}$/;

/** Undefined: it has none. */
export function readTies(payload: Buffer): TiedJob | undefined {
  if (!mayBeTied(payload)) return undefined;
  const end = readCounters(payload)?.bodyEnd;
  if (end === undefined) return undefined;
  const [, ties, id] = PLACE.exec(payload.toString('latin1', Math.max(end - WINDOW, 0), end)) ?? [];
  if (id === undefined || ties === undefined) return undefined;
  const [unique, debounce, batch] = [uniqueIn(ties), debounceIn(ties), batchIn(ties)];
  if (unique === undefined && debounce === undefined && batch === undefined) return undefined;
  return { id, ...(unique && { unique }), ...(debounce && { debounce }), ...(batch && { batch }) };
}

function uniqueIn(ties: string): UniqueTie | undefined {
  const [, until, key, most] = UNIQUE.exec(ties) ?? [];
  if (key === undefined) return undefined;
  return { key, until: until === 's' ? 'start' : 'end', ...(most && { for: Number(most) / 1000 }) };
}

function debounceIn(ties: string): DebounceTie | undefined {
  const [, key, most] = DEBOUNCE.exec(ties) ?? [];
  return key === undefined ? undefined : { key, ...(most && { longest: Number(most) / 1000 }) };
}

function batchIn(ties: string): BatchTie | undefined {
  const [, id, weight] = BATCH.exec(ties) ?? [];
  return id === undefined ? undefined : { id, weight: Number(weight) };
}
