/**
 * What a payload says about its job, for people and programs: secrets are masked, and a text that no worker can read is shown as
 * such.
 */
import { redact } from '../base/redact';
import type { JobDefinition } from '../job/definition';
import type { JobRegistry } from '../job/registry';
import { countersIn, noCounters } from '../payload/counters';
import { envelopeIn } from '../payload/envelope';
import { readTies } from '../payload/ties';
import { glimpseOf, UNREADABLE_NAME } from '../payload/unreadable';
import { momentOfId } from '../payload/uuid';
import { maskedJson } from './masked-json';

export interface ShownJob {
  /** Undefined if the payload has none; a worker will give it one. */
  readonly id: string | undefined;
  /** `(unreadable)` if the payload does not even tell this. */
  readonly name: string;
  /** Runs that have cost it a try, including the one in progress. */
  readonly attempts: number;
  /**
   * How many tries it has in total, as its dispatch or its class says; 0: no limit. Undefined if its worker decides, or its class
   * is not known here.
   */
  readonly tries: number | undefined;
  /** When its id was created, by its dispatcher's clock. Undefined if the id does not tell. */
  readonly createdAt: Date | undefined;
  /** The id of the batch that it belongs to. */
  readonly batch: string | undefined;
  /** The parsed payload; or, if no worker can read it, the beginning of its text. Secrets are masked in both. */
  readonly payload: unknown;
}

/** How many characters are shown of a text that is not a payload. */
const LONGEST_TEXT = 1000;

/** Never throws, whatever the text is. */
export function shownJob(payload: Buffer, registry: JobRegistry): ShownJob {
  const envelope = envelopeIn(payload);
  const glimpse = envelope ?? glimpseOf(payload);
  const definition = envelope?.definitionIn(registry);
  return {
    id: glimpse.id,
    name: definition?.name ?? glimpse.name ?? UNREADABLE_NAME,
    attempts: (countersIn(payload) ?? noCounters).attempts,
    tries: envelope?.chosen.tries ?? definition?.options.tries,
    createdAt: glimpse.id === undefined ? undefined : createdAt(glimpse.id),
    batch: readTies(payload)?.batch?.id,
    payload: envelope === undefined ? beginningOf(payload) : maskedJson(payload.toString()),
  };
}

/** When an id was created. Undefined if the id does not tell. */
export function createdAt(id: string): Date | undefined {
  const moment = momentOfId(id);
  return moment === undefined ? undefined : new Date(moment);
}

/** The class of a job, according to its payload. Undefined if it is not known here. Never throws. */
export function definitionIn(payload: Buffer, registry: JobRegistry): JobDefinition | undefined {
  return envelopeIn(payload)?.definitionIn(registry);
}

function beginningOf(payload: Buffer): string {
  // Redacted before it is cut: half a secret would not be recognised.
  const text = redact(payload.toString('utf8', 0, 2 * LONGEST_TEXT));
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
