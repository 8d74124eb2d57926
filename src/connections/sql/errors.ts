/** Errors of database connections: about the address, the tables, the file, and values that cannot be stored. */
import { defineError } from '../../base/onqueue-error';
import { wordsOf } from '../../base/foreign-error';
import type { Unserved } from '../errors';

/**
 * `url` names a database that this version does not support. Only the scheme is shown, as the rest may contain a password.
 */
export const badDatabaseUrl = defineError('E_DATABASE_URL', (connection: string, scheme: string, problem: string) => ({
  message:
    `connections.${connection}.url: ${problem} Write 'sqlite:./onqueue.sqlite', 'sqlite:/an/absolute/path.sqlite', ` +
    "'postgres://user:password@host:5432/database' or 'mysql://user:password@host:3306/database'.",
  facts: { connection, scheme },
}));

/** For addresses that configuration let through. */
export const UNREADABLE = 'it cannot be read as an address: percent-encode # / ? % @ in the password.';

/** The option `ssl` has a value for which mysql2 would throw. */
export const badTls = defineError('E_DATABASE_TLS', (connection: string, type: string) => ({
  message:
    `connections.${connection}.options.ssl: mysql2 takes an object, not a ${type}. ` +
    'Write ssl: { rejectUnauthorized: true }, with `ca` for a certificate of your own.',
  facts: { connection, type },
}));

/** `table` is not a safe or valid table name. */
export const badTableName = defineError('E_DATABASE_TABLE_NAME', (connection: string, table: string) => ({
  message:
    `connections.${connection}.table: '${table}' is not a valid table name. Use letters, digits and _, at most 48, ` +
    "beginning with a letter or _ and not with sqlite_; for example 'jobs'.",
  facts: { connection, table },
}));

/** A table of that name exists that Onqueue did not create. It is left untouched. */
export const foreignTable = defineError('E_DATABASE_FOREIGN_TABLE', (file: string, table: string) => ({
  message:
    `${file} has a table '${table}' that Onqueue did not create; it was left untouched. ` +
    "Give the connection tables of its own: table: 'onqueue_jobs'.",
  facts: { file, table },
}));

/** The tables were created by a later version of Onqueue, and may hold data that this one would lose. */
export const newerTables = defineError('E_DATABASE_NEWER_TABLES', (file: string, found: number, known: number) => ({
  message:
    `The tables in ${file} have version ${found}; this Onqueue knows ${known}. ` +
    'Update onqueue here as well: all programs that share them need the newest version among them.',
  facts: { file, found, known },
}));

/** This process cannot use the tables, however long it waits. */
export const areTablesOutOfReach = (error: unknown): boolean => newerTables.is(error) || foreignTable.is(error);

interface Full extends Pick<Unserved, 'consequence'> {
  readonly file: string;
}

interface FileTrouble extends Full {
  /** SQLite's own error code, such as SQLITE_CORRUPT, if there is one. */
  readonly reason: string | undefined;
  /** As a predicate: `is damaged`. */
  readonly what: string;
  readonly remedy: string;
}

/** The file cannot be used: it or its folder is missing, damaged, not accessible, or something else. */
export const fileUnusable = defineError('E_DATABASE_FILE', (facts: FileTrouble, { cause }: ErrorOptions = {}) => ({
  message: `${facts.file} ${facts.what}; ${facts.consequence}. ${facts.remedy}`,
  facts,
  cause,
}));

/** The disk is full. What was stored before is intact. */
export const diskFull = defineError('E_DATABASE_FULL', (facts: Full, { cause }: ErrorOptions = {}) => ({
  message: `No space is left for ${facts.file}; ${facts.consequence}. Free some space on its disk; what was stored before is intact.`,
  facts,
  cause,
}));

/** A value that the engine does not accept. Passing it on would end the process without a message. */
export const valueNotStorable = defineError('E_DATABASE_VALUE', (value: unknown) => {
  const type = typeof value === 'object' ? (value?.constructor?.name ?? 'object') : typeof value;
  const given = Number.isNaN(value) ? 'NaN' : `A value of type ${type}`;
  return { message: `${given} cannot be stored; expected a string, a number, a Buffer or null.`, facts: { type } };
});

interface NotMigrated extends Unserved {
  /** What is wrong with the tables, as a clause, if known. */
  readonly flaw?: string | undefined;
}

/** The tables of a database server are missing or of an older version. Only `onqueue migrate` creates them. */
export const notMigrated = defineError(
  'E_DATABASE_NOT_MIGRATED',
  (facts: NotMigrated, { cause }: ErrorOptions = {}) => {
    const { connection, address, consequence, flaw } = facts;
    const state = flaw === undefined ? 'not there, or not up to date' : `not as they must be (${flaw})`;
    return {
      message:
        `The tables of connection '${connection}' at ${address} are ${state}; ${consequence}. ` +
        `Run: npx onqueue migrate --connection=${connection} (with --print it shows what it would run).`,
      facts,
      cause,
    };
  },
);

