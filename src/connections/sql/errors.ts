/** What can be wrong with a database connection: its address, its tables, its file. */
import { wordsOf } from '../../base/foreign-error';
import { OnqueueError } from '../../base/onqueue-error';
import type { Consequential } from '../errors';

/** `url` names no store that this version has. Of the address only the scheme is told: the rest may hold a password. */
export class DatabaseUrlError extends OnqueueError<{ readonly connection: string; readonly scheme: string }> {
  readonly code = 'E_DATABASE_URL';

  constructor(connection: string, scheme: string, problem: string) {
    super(
      `connections.${connection}.url: ${problem} Write 'sqlite:./onqueue.sqlite', 'sqlite:/an/absolute/path.sqlite', ` +
        "'postgres://user:password@host:5432/database' or 'mysql://user:password@host:3306/database'.",
      { connection, scheme },
    );
  }
}

/** `table` would not be safe, or not possible, as a table's name. */
export class DatabaseTableNameError extends OnqueueError<{ readonly connection: string; readonly table: string }> {
  readonly code = 'E_DATABASE_TABLE_NAME';

  constructor(connection: string, table: string) {
    super(
      `connections.${connection}.table: '${table}' is no name for a table. Use letters, digits and _, at most 48, ` +
        "beginning with a letter or _ and not with sqlite_; for example 'jobs'.",
      { connection, table },
    );
  }
}

/** A table of that name is there, and Onqueue did not make it. It is left as it is. */
export class ForeignTableError extends OnqueueError<{ readonly file: string; readonly table: string }> {
  readonly code = 'E_DATABASE_FOREIGN_TABLE';

  constructor(file: string, table: string) {
    super(
      `${file} has a table '${table}' that Onqueue did not make; it was left untouched. ` +
        "Give the connection tables of its own: table: 'onqueue_jobs'.",
      { file, table },
    );
  }
}

/** The tables were made by a later version of Onqueue, which may keep what this one would lose. */
export class NewerTablesError extends OnqueueError<{
  readonly file: string;
  readonly found: number;
  readonly known: number;
}> {
  readonly code = 'E_DATABASE_NEWER_TABLES';

  constructor(file: string, found: number, known: number) {
    super(
      `The tables in ${file} have version ${found}; this Onqueue knows ${known}. ` +
        'Update onqueue here as well: all that share a file need the newest version among them.',
      { file, found, known },
    );
  }
}

/** The tables are of no use to this process, however long it waits. */
export function areTablesOutOfReach(error: unknown): boolean {
  return error instanceof NewerTablesError || error instanceof ForeignTableError;
}

export interface FileTrouble {
  readonly file: string;
  /** SQLite's own word for it, such as SQLITE_CORRUPT, where it has one. */
  readonly reason: string | undefined;
  /** As a predicate: `is damaged`. */
  readonly what: string;
  /** What was not done, as a clause. */
  readonly consequence: string;
  readonly remedy: string;
}

/** The file cannot be used: it, or its folder, is missing, forbidden, damaged or something else. */
export class DatabaseFileError extends OnqueueError<FileTrouble> {
  readonly code = 'E_DATABASE_FILE';

  constructor(facts: FileTrouble, options?: { cause?: unknown }) {
    super(`${facts.file} ${facts.what}; ${facts.consequence}. ${facts.remedy}`, facts, options);
  }
}

/** No room is left on the disk. What was stored before is intact. */
export class DatabaseFullError extends OnqueueError<{ readonly file: string; readonly consequence: string }> {
  readonly code = 'E_DATABASE_FULL';

  constructor(file: string, consequence: string, options?: { cause?: unknown }) {
    super(
      `No space is left for ${file}; ${consequence}. Free some on its disk; what was stored before is intact.`,
      { file, consequence },
      options,
    );
  }
}

/** A value that the engine cannot take; handed to it, it would end the process without a word. */
export class UnboundValueError extends OnqueueError<{ readonly type: string }> {
  readonly code = 'E_DATABASE_VALUE';

  constructor(value: unknown) {
    const type = typeof value === 'object' ? (value?.constructor?.name ?? 'object') : typeof value;
    const given = Number.isNaN(value) ? 'NaN' : `A value of type ${type}`;
    super(`${given} cannot be stored; expected a string, a number, a Buffer or null.`, { type });
  }
}

/** The tables of a database server are not there, or of an older version. Nobody but `onqueue migrate` makes them. */
export class NotMigratedError extends OnqueueError<{ readonly connection: string; readonly address: string }> {
  readonly code = 'E_DATABASE_NOT_MIGRATED';

  /** @param flaw what is known to be wrong with them, as a clause */
  constructor(
    connection: string,
    address: string,
    consequence: string,
    { flaw, ...options }: { flaw?: string | undefined; cause?: unknown } = {},
  ) {
    super(
      `The tables of connection '${connection}' at ${address} are ${flaw === undefined ? 'not there, or not up to date' : `not as they must be (${flaw})`}; ${consequence}. ` +
        `Run: npx onqueue migrate --connection=${connection} (with --print it shows what it would run).`,
      { connection, address },
      options,
    );
  }
}

