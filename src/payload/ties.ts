/**
 * What a job is tied to as long as it exists: its unique key, or its debounce key, its batch, and its lane. Ties are part of the
 * job's text, so that whatever ends the job in its store releases them in the same step.
 *
 * In the text, `"ties"` is a list separated by spaces, right before the `id`, or before the mark of a retry in front of it:
 * `…,"ties":"ue<key>:60000 b<batch>*3","id":"…","attempts":0}`. A unique key is `u`, then `e` or `s` (until its end or its
 * start), 22 characters, and optionally `:` and the milliseconds for which it is held at most. A debounce key is `d`, 22
 * characters, and optionally `:` and the milliseconds for which the job can be put off. A batch is `b`, its id, `*` and the
 * weight of the job. A lane comes last: `l`, or `L` if it is ordered, how many of its jobs may be ready or running, `/`, and up to 64 characters.
 * Ties count only at this place: a field of that name may be anywhere.
 */
import { hash } from 'node:crypto';
import type { Milliseconds, Seconds } from '../base/clock';
import { fenceIn, readCounters, RETRY_MARK } from './counters';
import { TIES, withFollowers, withMembers } from './payload-text';

export interface UniqueTie {
  /** 22 characters, made by `uniqueKey`. */
  readonly key: string;
  /** What frees it: the end of the job, or its handing out to a worker. */
  readonly until: 'start' | 'end';
  /** It is not held for longer than this; absent: as long as the job exists. */
  readonly for?: Seconds | undefined;
}

export interface DebounceTie {
  /** 22 characters, made by `debounceKey`, for one queue. */
  readonly key: string;
  /** How long jobs that replace each other can wait, counted from the first; absent: no limit. */
  readonly longest?: Seconds | undefined;
}

export interface BatchTie {
  readonly id: string;
  /** How many jobs of the batch depend on it: itself, and the links that follow it. */
  readonly weight: number;
}

export interface LaneTie {
  /** 1 to 64 characters, made by `laneKey`. */
  readonly key: string;
  /** How many jobs of the lane may be ready or running in their queue at a time. */
  readonly running: number;
  /** A job that waits for its next attempt keeps its place, so that no other overtakes it. Only with `running: 1`. */
  readonly ordered: boolean;
}

export interface Ties {
  readonly unique?: UniqueTie | undefined;
  /** For a job without `unique` and `batch`: another one may take its place. */
  readonly debounce?: DebounceTie | undefined;
  readonly batch?: BatchTie | undefined;
  readonly lane?: LaneTie | undefined;
}

export interface TiedJob extends Ties {
  readonly id: string;
}

/** Enough bytes for an id, a mark and ties. */
const WINDOW = 512;
/** Enough bytes for them and the counters: ties are within this many bytes of the end of a text, and begin like this. */
export const TIED_END = WINDOW + 128;
export const TIES_OPENING = `"${TIES}":"`;

const PLACE = new RegExp(String.raw`,"${TIES}":"([^"]*)"(?:,"${RETRY_MARK}":\d{1,15})?,"id":"([^"\\]+)"$`);
const UNIQUE = /^u([es])([\w-]{22})(?::(\d{1,15}))?(?= |$)/;
const DEBOUNCE = /^d([\w-]{22})(?::(\d{1,15}))?(?= |$)/;
const BATCH = /(?:^| )b([\w-]{1,64})\*(\d{1,9})(?= |$)/;
const LANE = /(?:^| )([lL])(\d{1,9})\/([\w.:@-]{1,64})$/;

/** Keys that stay as they are: people read them in lists. */
const PLAIN_LANE = /^[\w.:@-]{1,64}$/;

/** The key of a lane, as stores know it: a key that is long, or has other characters, becomes a hash. */
export function laneKey(key: string): string {
  return PLAIN_LANE.test(key) ? key : keyOf('lane', key);
}

/** 128 bits of a hash, because a key may be long, and may be a secret. */
export function uniqueKey(job: string, key: string): string {
  return keyOf(job, key);
}

/** The key that the occurrences of a schedule share, if one is skipped while the job of the previous one exists. */
export function overlapKey(schedule: string): string {
  return uniqueKey('onqueue:schedule', schedule);
}

/** Without its unique key, if it is this one, held until the end of the job, and its only tie. */
export function withoutUniqueKey(payload: Buffer, key: string): Buffer {
  if (readTies(payload)?.unique?.key !== key) return payload;
  const member = `,"${TIES}":"ue${key}"`;
  const place = payload.lastIndexOf(member, -1, 'latin1');
  return place < 0 ? payload : Buffer.concat([payload.subarray(0, place), payload.subarray(place + member.length)]);
}

/** A store looks for the waiting job only in the queue of the push. */
export function debounceKey(job: string, key: string, queue: string): string {
  return keyOf('debounce', queue, job, key);
}

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', parts.join('\0'), 'buffer').toString('base64url', 0, 16);
}

/** Whether a job that gave up the key takes it again when it is handed out. With a limit of its own it has had its time. */
export function isTakenBack(unique: UniqueTie | undefined): boolean {
  return unique?.until === 'end' && unique.for === undefined;
}

/**
 * A payload made by `encodePayload`, with these ties; its lane, if it has one, stays. The jobs that follow it must be in it
 * already.
 */
