/**
 * Writes values as JSON, exactly or not at all.
 *
 * Values that JSON can hold are not copied. All others are written in the form that `docs/format.md` gives for their type,
 * and `types` names that type by a JSON Pointer to the place. Shared references become copies.
 */
import { classOf, type Class } from '../base/class';
import type { JobRegistry } from '../job/registry';
import { listForm, typeOfEntity, type EntityReference } from './entities';
import { bigintForm, BUILT_INS, MAX_DIGITS, typeOf, utf16 } from './built-ins';
import { unsavedEntity, UnserializableValueError } from './errors';
import {
  isForbiddenKey,
  Limits,
  MAX_DEPTH,
  toPath,
  toPointer,
  described,
  isPlain,
  isRecord,
  remedyFor,
  symbolKeyOf,
  type Segment,
} from './values';
import { mapsByClassTransformer, strayChoice, toPlain } from './mapping';

/** The classes whose instances may travel, by their names in payloads. */
export interface CodecClasses extends Pick<JobRegistry, 'nameOf' | 'classOf' | 'definitionOf'> {
  /** Asked for instances of other classes: which entity it is, and of which adapter. Undefined if it is none. */
  entityOf?(value: object): readonly [adapter: string, entity: EntityReference] | undefined;
}

/** JSON Pointer → name of the type there. */
export type Types = Readonly<Record<string, string>>;

export interface Encoded {
  /**
   * A value that `JSON.stringify` writes exactly. It may share parts with the original, so write it before anything changes.
   */
  readonly command: unknown;
  /** Absent if JSON can hold everything. */
  readonly types?: Types | undefined;
  /** JSON Pointer → version of the data of the job there. Absent if no job in it has a version. */
  readonly versions?: Readonly<Record<string, number>> | undefined;
  /** There are entities in it: workers of 0.1.0 could not read them. Absent if there are none. */
  readonly hasEntities?: boolean | undefined;
}

/**
 * @param subject name of the value in errors
 * @throws UnserializableValueError with the path to a value that cannot be carried
 */
export function encodeValue(value: unknown, classes: CodecClasses, subject: string): Encoded {
  const encoder = new Encoder(subject, classes);
  return encoder.encoded(encoder.encode(value));
}

/**
 * The data of an instance, without its class.
 *
 * @param subject name of the instance in errors, which name `file` too
 * @throws UnserializableValueError with the path to a value that cannot be carried
 */
export function encodeInstance(instance: object, classes: CodecClasses, subject: string, file?: string): Encoded {
  const encoder = new Encoder(subject, classes, file);
  return encoder.encoded(encoder.encodeData(instance));
}

/**
 * The text of a value that JSON can hold.
 *
 * @throws UnserializableValueError with the path to a value that it cannot hold
 */
export function encodeJson(value: unknown, subject: string): string {
  return JSON.stringify(new Encoder(subject).encode(value));
}

const TOO_LONG = `a bigint of more than ${MAX_DIGITS} digits`;

class Encoder {
  #types: Record<string, string> | undefined;
  #versions: Record<string, number> | undefined;
  /** Undefined: only plain JSON may be written. */
  readonly #classes: CodecClasses | undefined;
  readonly #subject: string;
  readonly #file: string | undefined;
  /** The path to the value being encoded, up to `#depth`. Never truncated, so that a plain value costs nothing. */
  readonly #path: Segment[] = [];
  readonly #ancestors: object[] = [];
  #limits: Limits | undefined;
  #depth = 0;
  #entities = 0;
  /** The value with a type of its own around the value being encoded, such as a Map. */
  #container: object | undefined;

  /** @param file the file that declares the job, for errors */
  constructor(subject: string, classes?: CodecClasses, file?: string) {
    this.#classes = classes;
    this.#subject = subject;
    this.#file = file;
  }

  encoded(command: unknown): Encoded {
    return { command, types: this.#types, versions: this.#versions, hasEntities: this.#entities > 0 || undefined };
  }

  encode(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        return value.isWellFormed() ? value : this.#typed('string', utf16(value));
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value;
        return this.#typed('number', value === 0 ? '-0' : String(value));
      case 'boolean':
        return value;
      case 'undefined':
        return this.#typed('undefined', null);
      case 'bigint':
        return this.#typed('bigint', bigintForm(value) ?? this.#refuse(TOO_LONG, 'Write it as a string.'));
      case 'object':
        return value === null ? null : this.#object(value);
      default:
        return this.#refuse(described(value), remedyFor(value));
    }
  }

  /** The own properties of an instance, mapped by class-transformer if its class has such decorators. */
  encodeData(instance: object): unknown {
    this.#enter(instance);
    const data = this.#data(instance, classOf(instance)!);
    this.#ancestors.pop();
    return data;
  }

