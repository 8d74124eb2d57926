/**
 * The secrets in a configuration: they are masked wherever a text is shown, even where only their value tells them from other
 * words.
 */
import { types } from 'node:util';

/**
 * Only these are masked by value: a shorter secret, or a word such as `postgres`, would be masked in every other text. Those are
 * usually masked by their place.
 */
const TELLING = /^(?=.{6})(?![a-z]*$)|^.{12}/s;

const SECRET_KEY = /pass|pwd|secret|token|credential|private.?key|access.?key|api.?key|^key$|^pfx$|^auth/i;

/** The password in an address, up to the last @. */
const URL_PASSWORD = /^[a-z][a-z\d+.-]*:\/\/[^:/?#]*:(.+)@/is;

/** No setting is nested deeper. */
const DEEPEST = 6;
/** A bound for programs that create manager after manager, each with its own account. */
const MOST = 1000;

const known = new Set<string>();
let pattern: RegExp | undefined;

/** Looks through settings for secrets. */
export function learnSecrets(settings: unknown): void {
  look(settings, '', 0);
}

export function maskSecrets(text: string, mask: string): string {
  if (known.size === 0) return text;
  pattern ??= new RegExp(
    [...known]
      .toSorted((one, other) => other.length - one.length)
      .map(literal)
      .join('|'),
    'g',
  );
  return text.replace(pattern, mask);
}

function look(value: unknown, key: string, depth: number): void {
  if (typeof value === 'string') {
    if (SECRET_KEY.test(key)) learn(value);
    const password = URL_PASSWORD.exec(value)?.[1];
    if (password !== undefined) learn(password);
  } else if (isLookedInto(value) && depth < DEEPEST) {
    // Of a client or a pool, look only at its options; the rest of it is not a setting.
    const held = isSettings(value) ? value : { options: (value as { readonly options?: unknown }).options };
    for (const [name, one] of Object.entries(held)) look(one, Array.isArray(value) ? key : name, depth + 1);
  }
}

function isSettings(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Array.isArray(value) || value.constructor?.name === 'Object';
}

function isLookedInto(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !types.isProxy(value);
}

function learn(secret: string): void {
  const plain = decoded(secret);
  for (const form of [secret, plain, encodeURIComponent(plain.toWellFormed()), JSON.stringify(plain).slice(1, -1)]) {
    if (!TELLING.test(form) || known.has(form)) continue;
    known.add(form);
    pattern = undefined;
  }
  for (const [oldest] of known.entries()) {
    if (known.size <= MOST) break;
    known.delete(oldest);
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
