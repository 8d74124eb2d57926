/** Writes payloads: the text of one dispatched job. With the fields that say how the dispatch wants it to run: Laravel's, and some of our own. */
import { isName } from '../base/text';
import type { Milliseconds, Seconds } from '../base/clock';
import type { JobDefinition } from '../job/registry';
import {
  blankOptions,
  NOTHING_CHOSEN,
  RUN_OPTIONS,
  type ChosenOptions,
  type PayloadForm,
  type RunOptions,
} from '../job/options';
import { encodeInstance, encodeJson, encodeValue, type CodecClasses, type Encoded } from './encoder';
import { noCounters, RETRY_MARK } from './counters';
import { isForbiddenKey, isPlainData, toPath, toPointer, type Segment } from './values';
import type { Vault } from './vault';
import {
  invalidJobName,
  laravelProperty,
  reservedField,
  UnserializableValueError,
  InvalidPayloadError,
} from './errors';
import { mapsByClassTransformer, toPlain } from './mapping';
import { READY_AT, type ReadyAt } from './uuid';
import { LONGEST_DURATION, type ResolvedBackoff } from '../job/duration';

/** The value of `job` in every payload of a job class. */
export const HANDLER = 'onqueue';

/** The same for a job that others depend on, or that has entities: for a worker of 0.1.0 it is an unknown job, which goes back at no cost. */
export const HANDLER_WITH_FOLLOWERS = 'onqueue+';

export interface PayloadParts {
  readonly definition: JobDefinition;
  readonly job: object;
  readonly chosen: ChosenOptions;
  readonly id: string;
  readonly readyAt?: ReadyAt;
  extra?: ExtraFields | undefined;
  /** Instances of registered classes. */
  readonly middleware?: readonly unknown[] | undefined;
  readonly classes: CodecClasses;
  /** The schedule and the moment that it is sent for. */
  readonly occurrence?: { readonly schedule: string; readonly at: Milliseconds } | undefined;
  /** The result of `tiesMember`. Only workers that understand ties run the job. */
  readonly ties?: string | undefined;
  /** Seals the data and the middleware. Undefined: they travel in the clear. */
  readonly vault?: Vault | undefined;
}

export interface StringJobParts {
  /** `Class@method`, or the name of a job. */
  readonly name: string;
  /** Plain JSON: its reader knows no other types. Undefined: null. */
  readonly data: unknown;
  readonly id: string;
  readonly readyAt?: ReadyAt;
  extra?: ExtraFields | undefined;
}

/** Fields to add, in plain JSON; undefined ones are omitted. */
export interface ExtraFields {
  /** From `createPayloadUsing`. */
  readonly created?: Readonly<Record<string, unknown>> | undefined;
  /** From observers, which come after that. */
  readonly observed?: Readonly<Record<string, unknown>> | undefined;
}

/** The links that follow, the job that is sent when one of them fails, and why it was sent. */
export const CHAIN_FIELDS = ['chained', 'chainCatch', 'cause'] as const;

/** What the job counts in: see `ties.ts`. */
export const TIES = 'ties';

/** Which batch sent the job, and in which queue (`jobs`) the batch of a job wants those that choose none themselves. */
export const BATCH_FIELD = 'batch';

/** The same payload, with what it says about its batch. */
export function withBatch(payload: string, batch: Readonly<Record<string, string | undefined>>): string {
  return withMembers(payload, `"${BATCH_FIELD}":${JSON.stringify(batch)},`);
}

/** JSON Pointers into the data, to what is masked wherever people look. */
export const SENSITIVE = 'sensitive';

/** Which schedule sent the job, and for which moment. */
export const OCCURRENCE_FIELD = 'occurrence';

/** Most characters of the member. */
const LONGEST_TIES = 256;

type Fields = Readonly<Record<string, unknown>>;

interface Form {
  /** Never called for null. Undefined: nothing was chosen. @throws InvalidPayloadError */
  read(value: unknown, field: string, fields: Fields): unknown;
  write(value: unknown): string;
}

