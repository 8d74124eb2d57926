/**
 * A job that waits, runs or has failed, as lists show it: what its payload says, with secrets masked, and whether it waits to run
 * alone. A text that no worker can read is shown as such.
 */
import { failedStoreOf, type Application } from '../connections/application';
import { dateOf } from '../base/clock';
import { redact, isSecretKey, MASK } from '../base/redact';
import type { Connection, PeekedJob, WaitingState } from '../connections/contract';
import type { FailedEntry } from '../connections/failed-store';
import { countersIn, noCounters, glimpseOf, UNREADABLE_NAME } from '../payload/counters';
import { dataOf, envelopeIn, middlewareIn, type Envelope } from '../payload/envelope';
import { maskSensitive } from '../payload/secrets';
import { readTies } from '../payload/ties';
import { momentOfId } from '../payload/uuid';
import { isRecord } from '../payload/values';
import type { Vault } from '../payload/vault';
import { waitsToRunAlone } from './suspicion';

/** Where a job can be found. `running` is what counts call `reserved`. */
export type JobState = 'ready' | 'delayed' | 'running' | 'failed';

/** What a list can show: also completed jobs, as far as they are kept. */
export type ListedState = JobState | 'completed';

export interface ListedJob extends ShownJob {
  readonly connection: string;
  readonly queue: string;
  readonly state: ListedState;
  /** By the store's clock: when a delayed job becomes ready, or when the lease of a running one ends unless it is renewed. */
  readonly at?: Date | undefined;
  /**
   * Its next crash would be its last, so it waits, in a worker or in its queue, until it can run alone. Known while records are
   * kept.
   */
  readonly waitsToRunAlone?: true | undefined;
  /** When a failed job failed, by the store's clock. */
  readonly failedAt?: Date | undefined;
  /** When a completed job completed, by the worker's clock. */
  readonly completedAt?: Date | undefined;
  /** The first line of a failed job's error. */
  readonly error?: string | undefined;
}

export function stateOf(state: WaitingState): WaitingJob['state'] {
  return state === 'reserved' ? 'running' : state;
}

/** A listed job that waits or runs. */
export interface WaitingJob extends ListedJob {
  readonly state: Exclude<JobState, 'failed'>;
  readonly completedAt?: undefined;
  readonly failedAt?: undefined;
  readonly error?: undefined;
}

/** A listed job that has failed. */
export interface ListedFailure extends ListedJob {
  readonly state: 'failed';
  readonly completedAt?: undefined;
  readonly at?: undefined;
  readonly waitsToRunAlone?: undefined;
  readonly failedAt: Date;
  readonly error: string;
}

/** A job as its store has listed it. */
export async function listedJob(
  connection: Connection,
  application: Application,
  {
    queue,
    state,
    payload,
    at,
  }: Pick<PeekedJob, 'payload' | 'at'> & { readonly queue: string; readonly state: WaitingState },
  isRevealed = false,
): Promise<WaitingJob> {
  const shown = shownJob(payload, application, isRevealed);
  const records = application.operationsOf(connection)?.records;
  return {
    ...shown,
    connection: connection.name,
    queue,
    state: stateOf(state),
    at: dateOf(at),
    ...((await waitsToRunAlone(records, shown.id, payload)) && { waitsToRunAlone: true }),
  };
}

/** The failed jobs of this connection: a store that keeps those of several returns only its own ones to each that has a store. */
export function ownEntries(
  connection: Connection,
  application: Application,
  entries: readonly FailedEntry[],
): readonly FailedEntry[] {
  if (failedStoreOf(connection, application) === connection.failed) return entries;
  return entries.filter((entry) => entry.connection === connection.name);
}

