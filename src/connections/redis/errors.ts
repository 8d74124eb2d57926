/** What only Redis can answer. That it does not answer is `QueueUnavailableError`, as with every store. */
import { OnqueueError } from '../../base/onqueue-error';
import { type Consequential, QueueUnavailableError } from '../errors';
import type { OldVersion } from '../kit/older-version';

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

/** Redis answered with an error that waiting does not mend. */
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

export interface ForeignKey {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  readonly key: string;
  /** As Redis calls it: `string`, `hash`, … */
  readonly type: string;
  /** The type of what Onqueue keeps there. */
  readonly expected: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
}

/** A key of Onqueue's holds something of another type: somebody else uses it. It is left as it is. */
export class ForeignKeyError extends OnqueueError<ForeignKey> implements Consequential {
  readonly code = 'E_REDIS_FOREIGN_KEY';

  constructor(facts: ForeignKey, options: { cause: unknown }) {
    const { connection, address, key, type, expected, consequence } = facts;
    super(
      `The key '${key}' of Redis at ${address} is a ${type}, where Onqueue keeps a ${expected}: somebody else uses it; ` +
        `${consequence}. Rename or remove it, or give connection '${connection}' a prefix or a db of its own.`,
      facts,
      options,
    );
  }

  withConsequence(consequence: string): ForeignKeyError {
    return new ForeignKeyError({ ...this.facts, consequence }, { cause: this.cause });
  }
}

/** The server lacks commands that Onqueue needs. It is told by what it says of itself when a connection is made. */
export class RedisVersionError extends OnqueueError<OldVersion> implements Consequential {
  readonly code = 'E_REDIS_VERSION';

  constructor(facts: OldVersion, options: { cause: unknown }) {
    const { connection, address, found, needed, consequence } = facts;
    super(
      `Connection '${connection}' leads to ${found} at ${address}, which lacks commands that Onqueue needs; ${consequence}. ` +
        `Install ${needed} or newer, or Valkey.`,
      facts,
      options,
    );
  }

  withConsequence(consequence: string): RedisVersionError {
    return new RedisVersionError({ ...this.facts, consequence }, { cause: this.cause });
  }
}

/** Redis has answered, and does not do it. */
export function isRefusal(error: unknown): boolean {
  return error instanceof RedisReplyError || (error instanceof QueueUnavailableError && error.facts.refused === true);
}
