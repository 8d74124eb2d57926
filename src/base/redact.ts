/**
 * Masks what looks like a secret in a text that will be stored or shown: more people read failed jobs than the configuration, and
 * drivers like to put whole connection strings into their messages.
 */

import { maskSecrets } from './secrets';

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
