/** Reads payloads: a job's name, its options, and the job itself, with the values that JSON cannot hold. */
import { isName, LONGEST_NAME, NAME_RULE, oneLine, ORDINARY_NAME } from '../base/text';
import { isUtf8 } from 'node:buffer';
import { classOf } from '../base/class';
import type { JobDefinition, JobRegistry } from '../job/registry';
import type { FailedLink, Occurrence } from '../job/job-context';
import { NOTHING_CHOSEN, type ChosenOptions } from '../job/options';
import {
  readChosen,
  shapeOf,
  BATCH_FIELD,
  HANDLER,
  HANDLER_WITH_FOLLOWERS,
  OCCURRENCE_FIELD,
  SENSITIVE,
} from './payload-text';
import { READY_AT } from './uuid';
import type { CodecClasses } from './encoder';
import { HeldEntities, type EntityHolder } from './entities';
import { InvalidPayloadError, PayloadVersionError, UnknownClassError } from './errors';
import { isPlain, isRecord, checkMade, checkNesting, Limits, depthOf, locate, textsIn, withPrototype } from './values';
import { toInstance } from './mapping';
import { NO_CHAIN, readCause, readChain, type Chain } from './chain';
import { BUILT_INS } from './built-ins';
import { isSealed, type Sealed, type Vault } from './vault';

/**
 * `onqueue`: one of our job classes. `string`: a name and JSON data, like Laravel's string jobs. `illuminate`: one of
 * Laravel's classes, for which a class here must have a format.
 */
export type PayloadKind = 'onqueue' | 'string' | 'illuminate';

type Fields = Record<string, unknown>;

/** Laravel's own classes, one of which runs all others. */
const ILLUMINATE = 'Illuminate\\';

/** The class in which Laravel sends a closure. */
const CLOSURE = 'Illuminate\\Queue\\CallQueuedClosure';

/** The batch that sent a job, and where it is kept. */
export interface SenderBatch {
  readonly id: string;
  readonly connection: string;
  readonly queue: string;
}

function readOccurrence(occurrence: unknown): Occurrence | undefined {
  if (!isRecord(occurrence)) return undefined;
  const { schedule, at } = occurrence;
  const moment = new Date(typeof at === 'number' ? Math.round(at * 1000) : Number.NaN);
  return isName(schedule) && !Number.isNaN(moment.getTime()) ? { schedule, at: moment } : undefined;
}

/** The class that Laravel's worker would build; without one, what it would call. */
function classIn({ data, job }: Fields): unknown {
  return isRecord(data) && isName(data['commandName']) ? data['commandName'] : job;
}

/** If the job is only passing by, it does not matter what nobody here can read. */
function chosenByLaravel(fields: Fields): ChosenOptions {
  try {
    return readChosen(fields, true);
  } catch {
    return NOTHING_CHOSEN;
  }
}

/** A parsed payload, before any class is known. */
export class Envelope {
  /** Undefined if the payload has no id that is a string. */
  readonly id: string | undefined;
  readonly kind: PayloadKind;
  /** The name of the job; for a string job, the part before `@`; for a class of Laravel, what Laravel shows. */
  readonly name: string;
  /** The names to look up a job by, in order: `App\Jobs\SendEmail` may be a `SendEmail` too. */
  readonly names: readonly string[];
  readonly displayName: string;
  readonly chosen: ChosenOptions;
  readonly isSealed: boolean;
  /** Its data or parts of them must not be shown: they are sealed, or some are sensitive. */
  readonly isSecret: boolean;
  /** Middleware given by `through()` at dispatch, encoded. Undefined if there is none. `decodeMiddleware` reads it. */
  readonly middleware: unknown;
  /** Whether it has ties, or other jobs follow it. */
  readonly isMarked: boolean;
  /** The jobs that follow it. */
  readonly chain: Chain;
  /** When it became ready, if its id does not say; see `readyAtOf`. */
  readonly readyAt: unknown;
  readonly #text: string;
  /** Parts taken from here may be changed by a job. */
  readonly #parsed: Fields;
  readonly #data: JobData<Fields | string> | undefined;
  readonly #taken = { data: false, middleware: false };
  #fields: Fields | undefined;

