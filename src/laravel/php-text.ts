/**
 * Reads and writes the text of PHP's `serialize()`. No class is ever built: an object is a name with properties here.
 *
 * A payload is JSON, so its texts are UTF-8; the lengths in them count bytes.
 */
import { InvalidPayloadError } from '../index';

export type PhpValue = null | boolean | number | bigint | string | PhpFloat | PhpArray | PhpObject | PhpEnum;

type Key = number | bigint | string;

/** As deep as other data of a job. */
export const MOST_LEVELS = 512;

/** PHP tells 1.0 from 1. */
export class PhpFloat {
  constructor(readonly value: number) {}
}

/** Keys with their values, in order. */
export class PhpArray {
  constructor(readonly entries: Map<Key, PhpValue> = new Map()) {}
}

export class PhpObject {
  /** @param entries a property that is not public is named `\0*\0name` if it is protected, `\0Class\0name` if it is private */
  constructor(
    readonly name: string,
    readonly entries: Map<Key, PhpValue> = new Map(),
  ) {}

  /** Its properties by their plain names. */
  get properties(): ReadonlyMap<string, PhpValue> {
    return new Map(Array.from(this.entries, ([key, value]) => [String(key).split('\0').at(-1)!, value]));
  }
}

export class PhpEnum {
  /** @param name of its class */
  constructor(
    readonly name: string,
    readonly chosen: string,
  ) {}
}

export function phpText(value: PhpValue): string {
  if (value === null) return 'N;';
  if (value instanceof PhpFloat) return `d:${floatText(value.value)};`;
  if (value instanceof PhpEnum) return `E:${quoted(`${value.name}:${value.chosen}`)};`;
  if (value instanceof PhpArray) return `a:${members(value.entries)}`;
  if (value instanceof PhpObject) return `O:${quoted(value.name)}:${members(value.entries)}`;
  if (typeof value === 'string') return `s:${quoted(value)};`;
  return typeof value === 'boolean' ? `b:${Number(value)};` : `i:${value};`;
}

const quoted = (text: string): string => `${Buffer.byteLength(text)}:"${text}"`;

const members = (entries: ReadonlyMap<Key, PhpValue>): string =>
  `${entries.size}:{${Array.from(entries, ([key, value]) => phpText(key) + phpText(value)).join('')}}`;

/** As PHP writes it with `serialize_precision = -1`: the shortest digits that mean this number. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return 'NAN';
  if (!Number.isFinite(value)) return value > 0 ? 'INF' : '-INF';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  if (Number(exponent) >= -4 && Number(exponent) <= 16) return String(value);
  return `${digits.includes('.') ? digits : `${digits}.0`}E${exponent}`;
}

/** @throws InvalidPayloadError */
export function readPhpText(text: string): PhpValue {
  return new Reader(Buffer.from(text)).whole();
}

export function unreadable(reason: string): never {
  throw new InvalidPayloadError(reason, '/data/command');
}

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?$/i;
const SPECIAL = new Map([
  ['NAN', Number.NaN],
  ['INF', Infinity],
  ['-INF', -Infinity],
]);

/** How a value begins: it is complete in itself, or a length follows. */
const HEAD = /(?:N|([bidrR]):([^;]{1,40}));|([saOE]):/y;
const LENGTH = /(\d{1,10}):/y;

class Reader {
  readonly #bytes: Buffer;
  /** One character for each byte. */
  readonly #characters: string;
  #at = 0;
  /** What a reference can mean, in the order in which each began. */
  readonly #slots: (PhpValue | undefined)[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#characters = bytes.toString('latin1');
  }

  whole(): PhpValue {
    const value = this.#value(0);
    if (this.#at < this.#bytes.length) this.#refuse('there is more behind the value');
    return value;
  }

  #value(depth: number): PhpValue {
    if (depth > MOST_LEVELS) unreadable(`its values are nested more than ${MOST_LEVELS} levels deep`);
    const [, letter, written = '', kind] = this.#match(HEAD, 'a value');
    const slot = letter === 'R' ? -1 : this.#slots.push(undefined) - 1;
    const keep = <Value extends PhpValue>(value: Value): Value => {
      if (slot >= 0) this.#slots[slot] = value;
      return value;
    };
    if (kind === undefined) return keep(letter === undefined ? null : this.#single(letter, written));
    if (kind === 'a') return this.#filled(keep(new PhpArray()), depth);
    const text = this.#text();
    this.#skip(kind === 'O' ? ':' : ';');
    if (kind === 'O') return this.#filled(keep(new PhpObject(text)), depth);
    return keep(kind === 's' ? text : this.#enum(text));
  }

  #single(letter: string, written: string): PhpValue {
    if (letter === 'i') return this.#integer(written);
    if (letter === 'b' && (written === '0' || written === '1')) return written === '1';
    const float = SPECIAL.get(written) ?? (FLOAT.test(written) ? Number(written) : undefined);
    if (letter === 'd' && float !== undefined) return new PhpFloat(float);
    const isReference = letter === 'r' || letter === 'R';
    const meant = isReference && /^\d+$/.test(written) ? this.#slots[Number(written) - 1] : undefined;
    return meant === undefined ? this.#refuse('this value means nothing') : meant;
  }

  #enum(text: string): PhpEnum {
    const [name, chosen, more] = text.split(':');
    if (!name || !chosen || more !== undefined) return this.#refuse('expected the case of an enum');
    return new PhpEnum(name, chosen);
  }

  #filled<Holder extends PhpArray | PhpObject>(holder: Holder, depth: number): Holder {
    let left = this.#length();
    this.#skip('{');
    for (; left > 0; left -= 1) {
      const key = this.#key();
      holder.entries.set(key, this.#value(depth + 1));
    }
    this.#skip('}');
    return holder;
  }

  #key(): Key {
    const [, letter, written = '', kind] = this.#match(HEAD, 'a key');
    if (letter === 'i') return this.#integer(written);
    if (kind !== 's') this.#refuse('expected a key');
    const key = this.#text();
    this.#skip(';');
    return key;
  }

  #integer(written: string): number | bigint {
    const exact = /^[+-]?\d{1,19}$/.test(written) ? BigInt(written.replace('+', '')) : undefined;
    if (exact === undefined || exact !== BigInt.asIntN(64, exact)) return this.#refuse('expected a number of 64 bits');
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
  }

  /** Quotes are ASCII, so what is between two of them is UTF-8 as the whole is. */
  #text(): string {
    const length = this.#length();
    this.#skip('"');
    const text = this.#bytes.toString('utf8', this.#at, (this.#at += length));
    this.#skip('"');
    return text;
  }

  /** Checked against what is there, so that nothing is made for a length that is a lie. */
  #length(): number {
    const length = Number(this.#match(LENGTH, 'a length')[1]);
    if (length > this.#bytes.length - this.#at) this.#refuse('a length is more than there is');
    return length;
  }

  #match(pattern: RegExp, expected: string): readonly (string | undefined)[] {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#characters) ?? this.#refuse(`expected ${expected}`);
    this.#at = pattern.lastIndex;
    return found;
  }

  #skip(mark: string): void {
    if (this.#characters[this.#at] !== mark) this.#refuse(`expected ${mark}`);
    this.#at += 1;
  }

  #refuse(problem: string): never {
    return unreadable(`${problem} at byte ${this.#at} of PHP's text`);
  }
}
