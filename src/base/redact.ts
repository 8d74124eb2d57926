/**
 * Masks secrets in a text that will be stored or shown: what looks like one, and the values of those in the configuration. More
 * people read failed jobs than the configuration, and drivers like to put whole connection strings into their messages.
 */
import { types } from 'node:util';

export const MASK = '***';

/**
 * The beginning of `scheme://user:password@host`. A scheme's last character is enough: searching for its beginning took 200 ms in a
 * word of 1 MB.
 */
const URL_USER = /[a-z\d+.-]:\/\/[^\s:@/?#"'`]{0,256}:/gi;
const LONGEST_PASSWORD = 512;
const END_OF_WORD = /[\s"'`]/;

/** The end of a secret's name, whatever stands before it: `DB_PASSWORD`, `client_secret`, `x-api-key`. */
const KEY = '(?:password|passwd|pwd|passphrase|secret|secret[_-]?key|token|api[_-]?key|access[_-]?key|private[_-]?key)';

/** The beginning of `"password": "…"` and `password: '…'`, including quotes escaped as in JSON within JSON. */
const OPENING = new RegExp(String.raw`${KEY}(?:\\?["'])?\s{0,8}[:=]\s{0,8}(\\?["'])`, 'gi');

/** `password=…`, as in a query, a connection string or the environment. */
const BARE = new RegExp(String.raw`(${KEY}=)([^\s&;,"'\x60)\]}]+)`, 'gi');

const AUTHORIZATION = /(authorization\\?["']?\s{0,8}[:=]\s{0,8}\\?["']?\w{1,16}\s{1,8})([^\s"'\\]+)/gi;

/** Shorter words after `Bearer` are more likely English. */
const BEARER = /(\bbearer\s{1,8})([\w.~+/=-]{16,})/gi;

const PRIVATE_KEY = /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[^]*?(?:(?=-----END )|$)/g;

/** Present in every text that one of these patterns masks: a payload may contain a hundred thousand other words. */
const TELLTALE = /:\/\/|pass|pwd|secret|token|key|authorization|bearer|-----BEGIN/i;

/**
 * The text without passwords, tokens and the like: the configured ones, and anything that looks like one, rather one too many.
 */
export function redact(text: string): string {
  const masked = maskSecrets(text, MASK);
  if (!TELLTALE.test(masked)) return masked;
  return maskQuoted(maskInAddresses(masked.replace(PRIVATE_KEY, `$1${MASK}`)))
    .replace(BARE, `$1${MASK}`)
    .replace(AUTHORIZATION, `$1${MASK}`)
    .replace(BEARER, `$1${MASK}`);
}

/**
 * A password ends at the last `@` of the word, because it may contain one. One that reads `password`, as in our examples, stays.
 * Written by hand: for 1 MB of `a://` a regular expression looked at 512 characters behind each of them.
 */
function maskInAddresses(text: string): string {
  let masked = '';
  let from = 0;
  let sign = -1;
  URL_USER.lastIndex = 0;
  while (URL_USER.test(text)) {
    const begin = URL_USER.lastIndex;
    // A user may be the scheme of the next address.
    URL_USER.lastIndex = begin - 2;
    if (sign < begin) sign = text.indexOf('@', begin);
    if (sign === -1) break;
    if (sign > begin + LONGEST_PASSWORD || text.startsWith('password@', begin)) continue;
    const word = text.slice(begin, begin + LONGEST_PASSWORD + 1).split(END_OF_WORD, 1)[0]!;
    const end = begin + word.lastIndexOf('@');
    if (end <= begin) continue;
    masked += text.slice(from, begin) + MASK;
    URL_USER.lastIndex = from = end;
  }
  return from === 0 ? text : masked + text.slice(from);
}

/** Written by hand: for a secret of 10 MB a regular expression overflows its stack and throws. */
function maskQuoted(text: string): string {
  let masked = '';
  let from = 0;
  for (;;) {
    OPENING.lastIndex = from;
    const opening = OPENING.exec(text);
    if (opening === null) return from === 0 ? text : masked + text.slice(from);
    const begin = opening.index + opening[0].length;
    masked += text.slice(from, begin) + MASK;
    from = endOfQuoted(text, begin, opening[1]!);
  }
}

/** The position of the closing quote, or of the end of the line or text. */
function endOfQuoted(text: string, begin: number, quote: string): number {
  for (let at = begin; at < text.length; at += 1) {
    if (text[at] === quote[0] && text.startsWith(quote, at)) return at;
    if (text[at] === '\n') return at;
    if (text[at] !== '\\') continue;
    at += 1;
    if (at === text.length || /[\n\r\u2028\u2029]/.test(text[at]!)) return at - 1;
  }
  return text.length;
}

/** Whether the value under this key is a secret. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}

const SECRET_KEY = new RegExp(`${KEY}$`, 'i');

/**
 * Only these are masked by value: a shorter secret, or a word such as `postgres`, would be masked in every other text. Those are
 * usually masked by their place.
 */
const TELLING = /^(?=.{6})(?![a-z]*$)|^.{12}/s;

const SECRET_SETTING = /pass|pwd|secret|token|credential|private.?key|access.?key|api.?key|^key$|^pfx$|^auth/i;

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
    if (SECRET_SETTING.test(key)) learn(value);
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