/** `using()` was given a transaction of another copy of SQLite than the connection works with. */
export const foreignEngine = defineError('E_DATABASE_FOREIGN_ENGINE', (connection: string) => ({
  message:
    `Queue.connection('${connection}').using() was given a transaction of another copy of SQLite than the libsql that Onqueue ` +
    'works with; nothing was queued. Two copies in one process do not see each other’s locks, and may overwrite what the ' +
    'other one has committed. Open the file by that libsql (see npm ls libsql), or keep the jobs in a file of their own and ' +
    'dispatch with afterCommit().',
  facts: { connection },
}));

/** `using()` was given a transaction on a file other than the one with the jobs. */
export const otherFile = defineError('E_DATABASE_OTHER_FILE', (connection: string, file: string) => ({
  message:
    `Queue.connection('${connection}').using() was given a transaction on a file other than ${file}, where the jobs are; ` +
    'nothing was queued. Let `url` name the file of your data, or dispatch with afterCommit().',
  facts: { connection, file },
}));

/** `using()` was given a transaction that does not see the tables with the jobs. */
export const otherDatabase = defineError(
  'E_DATABASE_OTHER_DATABASE',
  (connection: string, address: string, { cause }: ErrorOptions = {}) => ({
    message:
      `Queue.connection('${connection}').using() was given a transaction that does not see the tables at ${address}, where the ` +
      'jobs are; nothing was queued. Begin it in that database (on PostgreSQL with the same search_path), or dispatch with ' +
      'afterCommit().',
    facts: { connection, address },
    cause,
  }),
);

/** The server is too old for our statements. `found` and `needed`: product and version. */
export const serverTooOld = defineError(
  'E_DATABASE_SERVER_VERSION',
  (connection: string, found: string, needed: string, consequence: string) => ({
    message: `Connection '${connection}' leads to ${found}; ${consequence}. ${needed} or newer is needed.`,
    facts: { connection, found, needed },
  }),
);

/** A call would go on seeing what was there before it waited for a lock, and count too few. `level`: the default isolation level. */
export const wrongIsolation = defineError(
  'E_DATABASE_ISOLATION',
  (connection: string, server: string, level: string, consequence: string) => ({
    message:
      `Connection '${connection}' leads to ${server}, where default_transaction_isolation is '${level}'; ${consequence}. Calls would not see ` +
      "what others have just done, and limits and lanes would let in too many jobs. Connect as a user with 'read committed': " +
      "ALTER ROLE … SET default_transaction_isolation = 'read committed'. Your own transactions may keep theirs.",
    facts: { connection, server, level },
  }),
);

interface Packet extends Pick<Unserved, 'consequence'> {
  /** In bytes, like `limit`. */
  readonly bytes: number;
  readonly limit: number;
  /** If several jobs were pushed: the indexes of those that are too long. The others were queued. */
  readonly refused?: readonly number[];
}

/** A statement with its values is longer than the server accepts at once. */
export const packetTooLarge = defineError('E_DATABASE_PACKET_TOO_LARGE', (facts: Packet) => ({
  message:
    `A statement of ${facts.bytes} bytes was not sent: the server accepts ${facts.limit} at once, and a payload counts twice; ` +
    `${facts.consequence}. Raise max_allowed_packet, or store large data elsewhere and dispatch a reference to it.`,
  facts,
}));

interface Refused extends Unserved {
  /** The database's own message. */
  readonly reply: string;
  /** What helps if its columns and constraints are not to blame, as a sentence. */
  readonly remedy?: string | undefined;
}

/** The database is up, but refuses this: because of a constraint, a trigger or the type of a column. */
export const databaseRefused = defineError('E_DATABASE_REFUSED', (facts: Refused, { cause }: ErrorOptions = {}) => ({
  message:
    `The database at ${facts.address} refused the write (${facts.reply}); ${facts.consequence}. ` +
    (facts.remedy ??
      'A constraint, a trigger or a column of its tables forbids it: undo what was changed in them, or run ' +
        `npx onqueue migrate --connection=${facts.connection}.`),
  facts,
  cause,
}));

/**
 * The package for SQLite is incomplete, or not installed for this machine.
 *
 * `missing`: the package that was not found; undefined if it is there but could not be loaded.
 */
export const noSqliteEngine = defineError(
  'E_SQLITE_ENGINE',
  (missing: string | undefined, { cause }: ErrorOptions = {}) => {
    const machine = `${process.platform}-${process.arch}`;
    const what =
      missing === undefined
        ? `libsql could not be loaded (${wordsOf(cause) ?? 'without a reason'})`
        : `the package ${missing} is not installed`;
    return {
      message:
        `SQLite cannot be used on this machine (${machine}): ${what}. libsql brings its native part as an optional ` +
        'dependency: run npm install here, without --omit=optional and with no node_modules of another machine, and leave ' +
        'libsql out of bundles.',
      facts: { missing },
      cause,
    };
  },
);
