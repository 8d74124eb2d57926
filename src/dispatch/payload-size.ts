/** How large a payload may be: the sizes that a configuration takes, and the one place that refuses what is larger. */
import { PayloadTooLargeError } from '../connections/errors';

/** Bytes. A job is a message: what is larger fills the memory of a store that holds many. */
export const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

/** Below this not every job would fit, however little it carries. */
const LEAST = 1024;

/** What Redis holds in one string, and Node.js in one text. */
const MOST = 512 * 1024 * 1024;

/** What Onqueue itself may write onto a text: counters, an id, a last moment that has passed. */
const GROWTH = 1024;

const BYTES_IN = { kb: 1024, mb: 1024 * 1024 };

const WRITTEN = /^(\d+(?:\.\d+)?)(kb|mb)$/i;

/** Bytes; undefined: it is no size that a payload can be held to. */
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
 * @param job what is too large, as the error calls it
 * @throws PayloadTooLargeError
 */
export function checkSize(payload: string, job: string, { name, maxPayload }: Destination): void {
  // No character takes more than three bytes, so of a short text none has to be counted.
  if (payload.length * 3 <= maxPayload) return;
  checkBytes(Buffer.byteLength(payload), job, { name, maxPayload });
}

/** @throws PayloadTooLargeError */
export function checkBytes(bytes: number, job: string, { name, maxPayload }: Destination): void {
  if (bytes > maxPayload) throw new PayloadTooLargeError(job, name, bytes, maxPayload);
}

/**
 * The same for a text that comes back from the failed jobs. What fitted once still fits, though it has grown a little.
 *
 * @throws PayloadTooLargeError
 */
export function checkRetriedSize(payload: Buffer, job: string, { name, maxPayload }: Destination): void {
  if (payload.length > maxPayload + GROWTH) throw new PayloadTooLargeError(job, name, payload.length, maxPayload);
}
