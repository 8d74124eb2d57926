/**
 * What is kept of the end of a job with `keepResult`: its result, in the form in which data travel, or another outcome; for the
 * program that waits for it, and for display, where its result stays JSON, with secrets masked, and its classes need not be known.
 *
 * This is the text of a record. It is written before the end itself, so it counts only once the job no longer waits or runs.
 */
import type { Application, JobEnd } from '../connections/application';
import { errorMessage, errorName } from '../base/exception-text';
import { PayloadTooLargeError } from '../connections/errors';
import { decodeValue } from '../payload/envelope';
import { encodeValue, type Types } from '../payload/encoder';
import { fieldsIn, isRecord } from '../payload/values';
import { isSealed, type Vault } from '../payload/vault';
import { redact } from '../base/redact';
import type { Connection } from '../connections/contract';
import { LONGEST_ID } from '../connections/record-store';
import { maskedJson } from './listed-job';

export const RESULTS = 'results';

/** What went wrong, in words that may be shown. */
export interface Reason {
  readonly name: string;
  readonly message: string;
}

/** The record as it is read. */
export type KeptEnd =
  | { readonly kind: 'completed'; readonly value: unknown }
  | { readonly kind: 'failed' | 'not-kept'; readonly job: string; readonly reason: Reason }
  | { readonly kind: 'cancelled'; readonly job: string; readonly reason: string | undefined };

type Fields = Readonly<Record<string, unknown>>;

/** What results are written and read with. */
type Readers = Pick<Application, 'registry' | 'vault'>;

/** Identifies the job. */
interface CompletedJob {
  readonly job: string;
  readonly connection: string;
  readonly queue: string;
}

interface ResultOf extends CompletedJob {
  readonly id: string;
  /** In bytes. */
  readonly most: number;
}

/** @throws UnserializableValueError with the path to what cannot be carried, PayloadTooLargeError */
export function endText(end: JobEnd, { id, job, connection, queue, most }: ResultOf, application: Readers): string {
  if (end.kind === 'failed') return reasonText('failed', job, end.error);
  if (end.kind === 'cancelled') return JSON.stringify({ kind: end.kind, job, reason: end.reason });
  const subject = `what ${job} gave`;
  const { registry, vault } = application;
  const encoded = encodeValue(end.value, registry, subject);
  const value =
    end.isSealed === true
      ? { sealed: vault.seal(JSON.stringify(encoded), { name: job, id, kind: 'result' }) }
      : encoded;
  const text = JSON.stringify({ kind: end.kind, job, connection, queue, ...value });
  const bytes = Buffer.byteLength(text);
  if (bytes > most) throw new PayloadTooLargeError(subject, connection, bytes, most);
  return text;
}

/** `not-kept`: replaces a result that cannot be kept. */
export function reasonText(kind: 'failed' | 'not-kept', job: string, error: Error): string {
  const reason: Reason = { name: errorName(error), message: errorMessage(error) };
  return JSON.stringify({ kind, job, reason });
}

/** The job that completed. Undefined if it had another outcome. Reads it without the classes of the result. */
export function readCompleted(text: string | undefined): CompletedJob | undefined {
  const read = fieldsIn(text);
  return read?.['kind'] === 'completed' ? (read as unknown as CompletedJob) : undefined;
}

/**
 * Undefined if there is no record, or this version does not understand it.
 *
 * @throws InvalidPayloadError, UnknownClassError, PayloadVersionError, UnknownKeyError, E_TAMPERED_PAYLOAD the result belongs to another version of the program
 */
export function readEnd(text: string | undefined, { registry, vault }: Readers, id: string): KeptEnd | undefined {
  const fields = fieldsIn(text) ?? {};
  const { kind, job, reason } = fields;
  if (kind === 'completed') {
    const { command, types, versions } = openedEnd(fields, vault, id);
    const value = decodeValue(command, types as Types, registry, '/result', isRecord(versions) ? versions : undefined);
    return { kind, value };
  }
  if (typeof job !== 'string') return undefined;
  if (kind === 'cancelled') return { kind, job, reason: typeof reason === 'string' ? reason : undefined };
  const isReasoned = (kind === 'failed' || kind === 'not-kept') && isRecord(reason);
  return isReasoned ? { kind, job, reason: reason as unknown as Reason } : undefined;
}

/** @throws UnknownKeyError, E_TAMPERED_PAYLOAD */
function openedEnd(fields: Fields, vault: Vault, id: string): Fields {
  const { sealed, job } = fields;
  if (!isSealed(sealed)) return fields;
  return { ...fields, ...fieldsIn(vault.open(sealed, { name: String(job), id, kind: 'result' })) };
}

export interface ShownResult {
  /** `not-kept`: it has completed, but its result could not be kept. */
  readonly kind: 'completed' | 'failed' | 'not-kept' | 'cancelled';
  /** The result of a completed job, in the form in which data travel. */
  readonly value?: unknown;
  /** What JSON cannot express about the value: the names of types by JSON Pointers into it. */
  readonly types?: unknown;
  /** The reason of any other end. */
  readonly reason?: string | undefined;
}

/**
 * Undefined if nothing is kept. Written before the end, so it counts only once the job no longer waits or runs.
 *
 * @param isRevealed whether it is opened, and nothing in it is masked. The log says so
 * @throws UnknownKeyError, E_TAMPERED_PAYLOAD it is to be revealed
 */
export async function shownResult(
  connection: Connection,
  application: Application,
  id: string,
  isRevealed = false,
): Promise<ShownResult | undefined> {
  if (id.length > LONGEST_ID) return undefined;
  const text = await application.operationsOf(connection)?.records.get(RESULTS, id);
  if (text === undefined) return undefined;
  if (!isRevealed) return shownIn(masked(text));
  const fields = fieldsIn(text) ?? {};
  const facts = { job: fields['job'], id, connection: connection.name };
  application.logger.warn(facts, `The result of ${String(facts.job)} ${id} was revealed`);
  return shownIn(openedEnd(fields, application.vault, id));
}

/** Undefined if this version does not understand the record. */
function shownIn(read: Fields | undefined): ShownResult | undefined {
  if (read === undefined) return undefined;
  const { kind, command, types, reason } = read;
  // Sealed, it is shown as such.
  if (kind === 'completed') return { kind, value: command ?? read['sealed'], types };
  if (kind === 'cancelled') return { kind, reason: typeof reason === 'string' ? reason : undefined };
  if ((kind !== 'failed' && kind !== 'not-kept') || !isRecord(reason)) return undefined;
  return { kind, reason: redact(`${String(reason['name'])}: ${String(reason['message'])}`) };
}

function masked(text: string): Fields | undefined {
  try {
    const read = maskedJson(text);
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}
