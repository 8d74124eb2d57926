/**
 * The `database` driver: chooses the dialect that a connection's `url` asks for. SQLite is the one there is; another
 * one gets a folder beside `sqlite` and a line here.
 */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Clock, Seconds } from '../../clock/clock';
import type { Logger } from '../../logger/logger';
import type { DatabaseConfig } from '../../queue/configuration';
import { DatabaseUrlError } from './errors';
import { SqliteConnection } from './sqlite/sqlite-connection';

export interface DatabaseContext {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where a relative path starts. Default: the working folder. */
  readonly root?: string | undefined;
  /** Seconds until a call gives up on a file that others keep locked. Default 5. */
  readonly deadline?: Seconds | undefined;
  readonly origin?: string | undefined;
}

const DEFAULT_URL = 'sqlite:./onqueue.sqlite';
const DEFAULT_TABLE = 'jobs';
const DEFAULT_DEADLINE = 5;

/**
 * Opens nothing yet: the file and its tables are made on the first use.
 *
 * @throws DatabaseUrlError
 * @throws DatabaseTableNameError
 */
export function connectDatabase(config: DatabaseConfig, context: DatabaseContext): SqliteConnection {
  const { name, clock, logger, origin, root = process.cwd(), deadline = DEFAULT_DEADLINE } = context;
  const file = canonical(resolve(root, pathOf(config.url ?? DEFAULT_URL, name)));
  return new SqliteConnection({ name, clock, logger, origin, deadline, file, table: config.table ?? DEFAULT_TABLE });
}

function pathOf(url: string, connection: string): string {
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (scheme !== 'sqlite') {
    const problem =
      scheme === ''
        ? 'it names no store.'
        : `'${scheme}:' is none of the databases of this version: it has SQLite only.`;
    throw new DatabaseUrlError(connection, scheme, problem);
  }
  // `sqlite:///path` is how most programs write an absolute path; `sqlite://path` would be a host, which SQLite has not.
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '' || path.startsWith('//')) throw new DatabaseUrlError(connection, scheme, 'it names no file.');
  if (path === ':memory:') {
    throw new DatabaseUrlError(connection, scheme, "a database in memory is what driver: 'memory' is for.");
  }
  return path;
}

/** SQLite keeps its log beside the file that a symbolic link leads to: one file must have one name. */
function canonical(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return fileInCanonicalFolder(file);
  }
}

function fileInCanonicalFolder(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file;
  }
}
