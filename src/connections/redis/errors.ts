/** What only Redis can answer. That it does not answer is `QueueUnavailableError`, as with every store. */
import { OnqueueError } from '../../errors/onqueue-error';
import type { Consequential } from '../errors';

export interface Reply {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  readonly operation: string;
  /** What Redis answered, in its own words. */
  readonly reply: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
}

/** Redis answered with an error that waiting does not mend: a key of another type, a command that is not allowed. */
export class RedisReplyError extends OnqueueError<Reply> implements Consequential {
  readonly code = 'E_REDIS_REPLY';

  constructor(facts: Reply, options: { cause: unknown }) {
    super(
      `Redis at ${facts.address} refused ${facts.operation} with '${facts.reply}'; ${facts.consequence}. ` +
        `Look at what else uses the keys of connection '${facts.connection}', and run \`onqueue check\`.`,
      facts,
      options,
    );
  }

  withConsequence(consequence: string): RedisReplyError {
    return new RedisReplyError({ ...this.facts, consequence }, { cause: this.cause });
  }
}
