/**
 * The jobs that follow another: they travel in its payload, and the first of them is sent in the step that records its success.
 *
 * Each is a payload as a text, whole or in a short form, in one flat list: so nothing is escaped twice, however long a chain is.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { ChainedJob } from '../job/job-context';
import { InvalidPayloadError } from './errors';
import { isRecord } from './kinds';
import { HANDLER, hasFollowers, withFollowers, withMembers } from './payload-text';
import { READY_AT } from './ready-at';
import { glimpseOf, UNREADABLE_NAME } from './unreadable';

export interface ChainLink {
  readonly queue: string;
  /** Absent: that of the job whose payload it waits in. */
  readonly connection?: string | undefined;
  /** From the end of the link before it. */
  readonly delay?: Seconds | undefined;
  readonly dueAt?: Milliseconds | undefined;
  /** From when it is sent: no attempt starts later. */
  readonly retryWithin?: Seconds | undefined;
  readonly payload: string;
}

export interface Chain {
  /** In their order. */
  readonly links: readonly ChainLink[];
  /** Sent when a link has failed for good. */
  readonly caught?: ChainLink | undefined;
}

export const NO_CHAIN: Chain = Object.freeze({ links: Object.freeze([]) });

/** Why a job was sent by the failure of another. */
export interface Cause {
  readonly id: string;
  readonly name: string;
  /** Of the error that it failed with. */
  readonly message: string;
}

/** The built-in job that sends another one on. */
export const CARRIER = 'onqueue:carry';

