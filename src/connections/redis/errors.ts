/** What only Redis can answer. That it does not answer is `QueueUnavailableError`, as with every store. */
import { OnqueueError } from '../../errors/onqueue-error';

/** Redis answered with an error that waiting does not mend: a key of another type, a command that is not allowed. */
export class RedisReplyError extends OnqueueError<{
  readonly connection: string;
  readonly address: string;
  readonly operation: string;
  readonly reply: string;
}> {
  readonly code = 'E_REDIS_REPLY';

  constructor(connection: string, address: string, operation: string, reply: string, options: { cause: unknown }) {
    super(
      `Redis at ${address} refused ${operation} with '${reply}'. ` +
        `Look at what else uses the keys of connection '${connection}', and run \`onqueue check\`.`,
      { connection, address, operation, reply },
      options,
    );
  }
}
