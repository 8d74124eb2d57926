/**
 * The jobs that follow another one. They travel in its payload, and the first of them is sent in the step that records its
 * success.
 *
 * Each is a payload as a string, whole or in a short form, in one flat list. So nothing is escaped twice, however long a
 * chain is.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { ChainedJob, FailedLink } from '../job/job-context';
import { InvalidPayloadError } from './errors';
import { fieldsIn, isRecord, textsIn } from './values';
import { HANDLER, hasFollowers, withFollowers, withMembers } from './payload-text';
import { READY_AT } from './uuid';
import { glimpseOf, UNREADABLE_NAME } from './counters';

export interface ChainLink {
  readonly queue: string;
  /** Absent: the connection of the job whose payload contains it. */
  readonly connection?: string | undefined;
  /** Seconds after the end of the link before it. */
  readonly delay?: Seconds | undefined;
  readonly dueAt?: Milliseconds | undefined;
  /** Seconds from when it is sent. No attempt starts later. */
  readonly retryWithin?: Seconds | undefined;
  readonly payload: string;
}

export interface Chain {
  /** In order. */
  readonly links: readonly ChainLink[];
  /** Sent when a link has failed for good. */
  readonly caught?: ChainLink | undefined;
}

export const NO_CHAIN: Chain = Object.freeze({ links: Object.freeze([]) });

/** The name of the built-in job that passes another job on. */
export const CARRIER = 'onqueue:carry';