const FORMS: { readonly [form in PayloadForm]: Form } = {
  count: { read: count, write: String },
  seconds: { read: seconds, write: String },
  flag: { read: flag, write: String },
  backoff: {
    read: backoffOf,
    write: ({ delays, jitter }: ResolvedBackoff) => `"${delays.join(',')}"${jitter > 0 ? `,"jitter":${jitter}` : ''}`,
  },
  moment: {
    read: (moment, field) => Math.round(seconds(moment, field) * 1000),
    write: (moment: Milliseconds) => String(moment / 1000),
  },
};

interface ChosenField {
  readonly option: keyof RunOptions;
  readonly field: string;
  readonly olderField?: string;
  readonly form: Form;
}

const CHOSEN: readonly ChosenField[] = Object.entries(RUN_OPTIONS).map(([option, row]) => {
  return { ...row, option: option as keyof RunOptions, form: FORMS[row.form] };
});

/** `jitter` accompanies `backoff`. */
export const CHOSEN_FIELDS: readonly string[] = [
  'jitter',
  ...CHOSEN.flatMap(({ field, olderField }) => (olderField === undefined ? [field] : [field, olderField])),
];

const COUNTERS = Object.keys(noCounters);

const RESERVED: ReadonlySet<string> = new Set<string>(
  [
    'displayName',
    'job',
    'data',
    'middleware',
    'uuid',
    'id',
    READY_AT,
    RETRY_MARK,
    TIES,
    BATCH_FIELD,
    OCCURRENCE_FIELD,
    SENSITIVE,
    ...CHAIN_FIELDS,
  ].concat(CHOSEN_FIELDS, COUNTERS),
);

/**
 * The payload of a job of a class. Always well-formed Unicode.
 *
 * @throws UnserializableValueError with the path to a value that cannot be carried
 * @throws E_RESERVED_FIELD
 */
export function encodePayload(parts: PayloadParts): string {
  const { definition, job, chosen, id, readyAt, extra, middleware = [], classes, occurrence, ties = '' } = parts;
  const { vault } = parts;
  const { name, target, file } = definition;
  const { beginning, markedBeginning, version, sensitive, isMapped } = shapeOf(definition);
  const isExact = !isMapped && isPlainData(job);
  const data: Encoded = isExact ? { command: job } : encodeInstance(job, classes, target.name, file);
  const layers = middleware.length === 0 ? undefined : encodeValue(middleware, classes, `${name}.through()`);
  const isMarked = ties !== '' || data.hasEntities === true || layers?.hasEntities === true || vault !== undefined;
  const members = encodedMembers(data) + version;
  return (
    (isMarked ? markedBeginning : beginning) +
    (vault === undefined ? members : `"command":"${vault.seal(`{${members}}`, { name, id, kind: 'data' })}"`) +
    '},' +
    sensitive +
    (chosen === NOTHING_CHOSEN ? '' : writeChosen(chosen)) +
    (readyAt === undefined && extra === undefined ? '' : writeMore(name, readyAt, extra)) +
    (layers === undefined ? '' : `"middleware":${middlewareText(layers, parts)},`) +
    (occurrence === undefined ? '' : writeOccurrence(occurrence)) +
    ties +
    ending(id)
  );
}

/**
 * The payload of a job in the format of its class.
 *
 * @throws UnserializableValueError with the path to a value that cannot be carried
 * @throws E_LARAVEL_PROPERTY, E_RESERVED_FIELD
 */
export function encodeShared({ definition, job, chosen, id, readyAt, extra }: PayloadParts): string {
  const { name, target, file, format } = definition;
  const subject = target.name;
  const refuse = (kind: string, remedy: string, path: readonly Segment[]): never => {
    throw new UnserializableValueError(toPath(subject, path), kind, remedy, file);
  };
  const properties: Readonly<Record<string, unknown>> = mapsByClassTransformer(target)
    ? { ...toPlain(job, target, refuse) }
    : { ...job };
  for (const property of new Set([...format!.expected, ...Object.keys(properties)]))
    if (properties[property] === undefined) throw laravelProperty(subject, property, file);
  const { job: handler, data } = format!.write(properties, subject, file);
  return (
    `{"uuid":"${id}","displayName":${JSON.stringify(name)},"job":${JSON.stringify(handler)},` +
    `"data":${JSON.stringify(data)},` +
    writeChosen(chosen) +
    writeMore(name, readyAt, extra) +
    ending(id)
  );
}