  #object(value: object): unknown {
    this.#enter(value);
    const form = this.#form(value);
    this.#ancestors.pop();
    return form;
  }

  #form(value: object): unknown {
    if (Array.isArray(value) && value.constructor?.name === 'Array') return this.#list(value);
    if (isPlain(value)) return this.#record(value);
    const target = classOf(value);
    const name = target && this.#classes?.nameOf(target);
    if (target !== undefined && name !== undefined) return this.#instance(value, target, name);
    return this.#builtIn(value);
  }

  #instance(instance: object, target: Class, name: string): unknown {
    const stray = strayChoice(instance);
    if (stray !== undefined) this.#refuse(...stray);
    const version = this.#classes?.definitionOf(target)?.version;
    if (version !== undefined) (this.#versions ??= {})[this.#pointer()] = version;
    return this.#typed(`class:${name}`, this.#data(instance, target));
  }

  #builtIn(value: object): unknown {
    const type = typeOf(value);
    if (type === undefined) return this.#entity(value) ?? this.#refuse(described(value), remedyFor(value));
    const builtIn = BUILT_INS.get(type)!;
    const form = builtIn.write(value);
    const excess = builtIn.excess?.(form, (this.#limits ??= new Limits()));
    if (excess !== undefined) this.#refuse(excess, builtIn.remedy!);
    const around = this.#container;
    this.#container = value;
    const written = Array.isArray(form) ? this.#listed(type, form) : isRecord(form) ? this.#record(form) : form;
    this.#container = around;
    const own = builtIn.hasProperties ? undefined : Object.keys(value)[0];
    if (own === undefined) return this.#typed(type, written);
    return this.#refuse(`${described(value)} with the property \`${own}\``, 'Leave it out.');
  }

  /** Undefined if it is no entity. */
  #entity(value: object): unknown {
    const [adapter, entity] = this.#classes?.entityOf?.(value) ?? [];
    if (adapter === undefined || entity === undefined) return undefined;
    const { class: name, id, connection } = entity;
    if (id === undefined || id === null)
      throw unsavedEntity(toPath(this.#subject, this.#path.slice(0, this.#depth)), name, this.#file);
    if (this.#container !== undefined)
      this.#refuse(`${described(value)} in ${described(this.#container)}`, 'Carry entities in a list or an object.');
    this.#entities += 1;
    const reference = connection === undefined ? { class: name, id } : { class: name, connection, id };
    return this.#typed(typeOfEntity(adapter), this.#record(reference));
  }

  #data(instance: object, target: Class): object {
    if (mapsByClassTransformer(target)) {
      return this.#record(toPlain(instance, target, (kind, remedy, path) => this.#refuse(kind, remedy, path)));
    }
    const plain = this.#record(instance);
    // JSON.stringify would call the instance's toJSON(); a copy has none.
    return plain === instance && 'toJSON' in instance ? { ...instance } : plain;
  }

  #record(source: object): object {
    const symbol = symbolKeyOf(source);
    if (symbol !== undefined) this.#refuse(`an object with the property ${symbol}`, 'Name it by a string.');
    let copy: Record<string, unknown> | undefined;
    const depth = this.#descend();
    for (const key in source) {
      if (!Object.hasOwn(source, key)) continue;
      const value = (source as Record<string, unknown>)[key];
      this.#path[depth] = key;
      if (isForbiddenKey(key) || !key.isWellFormed()) this.#refuse('a property of that name', 'Rename it.');
      const encoded = this.encode(value);
      if (encoded !== value) (copy ??= { ...source } as Record<string, unknown>)[key] = encoded;
    }
    this.#depth = depth;
    return copy ?? source;
  }

  #list(source: readonly unknown[]): unknown {
    const keys = Object.keys(source);
    const { length } = source;
    if (keys.length !== length || (length > 0 && keys[length - 1] !== String(length - 1)))
      this.#refuseList(source, keys);
    const before = this.#entities;
    const items = this.#items(source);
    return this.#entities - before < 2 || this.#entities - before !== length ? items : this.#joined(items);
  }

  /** A list of entities of one class has one type, not one for each of them. */
  #joined(items: readonly unknown[]): unknown {
    const pointer = this.#pointer();
    const types = this.#types!;
    const places = items.map((_, place) => `${pointer}/${place}`);
    // An id may have a type too.
    if (places.some((place) => types[`${place}/id`] !== undefined)) return items;
    const list = listForm(
      items,
      places.map((place) => types[place]),
    );
    if (list === undefined) return items;
    for (const place of places) delete types[place];
    return this.#typed(list.type, list.form);
  }

  #items(source: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined;
    const depth = this.#descend();
    for (let index = 0; index < source.length; index++) {
      const value = source[index];
      this.#path[depth] = index;
      const encoded = this.encode(value);
      if (encoded !== value) (copy ??= [...source])[index] = encoded;
    }
    this.#depth = depth;
    return copy ?? source;
  }

  #listed(type: string, form: readonly unknown[]): readonly unknown[] {
    if (type !== 'Map') return this.#items(form);
    const depth = this.#descend();
    const entries = form.map((entry, index) => {
      this.#path[depth] = index;
      return this.#items(entry as readonly unknown[]);
    });
    this.#depth = depth;
    return entries;
  }

  #typed(type: string, form: unknown): unknown {
    if (this.#classes === undefined) this.#refuse(`of type ${type}`, 'Only JSON goes here: write a string.');
    (this.#types ??= {})[this.#pointer()] = type;
    return form;
  }

  #pointer(): string {
    return toPointer(this.#path.slice(0, this.#depth));
  }

  #descend(): number {
    if (this.#depth === MAX_DEPTH) this.#refuse(`more than ${MAX_DEPTH} levels down`, 'Make the data flatter.');
    return this.#depth++;
  }

  #enter(value: object): void {
    if (this.#ancestors.includes(value)) {
      this.#refuse('a way back to an object that holds it', 'Carry an id instead.');
    }
    this.#ancestors.push(value);
  }

  #refuseList(source: readonly unknown[], keys: readonly string[]): never {
    const hole = source.findIndex((_, index) => !Object.hasOwn(source, index));
    if (hole !== -1) return this.#refuse(`an array with a hole at [${hole}]`, 'Fill it with null or undefined.');
    return this.#refuse(`an array with the property \`${keys[source.length]}\``, 'Carry it in a field of its own.');
  }

  #refuse(kind: string, remedy: string, further: readonly Segment[] = []): never {
    const path = [...this.#path.slice(0, this.#depth), ...further];
    throw new UnserializableValueError(toPath(this.#subject, path), kind, remedy, this.#file);
  }
}
