/** What a payload tells of its job, for people and programs that look: secrets are masked, and a text that no worker can read is shown as such. */
import { redact } from '../base/redact';
import type { JobDefinition } from '../job/definition';
import type { JobRegistry } from '../job/registry';
import { noCounters, readCounters, readCountersOfAny } from '../payload/counters';
import { decodeEnvelope, type Envelope } from '../payload/envelope';
import { readTies } from '../payload/ties';
import { glimpseOf, UNREADABLE_NAME } from '../payload/unreadable';
import { momentOfId } from '../payload/uuid';
import { maskedJson } from './masked-json';

export interface ShownJob {
  /** Undefined: its text has none. A worker gives it one. */
  readonly id: string | undefined;
  /** `(unreadable)` where its text does not even tell this. */
  readonly name: string;
  /** Runs that have cost it a try; of one that runs, with this one. */
  readonly attempts: number;
  /** Tries that it has in all, as its dispatch or its class says; 0: no limit. Undefined: its worker decides, or its class is not known here. */
  readonly tries: number | undefined;
  /** When its id was made, by the clock of its dispatcher. Undefined: its id does not tell. */
  readonly createdAt: Date | undefined;
  /** The id of the batch that it belongs to. */
  readonly batch: string | undefined;
  /** Its payload: what JSON makes of it. Of one that no worker can read, the beginning of its text. Secrets are masked in both. */
  readonly payload: unknown;
}

/** Of a text that is no payload, so much is shown. */
const LONGEST_TEXT = 1000;

/** Never throws, whatever the text is. */
export function shownJob(payload: Buffer, registry: JobRegistry): ShownJob {
  const envelope = readable(payload);
  const glimpse = envelope ?? glimpseOf(payload);
  const definition = envelope && definitionOf(envelope, registry);
  const createdAt = glimpse.id === undefined ? undefined : momentOfId(glimpse.id);
  return {
    id: glimpse.id,
    name:
      envelope?.kind === 'illuminate' ? envelope.displayName : (definition?.name ?? glimpse.name ?? UNREADABLE_NAME),
    attempts: (readCounters(payload)?.counters ?? readCountersOfAny(payload) ?? noCounters).attempts,
    tries: envelope?.chosen.tries ?? definition?.options.tries,
    createdAt: createdAt === undefined ? undefined : new Date(createdAt),
    batch: readTies(payload)?.batch?.id,
    payload: envelope === undefined ? beginningOf(payload) : maskedJson(payload.toString()),
  };
}

/** The class of a job, by what its payload says. Undefined: it is not known here. Never throws. */
export function definitionIn(payload: Buffer, registry: JobRegistry): JobDefinition | undefined {
  const envelope = readable(payload);
  return envelope && definitionOf(envelope, registry);
}

function definitionOf({ names }: Envelope, registry: JobRegistry): JobDefinition | undefined {
  return names.map((name) => registry.find(name)).find((found) => found !== undefined);
}

function readable(payload: Buffer): Envelope | undefined {
  try {
    return decodeEnvelope(payload);
  } catch {
    return undefined;
  }
}

function beginningOf(payload: Buffer): string {
  // Of what is cut within a secret, the half that is left would not be known for one.
  const text = redact(payload.toString('utf8', 0, 2 * LONGEST_TEXT));
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