/** The job that a carrier passes on, and the links that follow it. @throws InvalidPayloadError */
export function readCarried(data: unknown): readonly ChainLink[] {
  const { queue, connection, entry } = fieldsOf(fieldsOf(fieldsOf(data)['command'])['onward']);
  const { payload } = fieldsOf(entry);
  const link = linkOf({ queue, connection, payload }, '/data/command/onward');
  const named = (next: ChainLink): ChainLink => ({ ...next, connection: next.connection ?? link.connection });
  const { links } = readChain(fieldsOf(JSON.parse(link.payload)));
  return [link, ...links.map(named)];
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** A link as shown to users. */
export function chainedJobOf({ payload, queue, connection }: ChainLink, from: string): ChainedJob {
  const { id = '', name = UNREADABLE_NAME } = glimpseOf(Buffer.from(payload));
  return { id, name, queue, connection: connection ?? from };
}

/** Adds a chain to a payload from `encodePayload`. */
export function withChain(payload: string, { links, caught }: Chain): string {
  if (links.length === 0 && caught === undefined) return payload;
  const texts = links.map((link, place) => linkText(link, links[place - 1]));
  const chained = links.length === 0 ? '' : `"chained":[${texts.join(',')}],`;
  const members = caught === undefined ? chained : `${chained}"chainCatch":${linkText(caught)},`;
  return withMembers(withFollowers(payload), members);
}

/**
 * A link as JSON, as it waits in another job's payload. `before` is the link before it, if any; without that the text is at
 * least as long.
 */
export function linkText(link: ChainLink, before?: ChainLink): string {
  let text = link.queue === before?.queue ? '{' : `{"queue":${JSON.stringify(link.queue)},`;
  if (link.connection !== undefined) text += `"connection":${JSON.stringify(link.connection)},`;
  for (const field of NUMBERS) if (link[field] !== undefined) text += `"${field}":${link[field]},`;
  return `${text}${shortened(link.payload, before)}}`;
}

/** An upper bound for a carrier without the job that it carries. */
const CARRIER_BYTES = 1024;

/**
 * Says how many bytes each link of a chain behind a job on the connection `from` will have, and where: it carries those behind it, to
 * its own connection, and on the way there within a carrier.
 */
export function measureChain(
  { links, caught }: Chain,
  from: string,
  told: (bytes: number, connection: string) => void,
): void {
  const isCarried = links.some(({ connection }) => connection !== undefined);
  // If it is sent elsewhere, each link names the connection it comes from.
  const textOf = (link: ChainLink): string => linkText(isCarried ? { connection: from, ...link } : link);
  let carried = caught === undefined ? 0 : Buffer.byteLength(textOf(caught)) + 1;
  let escaped = caught === undefined || !isCarried ? 0 : escapedBytes(textOf(caught));
  for (let place = links.length - 1; place >= 0; place -= 1) {
    const link = links[place]!;
    const { connection = from, payload } = link;
    told(Buffer.byteLength(payload) + carried, connection);
    carried += Buffer.byteLength(textOf(link)) + 1;
    if (!isCarried) continue;
    const sender = links[place - 1]?.connection ?? from;
    if (sender !== connection) told(CARRIER_BYTES + escapedBytes(payload) + escaped, sender);
    escaped += escapedBytes(textOf(link));
  }
}

/** The length of a text within another JSON text. */
const escapedBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/** The first link as it is sent from a connection, with the other links in its payload. The chain must not be empty. */
export function chainedLink({ links: [link, ...links], caught }: Chain, from: string): ChainLink {
  const { connection = from, payload } = link!;
  // Links without a connection mean that of the job that carries them, so it must be named if that changes.
  const named = (one: ChainLink): ChainLink =>
    connection === from ? one : { ...one, connection: one.connection ?? from };
  return { ...link!, payload: withChain(payload, { links: links.map(named), caught: caught && named(caught) }) };
}

export function withCause(payload: string, cause: FailedLink): string {
  return withMembers(payload, `"cause":${JSON.stringify(cause)},`);
}

/** @throws InvalidPayloadError */
export function readChain({ chained, chainCatch }: Readonly<Record<string, unknown>>): Chain {
  if (chained !== undefined && !Array.isArray(chained)) throw new InvalidPayloadError('expected a list', '/chained');
  const links: ChainLink[] = [];
  for (const [place, link] of (chained ?? []).entries())
    links.push(linkOf(link, `/chained/${place}`, links[place - 1]));
  return {
    links,
    caught: chainCatch === undefined ? undefined : linkOf(chainCatch, '/chainCatch'),
  };
}

/**
 * The longest text that is parsed: what makes the parser fail fatally must not do so again in the job that is sent because
 * of it.
 */
const LONGEST_CAUGHT = 1024 * 1024;

/** Finds `caught` at the end of a payload without parsing the rest, which may be unreadable. */
export function glimpseCaught(payload: Buffer): ChainLink | undefined {
  const start = payload.lastIndexOf('"chainCatch":{');
  if (start === -1 || payload.length - start > LONGEST_CAUGHT || !hasFollowers(payload)) return undefined;
  try {
    // If the member is nested deeper, the text has more closing braces than opening ones, and is not valid JSON.
    return readChain(JSON.parse(`{${payload.toString('utf8', start)}`) as Record<string, unknown>).caught;
  } catch {
    return undefined;
  }
}

export function readCause(cause: unknown): FailedLink | undefined {
  return textsIn(cause, 'id', 'name', 'message');
}

const OPENING = '{"displayName":';
const [MIDDLE, ENDING] = [`,"job":"${HANDLER}","data":{"commandName":`, `,"${READY_AT}":null,"id":"`];
const [DATA, COMMAND] = ['{"data":{', '"command":'];

/** A payload inside a link: whole, or without the parts that nearly all links share. */
interface Waiting {
  /** Absent if the payload is whole. */
  readonly name?: unknown;
  /** The command as JSON. Absent if the payload has more members, which are then in `payload`. */
  readonly command?: unknown;
  readonly payload?: unknown;
  readonly id?: unknown;
  /** Instead of `id`, if the id begins like that of the link before it. */
  readonly end?: unknown;
}

/**
 * The members of a link in the form of `Waiting`. Each payload of a chain contains the links after it, and the time that a
 * store needs grows with the length of payloads. The short form is still JSON, so that secrets in it are found and masked. A
 * payload that has no short form stays as it is.
 */
function shortened(payload: string, before: ChainLink | undefined): string {
  const middle = payload.indexOf(MIDDLE);
  const ending = payload.lastIndexOf(ENDING);
  const name = payload.slice(OPENING.length, middle);
  const start = middle + MIDDLE.length + name.length + 1;
  const isOurs = middle > 0 && ending >= start && payload.startsWith(OPENING) && PLAIN_NAME.test(name);
  const id = isOurs && ID_END.exec(payload.slice(ending + ENDING.length))?.[1];
  if (!id || !payload.startsWith(`${name},`, middle + MIDDLE.length)) return `"payload":${JSON.stringify(payload)}`;
  const members = payload.slice(start, ending);
  const command = members.slice(COMMAND.length, -1);
  const isAlone = members.startsWith(COMMAND) && members.endsWith('}') && isObject(command);
  const data = isAlone ? `"command":${JSON.stringify(command)}` : `"payload":${JSON.stringify(`${DATA}${members}}`)}`;
  const isAlike = id.length === ID_LENGTH && before !== undefined && id.slice(0, HEAD) === headOf(before);
  return `"name":${name},${data},${isAlike ? `"end":"${id.slice(HEAD)}"` : `"id":"${id}"`}`;
}