/**
 * The payload of a job that consists of a name and JSON data, in the form that Laravel's workers understand.
 *
 * @throws E_INVALID_JOB_NAME
 * @throws UnserializableValueError with the path to a value that JSON does not have
 * @throws E_RESERVED_FIELD
 */
export function encodeStringJob({ name, data, id, readyAt, extra }: StringJobParts): string {
  const isOurs = name === HANDLER || name === HANDLER_WITH_FOLLOWERS;
  if (isOurs || !isName(name) || !/^[^@]+(@[^@]+)?$/.test(name)) throw invalidJobName(name);
  const displayName = JSON.stringify(name.split('@')[0]);
  const shownData = data === undefined ? 'null' : encodeJson(data, `the data of ${name}`);
  return (
    `{"uuid":"${id}","displayName":${displayName},"job":${JSON.stringify(name)},"data":${shownData},` +
    writeMore(name, readyAt, extra) +
    ending(id)
  );
}

const shapes = new WeakMap<JobDefinition, ReturnType<typeof newShape>>();

/** What is the same for all jobs of a class. Found out once. */
export function shapeOf(definition: JobDefinition): ReturnType<typeof newShape> {
  let shape = shapes.get(definition);
  if (shape === undefined) shapes.set(definition, (shape = newShape(definition)));
  return shape;
}

function newShape({ name, version, target, options: { sensitive } }: JobDefinition) {
  const quoted = JSON.stringify(name);
  const beginning = (handler: string): string =>
    `{"displayName":${quoted},"job":"${handler}","data":{"commandName":${quoted},`;
  return {
    beginning: beginning(HANDLER),
    markedBeginning: beginning(HANDLER_WITH_FOLLOWERS),
    /** The last member of the data. */
    version: version === undefined ? '' : `,"version":${version}`,
    /** Comes before everything that tells when it is ready, so that a link of a chain has it too. */
    sensitive: sensitive === undefined ? '' : `"${SENSITIVE}":${JSON.stringify(sensitivePointers(sensitive))},`,
    isMapped: mapsByClassTransformer(target),
  };
}

function encodedMembers({ command, types, versions }: Encoded): string {
  const members = `"command":${JSON.stringify(command)}`;
  if (types === undefined) return members;
  const typed = `${members},"types":${JSON.stringify(types)}`;
  return versions === undefined ? typed : `${typed},"versions":${JSON.stringify(versions)}`;
}

function middlewareText(layers: Encoded, { vault, definition: { name }, id }: PayloadParts): string {
  const text = `{${encodedMembers(layers)}}`;
  return vault === undefined ? text : `"${vault.seal(text, { name, id, kind: 'middleware' })}"`;
}

/** `card.number` → `/card/number` */
export function sensitivePointers(paths: readonly string[]): readonly string[] {
  return paths.map((path) => toPointer(path.split('.')));
}

function writeOccurrence({ schedule, at }: NonNullable<PayloadParts['occurrence']>): string {
  return `"${OCCURRENCE_FIELD}":{"schedule":${JSON.stringify(schedule)},"at":${at / 1000}},`;
}

function writeMore(job: string, readyAt: ReadyAt, extra: PayloadParts['extra']): string {
  let members = readyAt === undefined ? '' : `"${READY_AT}":${readyAt},`;
  if (extra === undefined) return members;
  const { created, observed = {} } = extra;
  for (const [field, value] of Object.entries({ ...created, ...observed })) {
    const source = Object.hasOwn(observed, field) ? "an observer's dispatching()" : 'createPayloadUsing()';
    if (RESERVED.has(field) || isForbiddenKey(field)) throw reservedField(job, field, source);
    if (value === undefined) continue;
    members += `${JSON.stringify(field)}:${encodeJson(value, toPath(source, [field]))},`;
  }
  return members;
}

const ENDING = '"id":';

/** @param id a UUID, so nothing in it needs escaping */
function ending(id: string): string {
  return `${ENDING}"${id}","attempts":0}`;
}

/** Adds the moment after which no attempt starts to a payload made by `encodePayload`. */
export function withRetryUntil(payload: string, moment: Milliseconds): string {
  return withMembers(payload, writeChosen({ retryUntil: Math.round(moment) }));
}