/** What a carrier sends on, with what follows that. @throws InvalidPayloadError */
export function readCarried(data: unknown): readonly ChainLink[] {
  const { queue, connection, entry } = fieldsOf(fieldsOf(fieldsOf(data)['command'])['onward']);
  const { payload } = fieldsOf(entry);
  const link = linkOf({ queue, connection, payload }, '/data/command/onward');
  const named = (next: ChainLink): ChainLink => ({ ...next, connection: next.connection ?? link.connection });
  const { links } = readChain(fieldsOf(JSON.parse(link.payload)));
  return [link, ...links.map(named)];
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** A link as people see it. */
export function chainedJobOf({ payload, queue, connection }: ChainLink, from: string): ChainedJob {
  const { id = '', name = UNREADABLE_NAME } = glimpseOf(Buffer.from(payload));
  return { id, name, queue, connection: connection ?? from };
}

/** A payload that `encodePayload` gave, with what is to follow it. */
export function withChain(payload: string, { links, caught }: Chain): string {
  if (links.length === 0 && caught === undefined) return payload;
  const chained = links.length === 0 ? '' : `"chained":[${links.map(linkText).join(',')}],`;
  const members = caught === undefined ? chained : `${chained}"chainCatch":${linkText(caught)},`;
  return withMembers(withFollowers(payload), members);
}

/** As it waits in the payload of another. */
export function linkText(link: ChainLink): string {
  return JSON.stringify({ ...link, payload: shortened(link.payload) });
}

/** The first link, which carries the others, as it is sent from a connection. There is one. */
export function chainedLink({ links: [link, ...links], caught }: Chain, from: string): ChainLink {
  const { connection = from, payload } = link!;
  // Those that name no connection mean that of the job that carries them: elsewhere they would mean another.
  const named = (one: ChainLink): ChainLink =>
    connection === from ? one : { ...one, connection: one.connection ?? from };
  return { ...link!, payload: withChain(payload, { links: links.map(named), caught: caught && named(caught) }) };
}

export function withCause(payload: string, cause: Cause): string {
  return withMembers(payload, `"cause":${JSON.stringify(cause)},`);
}

/** @throws InvalidPayloadError */
export function readChain({ chained, chainCatch }: Readonly<Record<string, unknown>>): Chain {
  if (chained !== undefined && !Array.isArray(chained)) throw new InvalidPayloadError('expected a list', '/chained');
  return {
    links: (chained ?? []).map((link: unknown, place) => linkOf(link, `/chained/${place}`)),
    caught: chainCatch === undefined ? undefined : linkOf(chainCatch, '/chainCatch'),
  };
}

/** A text that kills the parser must not do so once more for what is sent because of it. */
const LONGEST_CAUGHT = 1024 * 1024;

/** As `readChain`, without a look at what may be beyond reading: it stands at the end of the text. */
export function glimpseCaught(payload: Buffer): ChainLink | undefined {
  const start = payload.lastIndexOf('"chainCatch":{');
  if (start === -1 || payload.length - start > LONGEST_CAUGHT || !hasFollowers(payload)) return undefined;
  try {
    // Of a member that stands deeper, more braces close than open.
    return readChain(JSON.parse(`{${payload.toString('utf8', start)}`) as Record<string, unknown>).caught;
  } catch {
    return undefined;
  }
}

export function readCause(cause: unknown): Cause | undefined {
  if (!isRecord(cause)) return undefined;
  const { id, name, message } = cause;
  const isOurs = typeof id === 'string' && typeof name === 'string' && typeof message === 'string';
  return isOurs ? { id, name, message } : undefined;
}

const OPENING = '{"displayName":';
const [MIDDLE, ENDING] = [`,"job":"${HANDLER}","data":{"commandName":`, `,"${READY_AT}":null,"id":"`];
const [SHORT_MIDDLE, SHORT_ENDING] = [',"data":{', ',"id":"'];

/**
 * Without what nearly every link has alike: those of a chain travel in each text of it, and what a store does with a text takes as
 * long as that is. It stays JSON, in which secrets are found to be masked. What has no such form stays as it is.
 */
function shortened(payload: string): string {
  // A quote in a name is escaped: what looks like the middle is it.
  const middle = payload.indexOf(MIDDLE);
  const ending = payload.lastIndexOf(ENDING);
  const name = payload.slice(OPENING.length, middle);
  const start = middle + MIDDLE.length + name.length + 1;
  const isOurs = middle > 0 && ending >= start && payload.startsWith(OPENING);
  const id = isOurs && ID_END.exec(payload.slice(ending + ENDING.length))?.[1];
  if (!id || !payload.startsWith(`${name},`, middle + MIDDLE.length)) return payload;
  return `${OPENING}${name}${SHORT_MIDDLE}${payload.slice(start, ending)}${SHORT_ENDING}${id}"}`;
}

const ID_END = /^([^"\\]{1,256})","attempts":0\}$/;

/** Undefined: it is no such text. */
function lengthened(short: string): string | undefined {
  const middle = short.indexOf(SHORT_MIDDLE);
  const ending = short.lastIndexOf(SHORT_ENDING);
  if (middle < 0 || ending < middle || !short.startsWith(OPENING) || !short.endsWith('"}')) return undefined;
  const name = short.slice(OPENING.length, middle);
  const members = short.slice(middle + SHORT_MIDDLE.length, ending);
  const id = short.slice(ending + SHORT_ENDING.length, -2);
  return `${OPENING}${name}${MIDDLE}${name},${members}${ENDING}${id}","attempts":0}`;
}

const TEXTS = ['queue', 'connection', 'payload'] as const;
const NUMBERS = ['delay', 'dueAt', 'retryWithin'] as const;

/** What is behind it in the chain is put before the id. */
const END = /[{,]"id":"[^"\\]+","attempts":0}$/;
const WINDOW = 128;

function linkOf(link: unknown, place: string): ChainLink {
  if (!isRecord(link)) throw new InvalidPayloadError('expected an object', place);
  for (const field of TEXTS) {
    if (typeof link[field] === 'string' || (field === 'connection' && link[field] === undefined)) continue;
    throw new InvalidPayloadError('expected a text', `${place}/${field}`);
  }
  for (const field of NUMBERS) {
    if (link[field] === undefined || Number.isFinite(link[field])) continue;
    throw new InvalidPayloadError('expected a number', `${place}/${field}`);
  }
  const text = link['payload'] as string;
  const payload = END.test(text.slice(-WINDOW)) ? text : lengthened(text);
  if (payload === undefined)
    throw new InvalidPayloadError('expected a payload that ends in its "id" and "attempts":0', `${place}/payload`);
  return { ...(link as unknown as ChainLink), payload };
}
