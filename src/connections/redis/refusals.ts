/** Why Redis, or the connection to it, did not do what was asked: what its words mean, and the errors that only Redis gives. */
import { isUnknownHost, remedyOfConnecting } from '../kit/caller';
import { OldServer } from './client';
import { defineError } from '../../base/onqueue-error';
import { QueueUnavailableError, type Unserved } from '../errors';
import type { OldVersion } from '../kit/requirements';

/** With one of these words Redis says that it does not serve now, or does not serve us; nothing was carried out. */
const UNAVAILABLE =
  /\b(LOADING|READONLY|OOM|MISCONF|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|max number of clients|invalid password|Too many Cluster redirections)\b/;

/** The server has the command under another name, or not at all; the second form comes from within a script. */
const UNKNOWN_COMMAND = /\bunknown command\b|\bUnknown Redis command called from script\b/;

/** The user lacks a permission; the second and third form come from within a script. */
const PERMISSION = /\bNOPERM\b|user executing the script can't|ACL failure in script/;

/** The server, or another one behind the same address, will serve again by itself, usually in a moment. */
const PASSING =
  /\b(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|max number of clients|Too many Cluster redirections)\b/;

const CREDENTIALS = /\b(NOAUTH|WRONGPASS|invalid password)\b/;

const REMEDIES: readonly (readonly [words: RegExp, remedy: string])[] = [
  [CREDENTIALS, 'Check the user and the password.'],
  [PERMISSION, 'Allow this user what Onqueue needs, with ACL SETUSER: docs/redis.md has the rule.'],
  [
    UNKNOWN_COMMAND,
    'It has renamed or removed a command that Onqueue needs (rename-command in its configuration): docs/redis.md lists them.',
  ],
  [/\bOOM\b/, 'Raise maxmemory, or make room.'],
  [/\bREADONLY\b/, 'This is a replica; give the address of its master.'],
  [/\bLOADING\b/, 'It still reads its data after a start; try again in a moment.'],
  [/\bMISCONF\b/, 'It cannot save its data; see its log, and whether its disk is full.'],
  [/\bBUSY\b/, "Somebody's script holds it up; try again later, or end it with SCRIPT KILL."],
  [/\bmax number of clients\b/, 'Raise maxclients, or have fewer connections.'],
  [
    /\b(MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|Too many Cluster redirections)\b/,
    'Look at the state of its cluster and its replicas, and try again later.',
  ],
];

/**
 * An error that the server answered, as opposed to one of the connection. Recognised by name, because ioredis may be loaded
 * twice. Also if all nodes of a cluster have sent a call elsewhere, as while a slot moves.
 */
export function isReply(error: unknown): error is Error {
  const { name, message } = (error ?? {}) as Partial<Error>;
  return name === 'ReplyError' || message?.startsWith('Too many Cluster redirections. Last error: ReplyError') === true;
}

/** What a server that is loading its data says to everything but INFO. */
export function loadingError(): Error {
  return Object.assign(new Error('LOADING Redis is loading the dataset in memory'), { name: 'ReplyError' });
}

/** Redis could not read a call, such as one with an argument that is longer than it takes. It ends the connection. */
export function isMalformed(error: Error): boolean {
  return error.message.includes('Protocol error');
}

export function isUnknownScript(error: unknown): boolean {
  return isReply(error) && error.message.startsWith('NOSCRIPT');
}

export function isUnavailable(error: Error): boolean {
  return [UNAVAILABLE, PERMISSION, UNKNOWN_COMMAND].some((words) => words.test(error.message));
}

/** The user lacks a permission: somebody has to fix that. */
export function isForbidden(error: Error): boolean {
  return PERMISSION.test(error.message);
}

/** The user may not use a key; Redis does not say which. */
export function isForbiddenKey(error: unknown): boolean {
  return isReply(error) && isForbidden(error) && /\baccess\b.*\bkeys?\b/.test(error.message);
}

/** The server is a replica, perhaps only since a moment ago. */
export function isReadOnly(error: unknown): boolean {
  return isReply(error) && /\bREADONLY\b/.test(error.message);
}

/** Worth asking again within the deadline: a start, a failover, somebody's script. */
export function isPassing(error: Error): boolean {
  return PASSING.test(error.message);
}

/** The server does not give us the database that we asked for. */
export function isRefusedSelect(error: unknown): error is Error {
  return isReply(error) && (error as { readonly command?: { readonly name: string } }).command?.name === 'select';
}

/**
 * Asking again cannot help until somebody fixes the configuration: wrong credentials, a host or a database that does not
 * exist, a server that is too old.
 */
export function isRefusedForGood(error: Error): boolean {
  if (isUnknownHost(error) || error instanceof OldServer) return true;
  return isReply(error) && (CREDENTIALS.test(error.message) || (isRefusedSelect(error) && !isUnavailable(error)));
}

/** The remedy, as a sentence. Undefined if the server said nothing that suggests one. */
export function remedyOf(error: unknown): string | undefined {
  if (!isReply(error)) return remedyOfConnecting(error);
  const known = REMEDIES.find(([words]) => words.test(error.message));
  if (known !== undefined) return known[1];
  return isRefusedSelect(error)
    ? 'Give a database that this server has: db, or the number at the end of the URL, from 0.'
    : undefined;
}

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
      `or more than ${facts.bytes / 1_048_576} MiB; nothing was recounted, because Redis could serve nobody else meanwhile. ` +
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
