/**
 * What of a job's data nobody may see who looks at it: the data of encrypted jobs, and sensitive fields. Masks them in payloads, and in
 * texts and errors that quote them.
 */
import { isError } from '../base/foreign-error';
import { rewriteFacts } from '../base/onqueue-error';
import { MASK } from '../base/redact';
import type { JobDefinition } from '../job/registry';
import { dataOf, middlewareIn, type Envelope } from './envelope';
import { HANDLER, HANDLER_WITH_FOLLOWERS, SENSITIVE, sensitivePointers } from './payload-text';
import { stepsOf } from './values';
import { isSealed, type Vault } from './vault';

type Fields = Readonly<Record<string, unknown>>;
type Steps = readonly string[];

/** Masks the sensitive fields of a parsed payload in place. @param declared by the class of the job, if that is known here */
export function maskSensitive(fields: Fields, declared?: readonly string[]): void {
  const root = rootOf(fields);
  for (const steps of placesOf(fields, declared)) maskAt(fields, [...root, ...steps]);
}

/** Where its data are. Without `job`, it is a part of a link of a chain. */
function rootOf({ job }: Fields): Steps {
  return job === undefined || job === HANDLER || job === HANDLER_WITH_FOLLOWERS ? ['data', 'command'] : ['data'];
}

/** The places that travel with the job, and those that its class names here. */
function placesOf(fields: Fields, declared: readonly string[] = []): readonly Steps[] {
  const travelled: unknown = fields[SENSITIVE];
  const given = Array.isArray(travelled) ? travelled.filter((one) => typeof one === 'string') : [];
  return [...new Set([...given, ...sensitivePointers(declared)])].map(stepsOf);
}

function maskAt(holder: unknown, steps: Steps): void {
  for (const { parent, key } of placesAt(holder, steps)) parent[key] = MASK;
}

interface Place {
  readonly parent: Record<string, unknown>;
  readonly key: string;
}

/** A step that is no place of a list goes on in each of its items. */
function* placesAt(holder: unknown, steps: Steps): Iterable<Place> {
  const [key, ...rest] = steps;
  if (typeof holder !== 'object' || holder === null || key === undefined) return;
  if (Array.isArray(holder) && !Object.hasOwn(holder, key)) for (const item of holder) yield* placesAt(item, steps);
  if (!Object.hasOwn(holder, key)) return;
  const parent = holder as Record<string, unknown>;
  if (rest.length === 0) yield { parent, key };
  else yield* placesAt(parent[key], rest);
}

/** A shorter text would be masked in every other sentence. */
const SHORTEST = 6;

/** A piece of that many characters tells too much as well: `JSON.parse` quotes ten of a text that it cannot read. */
const PIECE = 8;

/** Characters of a text that are looked through; the rest is cut off. */
const LONGEST = 65_536;

/** Takes out of a text what nobody may see. */
export type Masking = (text: string) => string;

/** Whether errors of the job may quote something that nobody may see. */
export function isSecretive(envelope: Envelope | undefined, definition: JobDefinition | undefined): boolean {
  return envelope?.isSecret === true || definition?.options.sensitive !== undefined;
}

/** Undefined if the data cannot be opened here: then nothing has read them. Reads them anew: the job may have changed its own. */
export function maskingOf(
  envelope: Envelope,
  definition: JobDefinition | undefined,
  vault: Vault,
): Masking | undefined {
  const { fields } = envelope;
  const secrets = new Set<string>();
  try {
    const isOurs = envelope.kind === 'onqueue';
    const data = isOurs ? dataOf(envelope, vault).command : fields['data'];
    if (envelope.isSealed) addTexts(data, secrets);
    else
      for (const steps of placesOf(fields, definition?.options.sensitive))
        for (const { parent, key } of placesAt(data, steps)) addTexts(parent[key], secrets);
  } catch {
    return undefined;
  }
  if (isSealed(fields['middleware'])) addTexts(openedOrNothing(envelope, vault), secrets);
  return (text) => masked(text, secrets);
}

function openedOrNothing(envelope: Envelope, vault: Vault): unknown {
  try {
    return middlewareIn(envelope, vault);
  } catch {
    return undefined;
  }
}

