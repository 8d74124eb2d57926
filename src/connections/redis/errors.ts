/** Errors that only Redis answers with. A Redis that does not answer is a `QueueUnavailableError`, as with every store. */
import { defineError } from '../../base/define-error';
import { QueueUnavailableError, type Unserved } from '../errors';
import type { OldVersion } from '../kit/requirements';

export interface Reply extends Unserved {
  readonly operation: string;
  readonly reply: string;
}

/** Redis answered with an error that does not go away by itself. */
export const redisRefused = defineError('E_REDIS_REPLY', (facts: Reply, { cause }: ErrorOptions = {}) => ({
  message:
    `Redis at ${facts.address} refused ${facts.operation} with '${facts.reply}'; ${facts.consequence}. ` +
    `Look at what else uses the keys of connection '${facts.connection}', and run \`onqueue check\`.`,
  facts,
  cause,
}));

export interface EndedCall extends Unserved {
  readonly operation: string;
  readonly bytes: number;
}

/** Redis ends a connection on which an argument is longer than it takes, and says nothing that would reach us for sure. */
export const callTooLong = defineError('E_REDIS_CALL_LENGTH', (facts: EndedCall, { cause }: ErrorOptions = {}) => ({
  message:
    `Redis at ${facts.address} ended the connection, three times running, instead of answering ${facts.operation} with ` +
    `${facts.bytes.toLocaleString('en-US')} bytes; ${facts.consequence}. Raise proto-max-bulk-len there, or the limit of a proxy ` +
    `in between, or lower maxPayload of connection '${facts.connection}'.`,
  facts,
  cause,
}));

export interface ForeignKey extends Unserved {
  readonly key: string;
  /** The type as Redis names it: `string`, `hash`, … */
  readonly type: string;
  /** The type of what Onqueue keeps there. */
  readonly expected: string;
}

/** One of our keys holds a value of another type: somebody else uses it. It is left untouched. */
export const foreignKey = defineError('E_REDIS_FOREIGN_KEY', (facts: ForeignKey, { cause }: ErrorOptions = {}) => ({
  message:
    `The key '${facts.key}' of Redis at ${facts.address} is a ${facts.type}, where Onqueue keeps a ${facts.expected}: ` +
    `somebody else uses it; ${facts.consequence}. Rename or remove it, or give connection '${facts.connection}' a prefix ` +
    'or a db of its own.',
  facts,
  cause,
}));

/** There are more jobs than one script may read without blocking Redis for long. */
export const tooMuchToRecount = defineError(
  'E_REDIS_RECOUNT',
  (facts: Omit<Unserved, 'consequence'> & { readonly jobs: number; readonly bytes: number }) => ({
    message:
      `Redis at ${facts.address} holds more than ${facts.jobs.toLocaleString('en-US')} jobs of connection '${facts.connection}', ` +
      `or more than ${facts.bytes / 1_048_576} MiB; nothing was recounted, because it would serve nobody else meanwhile. ` +
      'Run `onqueue recount` again when fewer wait.',
    facts,
  }),
);

/** The server lacks commands that Onqueue needs. Detected when a connection is made. */
export const oldRedis = defineError('E_REDIS_VERSION', (facts: OldVersion, { cause }: ErrorOptions = {}) => ({
  message:
    `Connection '${facts.connection}' leads to ${facts.found} at ${facts.address}, which lacks commands that Onqueue needs; ` +
    `${facts.consequence}. Install ${facts.needed} or newer, or Valkey.`,
  facts,
  cause,
}));

/** Redis answered, and refused. */
export function isRefusal(error: unknown): boolean {
  return redisRefused.is(error) || (error instanceof QueueUnavailableError && error.facts.refused === true);
}