/** A job that has failed. */
export function listedFailure(application: Application, entry: FailedEntry, isRevealed = false): ListedFailure {
  const { id, name, connection, queue, attempts, failedAt, exception } = entry;
  const [error = ''] = exception.split('\n', 1);
  // The entry says better what the payload says too.
  const { tries, createdAt, batch, payload } = shownJob(entry.payload, application, isRevealed);
  return {
    id,
    name,
    attempts,
    tries,
    createdAt,
    batch,
    payload,
    connection,
    queue,
    state: 'failed',
    failedAt: new Date(failedAt),
    // Another program may have kept it, without masking.
    error: redact(error),
  };
}

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
  /** The parsed payload; undefined for a completed job, which has none any more; or, if no worker can read it, the beginning of its text. Secrets are masked in both, unless they are revealed. */
  readonly payload: unknown;
}

/** How many characters are shown of a text that is not a payload. */
const LONGEST_TEXT = 1000;

/**
 * Never throws, whatever the text is, unless it is to be revealed: opened, with nothing masked.
 *
 * @throws UnknownKeyError, E_TAMPERED_PAYLOAD
 */
export function shownJob(payload: Buffer, { registry, vault }: Application, isRevealed = false): ShownJob {
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
    payload:
      envelope === undefined
        ? beginningOf(payload)
        : isRevealed
          ? revealed(envelope, vault)
          : maskedJson(payload.toString(), definition?.options.sensitive),
  };
}

/** When an id was created. Undefined if the id does not tell. */
export function createdAt(id: string): Date | undefined {
  return dateOf(momentOfId(id));
}

function beginningOf(payload: Buffer): string {
  // Redacted before it is cut: half a secret would not be recognised.
  const text = redact(payload.toString('utf8', 0, 2 * LONGEST_TEXT));
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

function revealed(envelope: Envelope, vault: Vault): unknown {
  const { fields, kind, middleware } = envelope;
  const shown: Record<string, unknown> = { ...fields };
  if (kind === 'onqueue') shown['data'] = dataOf(envelope, vault);
  if (middleware !== undefined) shown['middleware'] = middlewareIn(envelope, vault);
  return shown;
}

/** The text of a payload, with secrets masked; unchanged if there are none. */
export function maskedPayload(text: string, sensitive?: readonly string[]): string {
  try {
    const shown = JSON.stringify(maskedJson(text, sensitive));
    return shown.includes(MASK) ? shown : text;
  } catch {
    return redact(text);
  }
}

/** @param sensitive paths that the class of the job names here @throws SyntaxError it is not JSON */
export function maskedJson(text: string, sensitive?: readonly string[]): unknown {
  const root: readonly unknown[] = [JSON.parse(text)];
  // First: the pointers themselves may look like the entry of a Map.
  if (isRecord(root[0])) maskSensitive(root[0], sensitive);
  // Not with a reviver of JSON.parse, which would be called for each of a hundred thousand numbers.
  const open: object[] = [root];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    if (Array.isArray(holder)) maskList(holder, open);
    else maskObject(holder as Record<string, unknown>, open);
  }
  return root[0];
}

function maskObject(holder: Record<string, unknown>, open: object[]): void {
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (typeof value === 'object' && value !== null) open.push(value);
    else if (isSecretKey(key)) holder[key] = MASK;
    else if (typeof value === 'string') holder[key] = maskedText(value);
  }
}

function maskList(holder: unknown[], open: object[]): void {
  for (const [place, value] of holder.entries()) {
    if (typeof value === 'object' && value !== null) open.push(value);
    else if (typeof value === 'string') holder[place] = maskedText(value);
  }
  // The entries of a Map: ["password", "…"].
  const [key, value] = holder;
  if (holder.length !== 2 || typeof key !== 'string' || !isSecretKey(key)) return;
  if (typeof value !== 'object' || value === null) holder[1] = MASK;
}

function maskedText(text: string): string {
  // The jobs of a chain travel as texts: within these, only the keys tell a number from a secret.
  if (!text.startsWith('{"')) return redact(text);
  try {
    const masked = JSON.stringify(maskedJson(text));
    return masked.includes(MASK) ? masked : redact(text);
  } catch {
    return redact(text);
  }
}
