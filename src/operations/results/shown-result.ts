/** What is kept of the end of a job, as it is shown: what it gave stays JSON, in which secrets are masked, and no class of it has to be known. */
import { redact } from '../../base/redact';
import type { Connection } from '../../connections/contract';
import { isRecord } from '../../payload/kinds';
import { LONGEST_ID } from '../history/attempt';
import type { SeenApplication } from '../listed-job';
import { maskedJson } from '../masked-json';
import { RESULTS } from './kept-end';

export interface ShownResult {
  /** `not-kept`: it has completed, and what it gave could not be kept. */
  readonly kind: 'completed' | 'failed' | 'not-kept' | 'cancelled';
  /** Of a completed one: what it gave, as data travel. */
  readonly value?: unknown;
  /** What JSON cannot say of the value: the names of types by JSON Pointers into it. */
  readonly types?: unknown;
  /** Of the others: why. */
  readonly reason?: string | undefined;
}

/** Undefined: nothing is kept. It is written before the end, and counts only once the job waits and runs no more. */
export async function shownResult(
  connection: Connection,
  application: SeenApplication,
  id: string,
): Promise<ShownResult | undefined> {
  if (id.length > LONGEST_ID) return undefined;
  const text = await application.operationsOf(connection)?.records.get(RESULTS, id);
  return text === undefined ? undefined : readShown(text);
}

/** Undefined: it is none that this version understands. */
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