function addTexts(value: unknown, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) {
    const text = String(value);
    if (text.length >= SHORTEST && value !== undefined) found.add(text);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    // The name of a property tells nothing; another key, such as an address of mail, does.
    if (!/^(?:[A-Za-z_$][\w$]*|\d{1,5})$/.test(key)) addTexts(key, found);
    addTexts(item, found);
  }
}

function masked(whole: string, secrets: ReadonlySet<string>): string {
  const text = whole.length > LONGEST ? `${whole.slice(0, LONGEST)}… (cut)` : whole;
  const hidden = new Uint8Array(text.length);
  for (let size = SHORTEST; size <= PIECE; size += 1) {
    const asked = [...secrets].filter(({ length }) => length === size || (size === PIECE && length > PIECE));
    if (asked.length > 0) hide(text, size, asked, hidden);
  }
  let shown = '';
  for (let at = 0; at < text.length; at += 1) {
    if (hidden[at] === 0) shown += text[at]!;
    else if (at === 0 || hidden[at - 1] === 0) shown += MASK;
  }
  return shown;
}

/** Marks the pieces of the text that are in a secret too. In sets, so that the time grows with the lengths and not with their product. */
function hide(text: string, size: number, secrets: readonly string[], hidden: Uint8Array): void {
  const pieces = new Set<string>();
  for (let at = 0; at + size <= text.length; at += 1) pieces.add(text.slice(at, at + size));
  const told = new Set<string>();
  for (const secret of secrets) {
    for (let at = 0; at + size <= secret.length; at += 1) {
      const piece = secret.slice(at, at + size);
      if (pieces.has(piece)) told.add(piece);
    }
  }
  for (let at = 0; told.size > 0 && at + size <= text.length; at += 1)
    if (told.has(text.slice(at, at + size))) hidden.fill(1, at, at + size);
}

/** More causes and parts are not looked through: nothing shows so many. */
const MOST_ERRORS = 100;

/**
 * The same error with its texts, causes and parts masked in place, because hooks, logs, histories and stores show them. One that cannot be
 * changed is replaced.
 */
export function maskedError(error: Error, masking: Masking, seen = new Map<Error, Error>()): Error {
  const known = seen.get(error);
  if (known !== undefined || seen.size >= MOST_ERRORS) return known ?? new Error(MASK);
  seen.set(error, error);
  try {
    const { message, stack = '', cause } = error;
    const parts: unknown = (error as Partial<AggregateError>).errors;
    for (const [key, value] of Object.entries(error))
      if (typeof value === 'string') setText(error, key, masking(value));
    setText(error, 'message', masking(message));
    setText(error, 'stack', maskedStack(stack, message, masking));
    rewriteFacts(error, masking);
    const other = (one: unknown): unknown => maskedCause(one, masking, seen);
    if (cause !== undefined) setText(error, 'cause', other(cause));
    if (Array.isArray(parts)) setText(error, 'errors', parts.map(other));
    return error;
  } catch {
    // It is frozen, or throws when it is looked at.
    const copy = new Error(MASK);
    seen.set(error, copy);
    return copy;
  }
}

function maskedCause(cause: unknown, masking: Masking, seen: Map<Error, Error>): unknown {
  if (isError(cause)) return maskedError(cause, masking, seen);
  // Of an object, logs show only the kind.
  return typeof cause === 'object' && cause !== null ? cause : masking(String(cause));
}

/** Frames name functions and files, which may be like pieces of the data. */
function maskedStack(stack: string, message: string, masking: Masking): string {
  const at = stack.indexOf(message);
  const end = at === -1 ? 0 : at + message.length;
  const isRest = /^(?:\n {4}at [^\n]*)+$/.test(stack.slice(end));
  return isRest ? masking(stack.slice(0, end)) + stack.slice(end) : masking(stack);
}

function setText(error: Error, key: string, value: unknown): void {
  if (Reflect.get(error, key) === value) return;
  const { enumerable = false } = Object.getOwnPropertyDescriptor(error, key) ?? {};
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable });
}
