/** Data of jobs and their results as their classes have them, as text for people: dates, maps and instances instead of JSON. */
import { inspect } from 'node:util';
import type { Application } from '../connections/application';
import type { ShownResult } from '../operations/kept-end';
import { decodeJob, decodeValue, envelopeIn } from '../payload/envelope';
import { isRecord } from '../payload/values';

/** Levels, members and characters that are shown; `--json` has all. */
const SHOWN = { depth: 8, maxArrayLength: 100, maxStringLength: 2000, breakLength: Infinity } as const;

/**
 * The job with its data. Undefined if its class is not registered here, if it is sealed, or if a value is masked that its class has
 * as something else than text.
 *
 * @param payload as `find` gives it: parsed, and masked unless it is revealed
 */
export function jobText(payload: unknown, { registry, vault }: Application): string | undefined {
  const envelope = isRecord(payload) ? envelopeIn(Buffer.from(JSON.stringify(payload))) : undefined;
  const definition = envelope?.definitionIn(registry);
  // The vault would open what is not to be revealed.
  if (envelope === undefined || definition === undefined || envelope.isSealed) return undefined;
  return textOf(() => decodeJob(envelope, definition, registry, vault));
}

/** The result of a completed job, with secrets masked; in the form in which it travels if its classes are not known here. */
export function resultText({ value, types }: ShownResult, { registry }: Application): string {
  const read = (): unknown => decodeValue(structuredClone(value), isRecord(types) ? types : undefined, registry);
  return textOf(read) ?? JSON.stringify(value) ?? 'undefined';
}

function textOf(read: () => unknown): string | undefined {
  try {
    return inspect(read(), SHOWN);
  } catch {
    return undefined;
  }
}
