/** How large a payload may be: the sizes that a configuration accepts, and the only place that refuses larger payloads. */
import { PayloadTooLargeError } from '../connections/errors';

/** In bytes. A job is a message: larger ones would fill the memory of a store with many jobs. */
export const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

/** In bytes. With less, some jobs would not fit, however little data they have. */
const LEAST = 1024;

/** The most that Redis holds in one string, and Node.js in one text. */
const MOST = 512 * 1024 * 1024;

/** What Onqueue itself may add to a payload: counters, an id, an expired last moment. */
const GROWTH = 1024;

const BYTES_IN = { kb: 1024, mb: 1024 * 1024 };

const WRITTEN = /^(\d+(?:\.\d+)?)(kb|mb)$/i;

/** Bytes. Undefined if the size is not valid for a payload. */
export function bytesOfSize(size: unknown): number | undefined {
  const [, amount, unit] = typeof size === 'string' ? (WRITTEN.exec(size) ?? []) : [];
  const bytes = amount === undefined ? size : Math.floor(Number(amount) * BYTES_IN[unit!.toLowerCase() as 'kb' | 'mb']);
  return Number.isInteger(bytes) && (bytes as number) >= LEAST && (bytes as number) <= MOST
    ? (bytes as number)
    : undefined;
}

interface Destination {
  /** The connection's name. */
  readonly name: string;
  /** Bytes. */
  readonly maxPayload: number;
}

/**
 * @param job what is too large, as the error names it
 * @throws PayloadTooLargeError
 */
export function checkBytes(bytes: number, job: string, { name, maxPayload }: Destination): void {
  if (bytes > maxPayload) throw new PayloadTooLargeError(job, name, bytes, maxPayload);
}

/**
 * The same check for a payload that comes back from the failed jobs: one that fitted before still fits, even if it has grown a
 * little.
 *
 * @throws PayloadTooLargeError
 */
export function checkRetriedSize(payload: Buffer, job: string, { name, maxPayload }: Destination): void {
  if (payload.length > maxPayload + GROWTH) throw new PayloadTooLargeError(job, name, payload.length, maxPayload);
}
