/** `@LaravelJob('App\\Jobs\\SendInvoice')`: jobs of one class in two languages, and their values in both. Each side dispatches and runs them. */
import { types } from 'node:util';
import { InvalidPayloadError, Job, type JobFormat, type JobOptions, UnserializableValueError } from '../index';
import {
  MOST_LEVELS,
  PhpArray,
  PhpEnum,
  PhpFloat,
  PhpObject,
  phpText,
  type PhpValue,
  readPhpText,
  unreadable,
} from './php-text';

type Names = readonly string[];
type Classes = Readonly<Record<string, string>>;

/** Options that need a part of the payload or of the store that Laravel does not keep. */
type NotShared = 'name' | 'format' | 'dates' | 'unique' | 'debounce' | 'lane' | 'schedule' | 'version' | 'upgrade';

export interface LaravelJobOptions extends Omit<JobOptions, NotShared> {
  /** The properties that are protected in PHP. */
  protected?: Names | undefined;
  /** The properties that are private in PHP. */
  private?: Names | undefined;
  /** The properties whose numbers are floats in PHP, also where they have no fraction. */
  floats?: Names | undefined;
  /** The properties with cases of an enum, and its class: `{ plan: 'App\\Enums\\Plan' }`. Here a case is its name. */
  enums?: Classes | undefined;
  /** The classes of dates that are not `Illuminate\Support\Carbon` in PHP: `{ at: 'Carbon\\CarbonImmutable' }`. */
  dates?: Classes | undefined;
}

/**
 * Declares the class below as a job that a Laravel application shares.
 *
 * @param name of the class in PHP, such as `App\\Jobs\\SendInvoice`
 */
export function LaravelJob(name: string, options: LaravelJobOptions = {}): ReturnType<typeof Job> {
  const { protected: guarded = [], private: own = [], floats = [], enums = {}, dates = {}, ...job } = options;
  for (const given of [name, ...Object.values(enums), ...Object.values(dates)]) {
    if (/^[^\W\d]\w*(?:\\[^\W\d]\w*)*$/.test(given)) continue;
    throw new TypeError(`@LaravelJob: '${given}' is no class of PHP. Write it as 'App\\\\Jobs\\\\SendInvoice'.`);
  }
  const expected = [...new Set([...guarded, ...own, ...floats, ...Object.keys(enums), ...Object.keys(dates)])];
  const meant = (property: string): Meant => ({
    float: floats.includes(property),
    enum: Object.hasOwn(enums, property) ? enums[property] : undefined,
    date: Object.hasOwn(dates, property) ? dates[property] : undefined,
  });
  const mangled = (property: string): string => {
    if (own.includes(property)) return `\0${name}\0${property}`;
    return guarded.includes(property) ? `\0*\0${property}` : property;
  };
  const format: JobFormat = {
    expected,
    write(properties, subject, file) {
      const entries = Object.entries(properties).map(([property, value]): [string, PhpValue] => [
        mangled(property),
        new ToPhp(meant(property), file).write(value, `${subject}.${property}`),
      ]);
      const command = phpText(new PhpObject(name, new Map(entries)));
      return { job: 'Illuminate\\Queue\\CallQueuedHandler@call', data: { commandName: name, command } };
    },
    read: readCommand,
  };
  return Job({ ...job, name, format });
}

/** What Laravel keeps in a job, beside the job's own data. */
const LARAVELS: ReadonlySet<string> = new Set([
  ...['job', 'connection', 'queue', 'delay', 'afterCommit', 'middleware', 'messageGroup', 'deduplicator'],
  ...['chained', 'chainConnection', 'chainQueue', 'chainCatchCallbacks', 'batchId', 'fakeBatch'],
  ...['tries', 'timeout', 'backoff', 'maxExceptions', 'failOnTimeout', 'retryUntil', 'shouldBeEncrypted'],
  ...['deleteWhenMissingModels', 'uniqueId', 'uniqueFor'],
]);

/** Base64 of `{"iv":`. */
const ENCRYPTED = /^eyJpdiI6/;

function readCommand(data: unknown): Record<string, unknown> | string {
  const { commandName, command, batchId } = Object(data) as Readonly<Record<string, unknown>>;
  if (typeof command !== 'string') throw new InvalidPayloadError("expected PHP's text", '/data/command');
  if (ENCRYPTED.test(command)) return "its data are encrypted with Laravel's key";
  const job = readPhpText(command);
  if (!(job instanceof PhpObject) || job.name !== commandName) unreadable(`it is no ${String(commandName)}`);
  const { properties } = job;
  const has = (property: string): boolean => sizeOf(properties.get(property)) > 0;
  if (has('chained') || has('chainCatchCallbacks')) return 'it belongs to a chain of Laravel';
  if (typeof (batchId ?? properties.get('batchId')) === 'string') return 'it belongs to a batch of Laravel';
  const values = new FromPhp();
  const own = Array.from(properties).filter(([property]) => !LARAVELS.has(property));
  return Object.fromEntries(own.map(([property, value]) => [property, values.read(value)]));
}

const sizeOf = (value: PhpValue | undefined): number => (value instanceof PhpArray ? value.entries.size : 0);

/** By references, a short text may mean very many values. */
const MOST_VALUES = 1_000_000;

/** A value that is being made, or was made of so many values. */
interface Made {
  readonly value?: unknown;
  readonly size: number;
}

const BEGUN: Made = { size: 0 };

