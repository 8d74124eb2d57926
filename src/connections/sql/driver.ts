/** The `database` driver: its configuration, and how it is loaded. */
import { STORE_KEYS } from '../../application/configuration/configuration';
import * as value from '../../application/configuration/configuration-values';
import { ALL_CAPABLE, type StoreConfig, type Driver } from '../driver';
import { isPool } from '../kit/requirements';
import { ignoredOption, url } from './address';

/** A pool of connections to a database server: a `pg.Pool`, or one of mysql2. */
export type DatabasePool = { connect(): Promise<object> } | { getConnection(...callback: never[]): unknown };

/** Give either `url` or `pool`; without them it is a SQLite file. */
export interface DatabaseConfig extends StoreConfig {
  readonly driver: 'database';
  /**
   * `sqlite:./onqueue.sqlite` (a relative path starts at the project's folder, the nearest with a package.json), or a server:
   * `postgres://user:password@host:5432/database`, `mysql://user:password@host:3306/database`. Default:
   * `sqlite:./onqueue.sqlite`.
   */
  readonly url?: string | undefined;
  /**
   * Instead of `url`, your own pool, which is never closed or changed. A `pg.Pool` is used directly; from a mysql2 pool only the
   * settings are used, for connections that accept several statements at once. Default: none.
   */
  readonly pool?: DatabasePool | undefined;
  /** Further options for the client of a server, such as `ssl`. Default: `max: 5` (`pg.Pool`) or `connectionLimit: 5` (mysql2). */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** The table of jobs; the names of the other tables begin with it. Default: `jobs`. */
  readonly table?: string | undefined;
}

declare module '../driver' {
  interface Drivers {
    database: DatabaseConfig;
  }
}

export const databaseDriver: Driver<DatabaseConfig> = {
  name: 'database',
  keys: {
    ...STORE_KEYS,
    url: { check: url, isAddress: true },
    pool: { check: value.expects('a pool of pg or mysql2, or url in its place', isPool), isAddress: true },
    options: { check: value.object },
    table: { check: value.text },
  },
  *problems({ url: given, options = {} }) {
    if (typeof given !== 'string' || typeof options !== 'object' || options === null) return;
    const ignored = ignoredOption(given, options);
    if (ignored === undefined) return;
    yield [
      'options',
      `'${ignored}' is no option of the client, which would ignore it; write ssl: { rejectUnauthorized: true }`,
    ];
  },
  stores: {
    SQLite: { capabilities: ALL_CAPABLE, lacks: ['recordWake'] },
    PostgreSQL: { capabilities: ALL_CAPABLE, lacks: [] },
    // Workers on MySQL poll.
    MySQL: { capabilities: ALL_CAPABLE, lacks: ['recordWake'] },
  },
  connect: (config, context) => (require('./opening') as typeof import('./opening')).connectDatabase(config, context),
};