  /** @throws InvalidPayloadError */
  constructor(text: string, fields: Fields) {
    this.#text = text;
    this.#parsed = fields;
    const { id, job, displayName, middleware } = fields;
    if (typeof job !== 'string') throw new InvalidPayloadError('it does not say which job it is for', '/job');
    this.id = typeof id === 'string' && id !== '' ? named(id, '/id') : undefined;
    this.kind =
      job === HANDLER || job === HANDLER_WITH_FOLLOWERS
        ? 'onqueue'
        : job.startsWith(ILLUMINATE)
          ? 'illuminate'
          : 'string';
    const isString = this.kind === 'string';
    const isLaravels = this.kind === 'illuminate';
    const data = (this.#data = this.kind === 'onqueue' ? jobData(fields['data']) : undefined);
    const name = data?.commandName ?? named(isString ? job.split('@')[0] : isLaravels ? classIn(fields) : job, '/job');
    this.name = isLaravels && isName(displayName) ? displayName : name;
    this.names = isString ? [...new Set([name, name.slice(name.lastIndexOf('\\') + 1)])] : [name];
    this.displayName = typeof displayName === 'string' && displayName !== '' ? displayName : this.name;
    this.chosen = isLaravels ? chosenByLaravel(fields) : readChosen(fields, isString);
    this.isSealed = typeof data?.command === 'string';
    this.isSecret = this.isSealed || fields[SENSITIVE] !== undefined;
    this.middleware = middleware ?? undefined;
    this.isMarked = job === HANDLER_WITH_FOLLOWERS;
    this.chain = this.isMarked ? readChain(fields) : NO_CHAIN;
    this.readyAt = fields[READY_AT];
  }

  /** The class of the job. Undefined if it is not registered here. */
  definitionIn(registry: Pick<JobRegistry, 'find'>): JobDefinition | undefined {
    for (const name of this.names) {
      const definition = registry.find(name);
      if (definition !== undefined && (this.kind !== 'illuminate' || definition.format !== undefined))
        return definition;
    }
    return undefined;
  }

  /** Which job's failure sent this job, and why. Undefined if none did. */
  get cause(): FailedLink | undefined {
    return this.kind === 'onqueue' ? readCause(this.#parsed['cause']) : undefined;
  }

  /** Where jobs that it adds to its batch go, if they choose no queue themselves. */
  get batchJobs(): string | undefined {
    const batch = this.kind === 'onqueue' ? this.#parsed[BATCH_FIELD] : undefined;
    return isRecord(batch) && typeof batch.jobs === 'string' ? batch.jobs : undefined;
  }

  /** Which batch sent this job. Undefined if none did. */
  get batch(): SenderBatch | undefined {
    return this.kind === 'onqueue' ? textsIn(this.#parsed[BATCH_FIELD], 'id', 'connection', 'queue') : undefined;
  }

  /** Which schedule sent this job, and for when. Undefined if none did. */
  get occurrence(): Occurrence | undefined {
    return this.kind === 'onqueue' ? readOccurrence(this.#parsed[OCCURRENCE_FIELD]) : undefined;
  }

  /** All fields, for reading. A copy, so that a job that changes its data changes nothing here. */
  get fields(): Readonly<Fields> {
    return (this.#fields ??= JSON.parse(this.#text) as Fields);
  }

  /** The data of a job of ours, which the caller may change; parsed again if they were taken before. */
  takeData(): JobData<Fields | string> {
    if (this.#taken.data || this.#data === undefined) return jobData(this.take('data'));
    this.#taken.data = true;
    return this.#data;
  }

  /** A field that the caller may change; parsed again if it was taken before. */
  take(field: 'data' | 'middleware'): unknown {
    if (this.#taken[field]) return (JSON.parse(this.#text) as Fields)[field];
    this.#taken[field] = true;
    return this.#parsed[field];
  }
}

/** @throws InvalidPayloadError when it is not a payload; the reason is safe to show */
export function decodeEnvelope(payload: Buffer): Envelope {
  if (!isUtf8(payload)) throw new InvalidPayloadError('it is not UTF-8');
  const text = payload.toString('utf8');
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    // Without the parser's message, which quotes the payload.
    throw new InvalidPayloadError('it is not JSON');
  }
  if (!isRecord(fields)) throw new InvalidPayloadError('it is JSON, but not an object');
  checkNesting(text, fields);
  return new Envelope(text, fields);
}

/** Undefined if it is not a payload. */
export function envelopeIn(payload: Buffer): Envelope | undefined {
  try {
    return decodeEnvelope(payload);
  } catch {
    return undefined;
  }
}

/**
 * The job itself, created anew by each call, without calling its constructor or its field initialisers.
 *
 * @param holder gets what stands for its entities
 * @throws InvalidPayloadError, UnknownClassError
 * @throws PayloadVersionError when the data have a later version than the class
 * @throws UnknownKeyError, E_TAMPERED_PAYLOAD
 */
export function decodeJob(
  envelope: Envelope,
  definition: JobDefinition,
  classes: CodecClasses,
  vault: Vault,
  holder?: EntityHolder,
): object {
  const { kind } = envelope;
  if (kind === 'illuminate') return jobOf(definition, sharedData(definition, envelope.take('data')), '/data/command');
  if (kind === 'string')
    return jobOf(definition, withDates(propertiesOf(envelope.take('data')), definition.options.dates), '/data');
  const { command, types, version, versions } = dataOf(envelope, vault);
  let data = command;
  // Most data are JSON and nothing else.
  if (types !== undefined) {
    const value = decodeValue(command, types, classes, '/data/command', versions, holder);
    if (!isRecord(value) || !isPlain(value))
      throw new InvalidPayloadError('the data as a whole must not have a type', '/data/types');
    data = value;
  }
  if (version !== definition.version) data = upgraded(data, version, definition, '/data/command');
  return jobOf(definition, data, '/data/command');
}

/** Why only a worker of Laravel can run a job of one of its classes. Undefined if this one can. @throws InvalidPayloadError */
export function onlyInLaravel(envelope: Envelope, definition: JobDefinition | undefined): string | undefined {
  const [name = ''] = envelope.names;
  if (name === CLOSURE) return 'it is a closure, which is code of PHP';
  if (definition === undefined) return `no class here has @LaravelJob('${name.replaceAll('\\', '\\\\')}')`;
  const read = definition.format!.read(envelope.fields['data']);
  return typeof read === 'string' ? read : undefined;
}

function sharedData({ format }: JobDefinition, data: unknown): Fields {
  const read = format?.read(data) ?? 'it has no format here';
  if (typeof read === 'string') throw new InvalidPayloadError(read, '/data');
  checkMade(read, '/data/command');
  return read;
}

/** With the zone: without it, the moment would depend on where the worker runs. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

function withDates(data: Fields, dates: readonly string[] = []): Fields {
  for (const name of dates) {
    const text = Object.hasOwn(data, name) ? (data[name] ?? undefined) : undefined;
    if (text === undefined) continue;
    const moment = new Date(typeof text === 'string' && MOMENT.test(text) ? text : Number.NaN);
    if (Number.isNaN(moment.getTime()))
      throw new InvalidPayloadError('expected a moment such as 2026-11-21T10:00:00Z', `/data/${name}`);
    data[name] = moment;
  }
  return data;
}

/**
 * Methods that a run calls on a job. Data with such a name would hide the method: a job would run without its middleware.
 */
const CALLED = ['handle', 'failed', 'middleware', 'backoff'];

function jobOf(definition: JobDefinition, data: Fields, place: string): object {
  const { name, target } = definition;
  const { isMapped } = shapeOf(definition);
  const job = isMapped ? toInstance(target, data, place) : withPrototype(target.prototype, data);
  for (const method of CALLED) {
    if (Object.hasOwn(job, method) && method in target.prototype) {
      throw new InvalidPayloadError(`\`${method}\` would hide the method of ${name}`, place);
    }
  }
  return job;
}

/**
 * Middleware given by `through()` at dispatch, created anew by each call.
 *
 * @param holder gets what stands for its entities
 * @throws InvalidPayloadError, UnknownClassError
 */
export function decodeMiddleware(
  envelope: Envelope,
  classes: CodecClasses,
  vault: Vault,
  holder?: EntityHolder,
): unknown[] {
  if (envelope.middleware === undefined) return [];
  const taken = middlewareIn(envelope, vault);
  const { command, types, versions } = isRecord(taken) ? taken : ({} as Fields);
  const middleware = decodeValue(
    command,
    optionalRecord(types, '/middleware/types'),
    classes,
    '/middleware/command',
    optionalRecord(versions, '/middleware/versions'),
    holder,
  );
  if (!Array.isArray(middleware)) throw new InvalidPayloadError('expected a list', '/middleware/command');
  middleware.forEach((layer, index) => {
    if (!isLayer(layer, classes)) throw new InvalidPayloadError('it is not middleware', `/middleware/command/${index}`);
  });
  return middleware;
}

function isLayer(value: unknown, classes: CodecClasses): boolean {
  if (typeof value !== 'object' || value === null || !('handle' in value)) return false;
  const target = classOf(value);
  return target !== undefined && classes.nameOf(target) !== undefined && typeof value.handle === 'function';
}

interface JobData<Command> {
  readonly commandName: string;
  /** A text if it is sealed. */
  readonly command: Command;
  readonly types: Fields | undefined;
  readonly version: number | undefined;
  readonly versions: Fields | undefined;
}

/** Opens the data of a job. @throws InvalidPayloadError, UnknownKeyError, E_TAMPERED_PAYLOAD */
export function dataOf(envelope: Envelope, vault: Vault): JobData<Fields> {
  const data = envelope.takeData();
  const { commandName, command } = data;
  if (typeof command !== 'string') return data as JobData<Fields>;
  return jobData({ ...opened(command, 'data', envelope, vault), commandName }) as JobData<Fields>;
}

/** Opens the middleware given at its dispatch. @throws UnknownKeyError, E_TAMPERED_PAYLOAD */
export function middlewareIn(envelope: Envelope, vault: Vault): unknown {
  const taken = envelope.take('middleware');
  return isSealed(taken) ? opened(taken, 'middleware', envelope, vault) : taken;
}

function opened(sealed: string, kind: Sealed['kind'], envelope: Envelope, vault: Vault): Fields {
  const [name = ''] = envelope.names;
  return JSON.parse(vault.open(sealed, { name, id: envelope.id ?? '', kind })) as Fields;
}

function jobData(data: unknown): JobData<Fields | string> {
  if (!isRecord(data)) throw new InvalidPayloadError('expected an object', '/data');
  const { commandName, command, types, version, versions } = data;
  return {
    commandName: named(commandName, '/data/commandName'),
    command: typeof command === 'string' && isSealed(command) ? command : recordOf(command, '/data/command'),
    types: optionalRecord(types, '/data/types'),
    version: checkedVersion(version, '/data/version'),
    versions: optionalRecord(versions, '/data/versions'),
  };
}

function optionalRecord(value: unknown, place: string): Fields | undefined {
  return value === undefined || value === null ? undefined : recordOf(value, place);
}

// PHP writes an empty object as [].
function recordOf(value: unknown, place: string): Fields {
  if (Array.isArray(value) && value.length === 0) return {};
  if (!isRecord(value)) throw new InvalidPayloadError('expected an object', place);
  return value;
}

function named(value: unknown, place: string): string {
  const isOrdinary = typeof value === 'string' && value.length <= LONGEST_NAME && ORDINARY_NAME.test(value);
  if (isOrdinary || isName(value)) return value;
  throw new InvalidPayloadError(`expected ${NAME_RULE}`, place);
}

function propertiesOf(data: unknown): Fields {
  if (data === undefined || data === null) return {};
  return isRecord(data) ? data : { data };
}

type Data = Record<string, unknown>;

const CLASS = 'class:';

/**
 * The value that was encoded. Reuses the objects of `command`, which must not be used afterwards.
 *
 * @param place JSON Pointer to `command`, for errors
 * @param versions of the jobs in it, as read
 * @param holder gets what stands for entities in the value. Without it, there can be none
 * @throws InvalidPayloadError when `types` and `command` do not fit each other
 * @throws UnknownClassError when a class is not registered here
 * @throws PayloadVersionError when the data of a job have a later version than its class
 */
export function decodeValue(
  command: unknown,
  types: Readonly<Data> | undefined,
  classes: CodecClasses,
  place = '',
  versions?: Readonly<Data>,
  holder?: EntityHolder,
): unknown {
  return types === undefined ? command : new Decoder(classes, place, versions, holder).decode(command, types);
}

class Decoder {
  readonly #classes: CodecClasses;
  readonly #place: string;
  /** The versions of jobs' data, by their pointers. */
  readonly #versions: Readonly<Data>;
  readonly #limits = new Limits();

  readonly #holder: EntityHolder | undefined;

  constructor(classes: CodecClasses, place: string, versions: Readonly<Data> = {}, holder?: EntityHolder) {
    this.#classes = classes;
    this.#place = place;
    this.#versions = versions;
    this.#holder = holder;
  }

  decode(command: unknown, types: Readonly<Data>): unknown {
    const root = { value: command };
    // The deepest first: they can only be found while everything above them is still plain JSON.
    const pointers = Object.keys(types).map((pointer) => ({ pointer, depth: depthOf(pointer) }));
    pointers.sort((a, b) => b.depth - a.depth);
    for (const { pointer } of pointers) {
      const { parent, key } = locate(root, pointer, this.#place);
      parent[key] = this.#build(types[pointer], parent[key], pointer);
    }
    return root.value;
  }

  #build(type: unknown, form: unknown, pointer: string): unknown {
    if (typeof type !== 'string') throw this.#refusal('the name of a type is a string', pointer);
    if (type.startsWith(CLASS)) return this.#instance(type.slice(CLASS.length), form, pointer);
    if (type === 'undefined' && form === null) return undefined;
    const builtIn = BUILT_INS.get(type);
    if (builtIn === undefined && type !== 'undefined') {
      const held = this.#holder && HeldEntities.read(type, form, this.#place + pointer);
      if (held !== undefined) {
        (this.#holder!.held ??= []).push(held);
        return held;
      }
      throw this.#refusal(`there is no type '${oneLine(type, 40)}'`, pointer);
    }
    const excess = builtIn?.excess?.(form, this.#limits);
    if (excess !== undefined) throw this.#refusal(`${excess} is not read`, pointer);
    let value: unknown;
    try {
      value = builtIn?.read(form);
    } catch {
      // Not the form of this type: see below.
    }
    if (value === undefined) throw this.#refusal(`the value there is not the JSON form of a ${type}`, pointer);
    return value;
  }

  // The place is built only for an error: there may be very many values.
  #refusal(reason: string, pointer: string): InvalidPayloadError {
    return new InvalidPayloadError(reason, this.#place + pointer);
  }

  #instance(name: string, form: unknown, pointer: string): object {
    const place = this.#place + pointer;
    const target = this.#classes.classOf(name);
    if (target === undefined) throw new UnknownClassError(name, place);
    if (!isRecord(form)) throw new InvalidPayloadError(`the data of a ${name} are an object`, place);
    const definition = this.#classes.definitionOf(target);
    const data = definition === undefined ? form : upgraded(form, this.#versions[pointer], definition, place);
    return toInstance(target, data, place);
  }
}

/**
 * Converts data that an older version of a class wrote to what the class expects today.
 *
 * @param data with its typed values restored
 * @param from the version in the payload; undefined: 0
 * @param place JSON Pointer to the data, for errors
 * @throws PayloadVersionError when the data have a later version than the class
 * @throws InvalidPayloadError when `upgrade()` returned no data, or `from` is not a version
 */
export function upgraded(data: Data, from: unknown, definition: JobDefinition, place: string): Data {
  const { name, version = 0, upgrade } = definition;
  const written = checkedVersion(from, place) ?? 0;
  if (written > version) throw new PayloadVersionError(name, written, version);
  if (written === version || upgrade === undefined) return data;
  const result: unknown = upgrade(data, written);
  if (!isRecord(result) || !isPlain(result)) {
    throw new InvalidPayloadError(`upgrade() of ${name} returned no plain object for version ${written}`, place);
  }
  checkMade(result, place);
  return result;
}

/** @throws InvalidPayloadError */
export function checkedVersion(version: unknown, place: string): number | undefined {
  if (version === undefined || version === null) return undefined;
  if (Number.isSafeInteger(version) && (version as number) >= 0) return version as number;
  throw new InvalidPayloadError('expected a whole number from 0', place);
}