/** `using()` was given a transaction of another copy of SQLite than the connection works with. */
export class ForeignEngineError extends OnqueueError<{ readonly connection: string }> {
  readonly code = 'E_DATABASE_FOREIGN_ENGINE';

  constructor(connection: string) {
    super(
      `Queue.connection('${connection}').using() was given a transaction of another copy of SQLite than the libsql that Onqueue ` +
        'works with; nothing was queued. Two copies in one process do not see each other’s locks, and may overwrite what the ' +
        'other one has committed. Open the file by that libsql (see npm ls libsql), or keep the jobs in a file of their own and ' +
        'dispatch with afterCommit().',
      { connection },
    );
  }
}

/** `using()` was given a transaction on another file than the one with the jobs. */
export class OtherFileError extends OnqueueError<{ readonly connection: string; readonly file: string }> {
  readonly code = 'E_DATABASE_OTHER_FILE';

  constructor(connection: string, file: string) {
    super(
      `Queue.connection('${connection}').using() was given a transaction on another file than ${file}, where the jobs are; ` +
        'nothing was queued. Let `url` name the file of your data, or dispatch with afterCommit().',
      { connection, file },
    );
  }
}

/** `using()` was given a transaction in which the tables with the jobs are not there. */
export class OtherDatabaseError extends OnqueueError<{ readonly connection: string; readonly address: string }> {
  readonly code = 'E_DATABASE_OTHER_DATABASE';

  constructor(connection: string, address: string, options?: { cause?: unknown }) {
    super(
      `Queue.connection('${connection}').using() was given a transaction that does not see the tables at ${address}, where the ` +
        'jobs are; nothing was queued. Begin it in that database (on PostgreSQL with the same search_path), or dispatch with ' +
        'afterCommit().',
      { connection, address },
      options,
    );
  }
}

/** The server is too old for what the statements need. */
export class ServerVersionError extends OnqueueError<{
  readonly connection: string;
  readonly found: string;
  readonly needed: string;
}> {
  readonly code = 'E_DATABASE_SERVER_VERSION';

  /** @param found product and version, as `needed` is */
  constructor(connection: string, found: string, needed: string, consequence: string) {
    super(`Connection '${connection}' leads to ${found}; ${consequence}. ${needed} or newer is needed.`, {
      connection,
      found,
      needed,
    });
  }
}

interface Packet {
  /** As is `limit`. */
  readonly bytes: number;
  readonly limit: number;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
  /** Of several that were pushed, the places of those that are too long; the others were queued. */
  readonly refused?: readonly number[];
}

/** A statement with what it carries is longer than the server takes at once. */
export class PacketTooLargeError extends OnqueueError<Packet> implements Consequential {
  readonly code = 'E_DATABASE_PACKET_TOO_LARGE';

  constructor(facts: Packet) {
    const { bytes, limit, consequence } = facts;
    super(
      `A statement of ${bytes} bytes was not sent, as the server takes ${limit} at once, and a payload counts twice; ` +
        `${consequence}. Raise max_allowed_packet, or keep what is large elsewhere and dispatch where it is.`,
      facts,
    );
  }

  withConsequence(consequence: string): PacketTooLargeError {
    return new PacketTooLargeError({ ...this.facts, consequence });
  }
}

interface Refused {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  /** What the database said, in its own words. */
  readonly reply: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
}

/** The database serves, and will not take this: a constraint, a trigger or the type of a column forbids it. */
export class RefusedByDatabaseError extends OnqueueError<Refused> implements Consequential {
  readonly code = 'E_DATABASE_REFUSED';

  constructor(facts: Refused, options?: { cause?: unknown }) {
    const { connection, address, reply, consequence } = facts;
    super(
      `The database at ${address} refused what was to be written (${reply}); ${consequence}. A constraint, a trigger or a ` +
        `column of its tables forbids it: undo what was changed in them, or run npx onqueue migrate --connection=${connection}.`,
      facts,
      options,
    );
  }

  withConsequence(consequence: string): RefusedByDatabaseError {
    return new RefusedByDatabaseError({ ...this.facts, consequence }, { cause: this.cause });
  }
}

/** The package that SQLite is spoken to by is not installed as a whole, or not for this machine. */
export class SqliteEngineError extends OnqueueError<{ readonly missing: string | undefined }> {
  readonly code = 'E_SQLITE_ENGINE';

  /** @param missing the package that was not found; undefined: it is there, and could not be loaded */
  constructor(missing: string | undefined, options?: { cause?: unknown }) {
    const machine = `${process.platform}-${process.arch}`;
    const what = missing === undefined ? 'libsql could not be loaded' : `the package ${missing} is not installed`;
    const reason = missing === undefined ? ` (${wordsOf(options?.cause) ?? 'without a reason'})` : '';
    super(
      `SQLite cannot be used on this machine (${machine}): ${what}${reason}. libsql brings its native part as an optional ` +
        'dependency: run npm install here, without --omit=optional and with no node_modules of another machine, and leave ' +
        'libsql out of bundles.',
      { missing },
      options,
    );
  }
}
