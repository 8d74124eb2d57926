/** The kept end of a job, for display: its result stays JSON, with secrets masked, and its classes need not be known. */
import { redact } from '../../base/redact';
import type { Connection } from '../../connections/contract';
import { isRecord } from '../../payload/kinds';
import { LONGEST_ID } from '../history/attempt';
import type { SeenApplication } from '../listed-job';
import { maskedJson } from '../masked-json';
import { RESULTS } from './kept-end';

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

/** Undefined if nothing is kept. Written before the end, so it counts only once the job no longer waits or runs. */
export async function shownResult(
  connection: Connection,
  application: SeenApplication,
  id: string,
): Promise<ShownResult | undefined> {
  if (id.length > LONGEST_ID) return undefined;
  const text = await application.operationsOf(connection)?.records.get(RESULTS, id);
  return text === undefined ? undefined : readShown(text);
}

/** Undefined if this version does not understand the record. */
function readShown(text: string): ShownResult | undefined {
  const read = parsed(text);
  if (read === undefined) return undefined;
  const { kind, command, types, reason } = read;
  if (kind === 'completed') return { kind, value: command, types };
  if (kind === 'cancelled') return { kind, reason: typeof reason === 'string' ? reason : undefined };
  if ((kind !== 'failed' && kind !== 'not-kept') || !isRecord(reason)) return undefined;
  return { kind, reason: redact(`${String(reason['name'])}: ${String(reason['message'])}`) };
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const read = maskedJson(text);
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}
