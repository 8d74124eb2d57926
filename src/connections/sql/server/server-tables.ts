/** The tables on a database server: nobody but `onqueue migrate` makes them. */
import type { Seconds } from '../../../base/clock';
import { OnqueueError } from '../../../base/onqueue-error';
import type { Diagnosis } from '../../contract';
import type { Migrations } from '../../migrations';
import { areTablesOutOfReach, newerTables, notMigrated, serverTooOld } from '../errors';
import type { SqlTables } from '../sql-connection';
import { type Sql, type Work, written } from '../statement';
import type { ServerCaller } from './server-caller';

/** What is found on a server before anything is asked of its tables. */
export interface Found {
  /** Its product and version, for people: `MariaDB 10.11.14`. */
  readonly server: string;
  /** The version that is needed, where this one is too old. */
  readonly needed?: string | undefined;
  /** The version of our tables; 0: they are not there. */
  readonly version: number;
  /** What is wrong with them all the same, as a clause: `jobs.attempts is smallint, where bigint is needed`. */
  readonly flaw?: string | undefined;
}

export interface Schema {
  /** The version of the tables that the statements need. */
  readonly version: number;
  look(): Work<Found>;
  /** Brings the tables up to date, whoever else does so now; returns what was found. May be called again. */
  migrate(): Work<Pick<Found, 'version' | 'flaw'>>;
  /** Gives the jobs that workers of Laravel's have reserved an end of their leases: left behind, they would stay so for ever. */
  readonly adoption: Sql;
  /** What `migrate` does, for those who run it themselves: may be run again, and on tables that Laravel has made. */
  sql(): string;
}

/** An index over millions of jobs takes its time. */
const MIGRATION_DEADLINE: Seconds = 3600;

/** Milliseconds; every job takes at least one such round trip. */
const SLOW = 20;

export class ServerTables implements SqlTables {
  readonly migrations: Migrations;
  readonly #schema: Schema;
  readonly #caller: ServerCaller;
  #checked: Promise<void> | undefined;

  constructor(schema: Schema, caller: ServerCaller) {
    this.#schema = schema;
    this.#caller = caller;
    this.migrations = {
      version: schema.version,
      sql: () => schema.sql(),
      run: () => this.#migrate(),
      check: () => this.#begin(),
    };
  }

  /** Looks once. */
  check(consequence: string): Promise<void> {
    if (this.#checked === undefined) {
      this.#checked = this.#look(consequence);
      this.#checked.catch(() => (this.#checked = undefined));
    }
    return this.#checked;
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    const { clock } = this.#caller.settings;
    try {
      const look = (): Promise<Found> =>
        this.#caller.run({ consequence: 'it was not examined' }, () => this.#schema.look());
      const found = await look();
      const sentAt = clock.monotonic();
      await look();
      const latency = Math.round((clock.monotonic() - sentAt) * 10) / 10;
      const isSlow = latency > SLOW;
      const advice = isSlow ? '; each job takes at least one. Bring the worker nearer to the server.' : '';
      const { server, needed } = found;
      return [
        needed === undefined
          ? { level: 'ok', subject: 'version', message: server }
          : { level: 'error', subject: 'version', message: `${server} is too old: ${needed} or newer is needed.` },
        this.#diagnosisOf(found),
        {
          level: isSlow ? 'warning' : 'ok',
          subject: 'latency',
          message: `${latency} ms for a round trip${advice}`,
        },
      ];
    } catch (error) {
      if (!(error instanceof OnqueueError)) throw error;
      return [{ level: 'error', subject: 'database', message: error.message }];
    }
  }

  #diagnosisOf({ version, flaw }: Found): Diagnosis {
    const known = this.#schema.version;
    const subject = 'tables';
    if (version === known && flaw === undefined) return { level: 'ok', subject, message: `version ${version}` };
    if (version > known) {
      const message = `version ${version}, and this Onqueue knows ${known}. Update onqueue here as well.`;
      return { level: 'error', subject, message };
    }
    const older = version === 0 ? 'not there' : `version ${version}, and ${known} is needed`;
    const problem = version === known ? `version ${version}, but ${flaw}` : older;
    return { level: 'error', subject, message: `${problem}. Run: onqueue migrate` };
  }

  /** For a worker that starts. */
  async #begin(): Promise<void> {
    const purpose = { consequence: 'nothing was done', writes: 'repeatable' } as const;
    try {
      await this.check(purpose.consequence);
      await this.#caller.run(purpose, () => written(this.#schema.adoption));
    } catch (error) {
      // What else it is, the first reserve tells, and is asked again.
      if (areTablesOutOfReach(error)) throw error;
    }
  }

  async #look(consequence: string): Promise<void> {
    const { name, address } = this.#caller.settings;
    const { version, flaw } = await this.#serverIsNew(consequence);
    if (version < this.#schema.version) throw notMigrated({ connection: name, address, consequence });
    if (flaw !== undefined) throw notMigrated({ connection: name, address, consequence, flaw });
  }

  async #migrate(): ReturnType<Migrations['run']> {
    const schema = this.#schema;
    const consequence = 'its tables were not brought up to date';
    await this.#serverIsNew(consequence);
    const purpose = { consequence, writes: 'repeatable', deadline: MIGRATION_DEADLINE } as const;
    const found = await this.#caller.run(purpose, () => schema.migrate());
    return { from: found.version, to: schema.version, ...(found.flaw !== undefined && { mended: found.flaw }) };
  }

  /** @throws E_DATABASE_SERVER_VERSION the server is too old, E_DATABASE_NEWER_TABLES this Onqueue is */
  async #serverIsNew(consequence: string): Promise<Found> {
    const { name, address } = this.#caller.settings;
    const found = await this.#caller.run({ consequence }, () => this.#schema.look());
    const { server, needed, version } = found;
    if (needed !== undefined) throw serverTooOld(name, server, needed, consequence);
    if (version > this.#schema.version) throw newerTables(address, version, this.#schema.version);
    return found;
  }
}
