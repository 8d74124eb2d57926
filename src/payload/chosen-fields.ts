/** The fields of a payload that say how the dispatch wants the job to run: Laravel's, and some of our own. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { ResolvedBackoff } from '../job/backoff';
import { LONGEST_DURATION } from '../job/duration';
import {
  blankOptions,
  type ChosenOptions,
  NOTHING_CHOSEN,
  type PayloadForm,
  RUN_OPTIONS,
  type RunOptions,
} from '../job/options';
import { InvalidPayloadError } from './errors';

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

/** As members of an object, each followed by a comma. */
export function writeChosen(chosen: ChosenOptions): string {
  if (chosen === NOTHING_CHOSEN) return '';
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
    const name = isAbsent(fields[field]) ? olderField : field;
    if (name === undefined || isAbsent(fields[name])) continue;
    const value = form.read(fields[name], name, fields);
    if (value === undefined || (foreign && value === false)) continue;
    chosen ??= blankOptions();
    chosen[option] = value;
  }
  return chosen ?? NOTHING_CHOSEN;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
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
