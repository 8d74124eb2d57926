/** Turns values of PHP into those of JavaScript, and back. */
import { types } from 'node:util';
import { UnserializableValueError } from '../index';
import { isModel, modelOf, phpModel } from './model';
import { momentOf, phpMoment } from './php-date';
import { MOST_LEVELS, PhpArray, PhpEnum, PhpFloat, PhpObject, type PhpValue, unreadable } from './php-text';

/** By references, a short text may mean very many values. */
const MOST_VALUES = 1_000_000;

/** A value that is being made, or was made of so many values. */
interface Made {
  readonly value?: unknown;
  readonly size: number;
}

const BEGUN: Made = { size: 0 };

/** Reads the values of one text. */
export class FromPhp {
  readonly #made = new Map<object, Made>();
  #count = 0;

  /** @throws InvalidPayloadError */
  readonly read = (value: PhpValue): unknown => {
    this.#counted(1);
    if (value instanceof PhpFloat) return value.value;
    if (value instanceof PhpEnum) return value.chosen;
    if (!(value instanceof PhpArray || value instanceof PhpObject)) return value;
    const known = this.#made.get(value);
    if (known === BEGUN) unreadable('a value contains itself');
    if (known !== undefined) {
      this.#counted(known.size);
      return known.value;
    }
    const before = this.#count;
    this.#made.set(value, BEGUN);
    const made = value instanceof PhpArray ? this.#array(value) : this.#object(value);
    this.#made.set(value, { value: made, size: this.#count - before });
    return made;
  };

  #counted(values: number): void {
    this.#count += values;
    if (this.#count > MOST_VALUES) unreadable(`it has more than ${MOST_VALUES} values`);
  }

  /** Numbers among the keys of an object would come first, so only a Map keeps the order of such an array. */
  #array({ entries }: PhpArray): unknown {
    const read = Array.from(entries, ([key, value]) => [key, this.read(value)] as const);
    if (read.every(([key], place) => key === place)) return read.map(([, value]) => value);
    return read.every(([key]) => typeof key === 'string') ? Object.fromEntries(read) : new Map(read);
  }

  #object(object: PhpObject): unknown {
    const properties = (): object =>
      Object.fromEntries(Array.from(object.properties, ([key, value]) => [key, this.read(value)]));
    return momentOf(object) ?? modelOf(object, this.read) ?? properties();
  }
}

/** What PHP has in a property, where JavaScript does not tell. */
export interface Meant {
  readonly float?: boolean | undefined;
  /** The class of an enum, whose cases are strings here. */
  readonly enum?: string | undefined;
  /** The class of dates. */
  readonly date?: string | undefined;
}

/** What Laravel's `now()` gives. It fits every type of a property but those of dates that do not change. */
const CARBON = 'Illuminate\\Support\\Carbon';

/** Names that reach a prototype if a program copies or merges data by assignment: no worker reads them. */
const FORBIDDEN: readonly string[] = ['__proto__', 'constructor', 'prototype'];

const CASE = /^[A-Za-z_\u{80}-\u{10ffff}][\w\u{80}-\u{10ffff}]*$/u;

/**
 * The values of one property, within which `meant` holds at every depth.
 *
 * @param file the file of the job, for errors
 */
export class ToPhp {
  constructor(
    readonly meant: Meant,
    readonly file: string | undefined,
  ) {}

  /** @param path to the value, for errors. @throws UnserializableValueError */
  write(value: unknown, path: string, level = 0): PhpValue {
    if (level > MOST_LEVELS)
      this.#refuse(path.slice(0, 100), `more than ${MOST_LEVELS} levels down`, 'Make it flatter.');
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'number')
      return this.meant.float || !Number.isSafeInteger(value) || Object.is(value, -0) ? new PhpFloat(value) : value;
    if (typeof value === 'bigint') {
      if (value === BigInt.asIntN(64, value)) return value;
      return this.#refuse(path, 'a bigint of more than 64 bits', 'Write it as a string.');
    }
    if (typeof value === 'string') return this.#string(value, path);
    if (typeof value === 'object') return this.#object(value, path, level);
    return this.#refuse(path, `${value === undefined ? '' : 'a '}${typeof value}`, 'Write null, or leave it out.');
  }

  #string(value: string, path: string): PhpValue {
    if (!value.isWellFormed()) this.#refuse(path, 'a string with half a surrogate pair', 'PHP has bytes of UTF-8.');
    if (this.meant.enum === undefined) return value;
    if (CASE.test(value)) return new PhpEnum(this.meant.enum, value);
    return this.#refuse(path, `no case of ${this.meant.enum}`, 'Write the name of a case, such as Paid.');
  }

  #object(value: object, path: string, level: number): PhpValue {
    if (isModel(value)) {
      const plain = new ToPhp({}, this.file);
      return phpModel(value, (part) => plain.write(part, path, level + 1));
    }
    if (types.isDate(value)) {
      const moment = phpMoment(value, this.meant.date ?? CARBON);
      return moment ?? this.#refuse(path, 'a Date that PHP cannot read', 'Give it a year from 0 to 9999.');
    }
    if (Array.isArray(value) || types.isMap(value)) return this.#array([...value.entries()], path, level);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return this.#array(Object.entries(value), path, level);
    const remedy = 'Write its data as a plain object, or model(…) for a model.';
    return this.#refuse(path, `an instance of ${value.constructor?.name}`, remedy);
  }

  #array(entries: readonly (readonly [unknown, unknown])[], path: string, level: number): PhpArray {
    const array = new PhpArray();
    for (const [given, item] of entries) {
      const place = typeof given === 'string' ? `${path}.${given}` : `${path}[${String(given)}]`;
      const key = keyOf(given);
      if (key === undefined || array.entries.has(key))
        this.#refuse(place, 'under a key that PHP does not have', 'Name it by a string or a whole number of its own.');
      array.entries.set(key, this.write(item, place, level + 1));
    }
    return array;
  }

  #refuse(path: string, kind: string, remedy: string): never {
    throw new UnserializableValueError(path, kind, remedy, this.file);
  }
}

/** Undefined if PHP has no such key. It turns one such as '7' into a number. */
function keyOf(given: unknown): number | bigint | string | undefined {
  if (typeof given === 'string' && /^(?:0|-?[1-9]\d{0,14})$/.test(given)) return Number(given);
  if (typeof given === 'string') return given.isWellFormed() && !FORBIDDEN.includes(given) ? given : undefined;
  if (typeof given === 'bigint' && given === BigInt.asIntN(64, given))
    return Number.isSafeInteger(Number(given)) ? Number(given) : given;
  return Number.isSafeInteger(given) ? (given as number) : undefined;
}