/**
 * Without control characters. A payload made by hand may contain them, but JSON may not: the payload that carries the link would
 * be unreadable.
 */
const PLAIN_NAME = /^"[^"\\\p{Cc}]+"$/u;
const ID_END = /^([^"\\\p{Cc}]{1,256})","attempts":0\}$/u;

/** Ids that were made one after another begin alike. */
const [ID_LENGTH, HEAD] = [36, 24];
const AFTER_ID = '","attempts":0}'.length;

/** The beginning of the link's id if that is a UUID; otherwise any text, perhaps a shorter one. */
function headOf({ payload }: ChainLink): string {
  return payload.slice(-AFTER_ID - ID_LENGTH, -AFTER_ID - ID_LENGTH + HEAD);
}

function isObject(text: string): boolean {
  // The usual case: the first closing brace is the last character.
  return (text.startsWith('{') && text.indexOf('}') === text.length - 1) || fieldsIn(text) !== undefined;
}

/** Undefined if it is not a valid link. */
function lengthened({ name, command, payload, id, end }: Waiting, before: ChainLink | undefined): string | undefined {
  if (name === undefined) return typeof payload === 'string' ? payload : undefined;
  const members = typeof command === 'string' ? `${COMMAND}${command}}` : dataOf(payload);
  const whole = before !== undefined && typeof end === 'string' ? headOf(before) + end : id;
  if (typeof name !== 'string' || members === undefined || typeof whole !== 'string') return undefined;
  const text = JSON.stringify(name);
  return `${OPENING}${text}${MIDDLE}${text},${members}${ENDING}${whole}","attempts":0}`;
}

function dataOf(payload: unknown): string | undefined {
  return typeof payload === 'string' && payload.startsWith(DATA) ? payload.slice(DATA.length, -1) : undefined;
}

const NUMBERS = ['delay', 'dueAt', 'retryWithin'] as const;

/** The end of a payload: the rest of the chain is inserted before the id. */
const END = /[{,]"id":"[^"\\]+","attempts":0}$/;
const WINDOW = 320;

function linkOf(link: unknown, place: string, before?: ChainLink): ChainLink {
  if (!isRecord(link)) throw new InvalidPayloadError('expected an object', place);
  const { queue = before?.queue, connection } = link;
  if (typeof queue !== 'string') throw new InvalidPayloadError('expected a string', `${place}/queue`);
  if (connection !== undefined && typeof connection !== 'string')
    throw new InvalidPayloadError('expected a string', `${place}/connection`);
  const rest: Record<string, unknown> = connection === undefined ? {} : { connection };
  for (const field of NUMBERS) {
    if (link[field] === undefined) continue;
    if (!Number.isFinite(link[field])) throw new InvalidPayloadError('expected a number', `${place}/${field}`);
    rest[field] = link[field];
  }
  const payload = lengthened(link, before);
  if (payload === undefined || !END.test(payload.slice(-WINDOW)))
    throw new InvalidPayloadError('expected a payload that ends in its "id" and "attempts":0', `${place}/payload`);
  return { ...rest, queue, payload };
}