/** Reads the values of one text. */
class FromPhp {
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
interface Meant {
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
class ToPhp {
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

/** Stands for a model, or for several of one class. */
export interface ModelReference {
  /** Its class in PHP. */
  readonly class: string;
  /** A list stands for a collection of models. */
  readonly id: string | number | readonly (string | number)[];
  /** What Laravel loads with it. */
  readonly relations: readonly string[];
  /** Of the database. Undefined: that of its class. */
  readonly connection: string | undefined;
}

/** Copies of this package recognise each other's references by it. */
const MARK = Symbol.for('onqueue.laravel.model');

/** A model for a job that Laravel runs: `model('App\\Models\\User', 7)`. With a list of ids, it is a collection. */
export function model(
  name: string,
  id: ModelReference['id'],
  { relations = [], connection }: Partial<Pick<ModelReference, 'relations' | 'connection'>> = {},
): ModelReference {
  return Object.defineProperty({ class: name, id, relations, connection }, MARK, { value: true });
}

const isModel = (value: object): value is ModelReference => MARK in value;

const IDENTIFIER = 'Illuminate\\Contracts\\Database\\ModelIdentifier';

/** Undefined if the object is no reference to a model. @param read gives the values in it */
function modelOf({ name, properties }: PhpObject, read: (value: PhpValue) => unknown): object | undefined {
  const [target, id, relations, connection] = ['class', 'id', 'relations', 'connection'].map((property) =>
    properties.get(property),
  );
  if (name !== IDENTIFIER || typeof target !== 'string') return undefined;
  return model(target, read(id ?? null) as ModelReference['id'], {
    relations: relations instanceof PhpArray ? [...relations.entries.values()].map(String) : [],
    connection: typeof connection === 'string' ? connection : undefined,
  });
}

/** @param write gives the values in it */
function phpModel(
  { class: target, id, relations, connection }: ModelReference,
  write: (value: unknown) => PhpValue,
): PhpObject {
  const entries = { class: target, id: write(id), relations: write(relations), connection: connection ?? null };
  return new PhpObject(IDENTIFIER, new Map(Object.entries(entries)));
}

/** A moment whose zone this platform does not know, or which is too far away for a Date. */
interface WrittenMoment {
  readonly date: string;
  readonly timezone: string;
}

/** As `timezone_type` says it. */
const OFFSET = 1;
const NAME = 3;

/** Undefined if the object is no moment. */
export function momentOf({ properties }: PhpObject): Date | WrittenMoment | undefined {
  const [date, kind, timezone] = ['date', 'timezone_type', 'timezone'].map((name) => properties.get(name));
  if (typeof date !== 'string' || typeof kind !== 'number' || typeof timezone !== 'string') return undefined;
  const wall = wallClock(date);
  const moment = wall === undefined ? undefined : instantOf(wall, kind, timezone);
  return moment === undefined ? { date, timezone } : new Date(moment);
}

/** Undefined if the year does not have four digits, so that PHP would not understand it. */
function phpMoment(moment: Date, className: string): PhpObject | undefined {
  const text = Number.isNaN(moment.getTime()) ? '' : moment.toISOString();
  if (!/^\d/.test(text)) return undefined;
  const entries: [string, PhpValue][] = [
    ['date', `${text.slice(0, 10)} ${text.slice(11, 23)}000`],
    ['timezone_type', NAME],
    ['timezone', 'UTC'],
  ];
  return new PhpObject(className, new Map(entries));
}

/** In milliseconds, as if the wall were in UTC. */
function wallClock(date: string): number | undefined {
  const [, day, time, fraction] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{6})$/.exec(date) ?? [];
  const wall = fraction === undefined ? Number.NaN : Date.parse(`${day}T${time}.${fraction.slice(0, 3)}Z`);
  return Number.isNaN(wall) ? undefined : wall;
}

function instantOf(wall: number, kind: number, timezone: string): number | undefined {
  if (/^(?:UTC|GMT|Z)$/.test(timezone)) return wall;
  const offset = kind === OFFSET ? offsetIn(timezone) : undefined;
  if (offset !== undefined) return wall - offset;
  // The meaning of an abbreviation, such as CET in summer, differs from library to library.
  return kind === NAME ? inZone(wall, timezone) : undefined;
}

/** PHP takes the earlier moment when clocks are set back, so the offset of the day before comes first. */
function inZone(wall: number, zone: string): number | undefined {
  const candidates = [-DAY, DAY].flatMap((away) => {
    const offset = offsetAt(zone, wall + away);
    return offset === undefined ? [] : [wall - offset];
  });
  return candidates.find((moment) => offsetAt(zone, moment) === wall - moment) ?? candidates[0];
}

const DAY = 86_400_000;

/** Those of the zones that the platform knows, which are a few hundred. */
const formats = new Map<string, Intl.DateTimeFormat>();

function offsetAt(zone: string, moment: number): number | undefined {
  try {
    const known = formats.get(zone) ?? new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
    formats.set(zone, known);
    const name = known.formatToParts(moment).find(({ type }) => type === 'timeZoneName')?.value;
    return offsetIn(name?.replace('GMT', '') || '+00:00');
  } catch {
    return undefined;
  }
}

/** Of a text such as +05:30, in milliseconds. */
function offsetIn(text: string): number | undefined {
  const [, sign, hours, minutes, seconds = 0] = /^([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const offset = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000;
  return sign === '-' ? -offset : offset;
}
