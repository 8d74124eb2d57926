/** What can go wrong between a connection and its store; the same classes whatever the driver. */
import { OnqueueError } from '../base/onqueue-error';

export {
  type Capability,
  CapabilityError,
  type Consequential,
  QueueUnavailableError,
  type Unavailability,
} from '../application/errors';

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

/** The package that a driver speaks to its store by is not installed. */
export class MissingPeerError extends OnqueueError<{ connection: string; driver: string; peer: string }> {
  readonly code = 'E_MISSING_PEER';

  /** @param driver what needs it, for people: `sqs`, `database on PostgreSQL` */
  constructor(connection: string, driver: string, peer: string, options?: { cause?: unknown }) {
    super(
      `Connection '${connection}' (${driver}) needs the package ${peer}, which is not installed. Run: npm install ${peer}`,
      { connection, driver, peer },
      options,
    );
  }
}
