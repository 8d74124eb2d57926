/** What can go wrong between a connection and its store; the same classes whatever the driver. */
import type { Seconds } from '../clock/clock';
import { OnqueueError } from '../errors/onqueue-error';

export { type Capability, CapabilityError } from '../queue/errors';

/** `laterRaw` was given a text that waits as delayed already: a sorted set would silently make one job of the two. */
export class DuplicatePayloadError extends OnqueueError<{ connection: string; queue: string; bytes: number }> {
  readonly code = 'E_DUPLICATE_PAYLOAD';

  constructor(connection: string, queue: string, payload: string) {
    const bytes = Buffer.byteLength(payload);
    super(
      `Queue '${queue}' of connection '${connection}' already holds this very payload (${bytes} bytes) as delayed; it was ` +
        'not queued a second time. Give each payload an "id" of its own, or send it with pushRaw.',
      { connection, queue, bytes },
    );
  }
}

export interface Unavailability {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** What it is, for people: `Redis`, `SQLite`, … */
  readonly store: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
  /** How long was waited; absent: it refused at once. */
  readonly deadline?: Seconds | undefined;
  /** Where the address came from, as a clause, if not from the configuration: `REDIS_URL came from the environment`. */
  readonly origin?: string | undefined;
}

/** The store did not answer in time, or not at all. */
export class QueueUnavailableError extends OnqueueError<Unavailability> {
  readonly code = 'E_QUEUE_UNAVAILABLE';

  constructor(facts: Unavailability, options?: { cause?: unknown }) {
    const silence = facts.deadline === undefined ? 'cannot be reached' : `did not answer in ${facts.deadline} s`;
    const origin = facts.origin === undefined ? '' : ` ${facts.origin}.`;
    super(
      `${facts.store} at ${facts.address} ${silence}; ${facts.consequence}. Is it running?${origin}`,
      facts,
      options,
    );
  }
}

/** The connection was used after `close()`. */
export class ConnectionClosedError extends OnqueueError<{ connection: string; operation: string }> {
  readonly code = 'E_CONNECTION_CLOSED';

  constructor(connection: string, operation: string) {
    super(
      `${operation} came after connection '${connection}' was closed; nothing was done. ` +
        'Call Queue.close() last, when all that dispatches or works has ended.',
      { connection, operation },
    );
  }
}