export function withTies(payload: string, ties: Ties): string {
  const lane = laneOf(payload);
  if (lane !== undefined) return withTies(payload.replace(MEMBER_AT_END, ','), { ...ties, lane });
  const member = tiesMember(ties);
  return member === '' ? payload : withMembers(withFollowers(payload), member);
}

const MEMBER_AT_END = new RegExp(String.raw`,"${TIES}":"[^"]*",(?="id":"[^"\\]+","attempts":0\}$)`);
/** Characters from the end of the value before the id in a payload made by `encodePayload`: a UUID, and no counter but one. */
const BEFORE_ID = ',"id":"","attempts":0}'.length + 36 + 1;

/** The lane of a payload made by `encodePayload`. Undefined if it has none. */
export function laneOf(payload: string): LaneTie | undefined {
  // Hardly any job has a string there.
  if (payload.charCodeAt(payload.length - BEFORE_ID) !== QUOTE) return undefined;
  return laneOfAny(payload);
}

/** The lane of any payload, as a store reads it. Undefined if it has none. */
export function laneOfAny(payload: string): LaneTie | undefined {
  return readTies(Buffer.from(`{${payload.slice(-TIED_END)}`))?.lane;
}

/** The jobs of a batch usually share their tie, so we keep the text of the last one. */
let last: { readonly batch: BatchTie; readonly member: string } | undefined;

/** The member as it is written in a payload, followed by a comma. Empty if there are no ties. */
export function tiesMember(ties: Ties): string {
  const { batch } = ties;
  const isAlone = ties.unique === undefined && ties.debounce === undefined && ties.lane === undefined;
  if (batch === undefined || !isAlone) return memberOf(ties);
  if (last?.batch !== batch) last = { batch, member: memberOf(ties) };
  return last.member;
}

function memberOf({ unique, debounce, batch, lane }: Ties): string {
  const ties: string[] = [];
  if (unique !== undefined) ties.push(`u${unique.until.charAt(0)}${unique.key}${bound(unique.for)}`);
  if (debounce !== undefined) ties.push(`d${debounce.key}${bound(debounce.longest)}`);
  if (batch !== undefined) ties.push(`b${batch.id}*${batch.weight}`);
  if (lane !== undefined) ties.push(`${lane.ordered ? 'L' : 'l'}${lane.running}/${lane.key}`);
  return ties.length === 0 ? '' : `"${TIES}":"${ties.join(' ')}",`;
}

function bound(most: Seconds | undefined): string {
  return most === undefined ? '' : `:${mostOf(most)}`;
}

/** In the written form. */
export function mostOf(most: Seconds): Milliseconds {
  return Math.max(Math.round(most * 1000), 1);
}

/** The end of a body, in order. */
const ENDING = new RegExp(String.raw`(?:,"${TIES}":"[^"]*")?(?:,"${RETRY_MARK}":\d{1,15})?(?:,"id":"[^"\\]+")?$`);

/**
 * Where to insert a member into an existing payload: before its ties, mark and id, which can be found without parsing only
 * at the end.
 */
export function placeOfMembers(payload: Buffer, bodyEnd: number): number {
  return bodyEnd - (ENDING.exec(payload.toString('latin1', Math.max(bodyEnd - WINDOW, 0), bodyEnd))?.[0].length ?? 0);
}

const [QUOTE, COLON, ZERO, NINE] = [0x22, 0x3a, 0x30, 0x39];
const MARK_END = RETRY_MARK.charCodeAt(RETRY_MARK.length - 1);

/** The id of a job with ties, which follows them in its text. */
export function idOfTied(payload: string): string | undefined {
  return ID_AT_END.exec(payload.slice(-WINDOW))?.[1];
}

const ID_AT_END = /,"id":"([^"\\]+)"(?:,"[a-z]+":\d{1,13})+\}$/;

/** Undefined if it has none. */
export function readTies(payload: Buffer): TiedJob | undefined {
  // Usually neither a string nor the number of a retry mark comes before the last `id`, and this is called for every ended job: this look
  // takes a tenth of the time.
  let before = payload.lastIndexOf(',"id":"', -1, 'latin1') - 1;
  if (payload[before] !== QUOTE) {
    while (payload[before]! >= ZERO && payload[before]! <= NINE) before -= 1;
    if (payload[before] !== COLON || payload[before - 2] !== MARK_END) return undefined;
  }
  const end = readCounters(payload)?.bodyEnd;
  if (end === undefined) return undefined;
  const [, ties, id] = PLACE.exec(payload.toString('latin1', Math.max(end - WINDOW, 0), end)) ?? [];
  if (id === undefined || ties === undefined) return undefined;
  const [unique, debounce, batch, lane] = [uniqueIn(ties), debounceIn(ties), batchIn(ties), laneIn(ties)];
  if (unique === undefined && debounce === undefined && batch === undefined && lane === undefined) return undefined;
  return {
    id,
    ...(unique && { unique }),
    ...(debounce && { debounce }),
    ...(batch && { batch }),
    ...(lane && { lane }),
  };
}

/** Whether the job waits under a debounce key: one that was handed out before waits for its next attempt. */
export function isPutOff(payload: Buffer): boolean {
  return readTies(payload)?.debounce !== undefined && fenceIn(payload) === 0;
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

function laneIn(ties: string): LaneTie | undefined {
  const [, kind, running, key] = LANE.exec(ties) ?? [];
  return key === undefined ? undefined : { key, running: Number(running), ordered: kind === 'L' };
}