const TIES_AT_END = new RegExp(String.raw`"${TIES}":"[^"]*",$`);

/** Inserts members, each followed by a comma, before the ties and the `id` of a payload made by `encodePayload`. */
export function withMembers(payload: string, members: string): string {
  const id = payload.lastIndexOf(ENDING);
  const place = Math.max(id - LONGEST_TIES, 0);
  const ties = payload.slice(place, id).search(TIES_AT_END);
  const end = ties < 0 ? id : place + ties;
  return payload.slice(0, end) + members + payload.slice(end);
}

/** `job` is the first member after the name. */
const HANDLER_PLACE = new RegExp(String.raw`^(\{"displayName":"(?:[^"\\]|\\.)*","job":")${HANDLER}"`);

/** The same payload, marked so that only workers that understand its other fields run it. */
export function withFollowers(payload: string): string {
  return payload.replace(HANDLER_PLACE, `$1${HANDLER_WITH_FOLLOWERS}"`);
}

const MARKED = /^\{"displayName":"(?:[^"\\]|\\.)*","job":"onqueue\+"/;
const WINDOW = 1024;

/** Whether `withFollowers` marked the payload, judged by its beginning. */
export function hasFollowers(payload: Buffer): boolean {
  return MARKED.test(payload.toString('utf8', 0, WINDOW));
}

/** As members of an object, each followed by a comma. */
export function writeChosen(chosen: ChosenOptions): string {
  let members = '';
  for (const { option, field, form } of CHOSEN) {
    const value = chosen[option];
    if (value !== undefined) members += `"${field}":${form.write(value)},`;
  }
  return members;
}

/**
 * Reads the fields as Laravel 5.5 and later write them: null means absent, and a number may be a string.
 *
 * @param foreign written by another framework, which says `"failOnTimeout":false` for every job that sets nothing
 * @throws InvalidPayloadError on anything but a number or a list of numbers
 */
export function readChosen(fields: Fields, foreign: boolean): ChosenOptions {
  let chosen: Record<string, unknown> | undefined;
  for (const { option, field, olderField, form } of CHOSEN) {
    let name = field;
    let given = fields[name] ?? undefined;
    if (given === undefined && olderField !== undefined) given = fields[(name = olderField)] ?? undefined;
    if (given === undefined) continue;
    const value = form.read(given, name, fields);
    if (value === undefined || (foreign && value === false)) continue;
    chosen ??= blankOptions();
    chosen[option] = value;
  }
  return chosen ?? NOTHING_CHOSEN;
}

function backoffOf(backoff: unknown, field: string, fields: Fields): ResolvedBackoff | undefined {
  if (backoff === '') return undefined;
  const delays: readonly unknown[] = typeof backoff === 'string' ? backoff.split(',') : [backoff].flat();
  const jitter = amount(fields['jitter'] ?? 0, 'jitter');
  if (jitter > 1) refuse('jitter', 'a share from 0 to 1');
  if (delays.length === 0) return undefined;
  const read = (delay: unknown): Seconds => number(delay) ?? refuse(field, 'seconds, or a list of seconds');
  return { delays: delays.map((delay) => Math.min(read(delay), LONGEST_DURATION)), jitter };
}

function count(value: unknown, field: string): number {
  const read = amount(value, field);
  return Number.isInteger(read) ? read : refuse(field, 'a whole number');
}

// Other producers may write their largest number for "no limit"; no store can count that far.
function seconds(value: unknown, field: string): Seconds {
  return Math.min(amount(value, field), LONGEST_DURATION);
}

function amount(value: unknown, field: string): number {
  return number(value) ?? refuse(field, 'a number from 0');
}

function flag(value: unknown, field: string): boolean {
  if (typeof value === 'boolean' || value === 0 || value === 1) return Boolean(value);
  return refuse(field, 'true or false');
}

/** Undefined if it is not a number from 0, written as a number or a string. */
function number(value: unknown): number | undefined {
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof read === 'number' && read >= 0 && read < Infinity ? read : undefined;
}

function refuse(field: string, expected: string): never {
  throw new InvalidPayloadError(`expected ${expected}`, `/${field}`);
}
