/**
 * One SQLite file: opens it on first use, runs transactions on it, and waits, without blocking the event loop, while
 * others have it locked.
 *
 * What is asked for in one turn of the event loop shares one transaction. A call blocks on a lock for `BUSY_TIMEOUT` at
 * most; then it is tried again after pauses that grow, until its deadline.
 */
import { statSync } from 'node:fs';
import { systemClock } from '../../../base/clock';
import type { Milliseconds } from '../../../base/clock';
import { systemRandom } from '../../../base/random';
import type { Logger } from '../../../base/logger';
import { ConnectionClosedError } from '../../errors';
import { turnEnd } from './event-loop-turn';
import { openSqlite } from './sqlite-database';
import type { SqliteDatabase, SqliteStatement } from './sqlite-database';
import { explain, isBusy } from './trouble';
import type { Circumstances } from './trouble';

/** Most competing transactions end within it; far below the 20 ms for which the event loop may stand still. */
const BUSY_TIMEOUT: Milliseconds = 5;
const SHORTEST_PAUSE: Milliseconds = 4;
const LONGEST_PAUSE: Milliseconds = 100;
/** Operations that share a transaction at most. */
const MOST_TOGETHER = 100;
/** How often it is looked whether the file is still there; before a push it is always looked. */
const LOOK_EVERY: Milliseconds = 1000;

export interface StoreOptions extends Circumstances {
  readonly logger: Logger;
}

export interface Purpose {
  /** What was not done when it fails, as a clause. */
  readonly consequence: string;
  /** Must survive a power failure once it is confirmed. What is lost otherwise is done again: a job runs twice. */
  readonly durable?: boolean;
}

interface Operation<Tables> extends Purpose {
  readonly work: (tables: Tables) => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  readonly end: Milliseconds;
  /** One of those that shared its transaction failed: now each shows whether it is the one. */
  alone: boolean;
}

interface Opened<Tables> {
  readonly database: SqliteDatabase;
  readonly tables: Tables;
  readonly begin: SqliteStatement;
  readonly commit: SqliteStatement;
  readonly identity: string;
  lookedAt: Milliseconds;
  durable: boolean | undefined;
}

export class SqliteStore<Tables> {
  readonly #options: StoreOptions;
  readonly #prepare: (database: SqliteDatabase) => Tables;
  #pending: Operation<Tables>[] = [];
  #running: Promise<void> | undefined;
  #opened: Opened<Tables> | undefined;
  #closed = false;
  #replacements = 0;

  /** `prepare` makes the tables where they are missing, and what works on them. */
  constructor(options: StoreOptions, prepare: (database: SqliteDatabase) => Tables) {
    this.#options = options;
    this.#prepare = prepare;
  }

  /**
   * Runs `work` in a transaction, and resolves when it is committed. `work` may run again, when the file was busy.
   *
   * @throws QueueUnavailableError, DatabaseFileError, DatabaseFullError, and what `work` throws
   */
  write<T>(purpose: Purpose, work: (tables: Tables) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw this.#closedError();
      const end = systemClock.monotonic() + this.#options.deadline * 1000;
      this.#pending.push({ ...purpose, work, resolve, reject, end, alone: false });
      this.#running ??= this.#run();
    });
  }

  /** Runs `work`, which only reads: it neither waits for writers nor hinders them. */
  async read<T>(consequence: string, work: (tables: Tables) => T): Promise<T> {
    if (this.#closed) throw this.#closedError();
    const end = systemClock.monotonic() + this.#options.deadline * 1000;
    for (let tries = 1; ; tries += 1) {
      await turnEnd();
      try {
        return work(this.#open(false).tables);
      } catch (error) {
        if (!isBusy(error) || systemClock.monotonic() >= end) throw explain(error, consequence, this.#options);
      }
      await this.#pause(tries, end);
    }
  }

  /** Reads at once, or not at all: undefined where the file is busy, or cannot be used. */
  glance<T>(work: (tables: Tables) => T): T | undefined {
    if (this.#closed) return undefined;
    try {
      return work(this.#open(false).tables);
    } catch {
      // The next call that matters says what it is.
      return undefined;
    }
  }

  /** How often another file was found under the name: what was confirmed before is not in it. */
  get replacements(): number {
    return this.#replacements;
  }

  /** What was begun ends first, within its deadline. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    try {
      // The engine lets go of the file only when its statements are collected: nobody else would empty the log.
      opened.database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get([]);
    } catch {
      // Whoever opens the file next finds all in the log.
    }
    opened.database.close();
  }

  #closedError(): ConnectionClosedError {
    return new ConnectionClosedError(this.#options.connection, 'a call');
  }

  async #run(): Promise<void> {
    let tries = 0;
    while (this.#pending.length > 0) {
      await turnEnd();
      const batch = this.#nextBatch();
      const busy = this.#attempt(batch);
      if (busy === undefined) {
        tries = 0;
      } else {
        tries += 1;
        this.#pending.unshift(...batch);
        this.#rejectLate(busy);
        // The oldest stand in front: the first deadline is theirs.
        const [first] = this.#pending;
        if (first !== undefined) await this.#pause(tries, first.end);
      }
    }
    this.#running = undefined;
  }

  #nextBatch(): Operation<Tables>[] {
    const together = this.#pending.slice(0, MOST_TOGETHER);
    const alone = together.findIndex((operation) => operation.alone);
    return this.#pending.splice(0, alone === -1 ? together.length : Math.max(alone, 1));
  }

  /** Returns the error by which the file was busy: then nothing was done. Otherwise each operation is settled, or stands in line again. */
  #attempt(batch: readonly Operation<Tables>[]): unknown {
    let opened: Opened<Tables> | undefined;
    const results: unknown[] = [];
    try {
      const durable = batch.some((operation) => operation.durable === true);
      opened = this.#open(durable);
      setDurable(opened, durable);
      opened.begin.run([]);
      for (const { work } of batch) results.push(work(opened.tables));
      opened.commit.run([]);
    } catch (error) {
      // A full disk has rolled back already.
      if (opened?.database.inTransaction === true) opened.database.exec('ROLLBACK');
      if (isBusy(error)) return error;
      this.#fail(batch, error);
      return undefined;
    }
    batch.forEach(({ resolve }, index) => resolve(results[index] as never));
    return undefined;
  }

  #fail(batch: readonly Operation<Tables>[], error: unknown): void {
    const [first] = batch;
    if (batch.length === 1 && first !== undefined) {
      first.reject(explain(error, first.consequence, this.#options));
      return;
    }
    for (const operation of batch) operation.alone = true;
    this.#pending.unshift(...batch);
  }

  #rejectLate(busy: unknown): void {
    const now = systemClock.monotonic();
    const late = this.#pending.filter(({ end }) => end <= now);
    this.#pending = this.#pending.filter(({ end }) => end > now);
    for (const { reject, consequence } of late) reject(explain(busy, consequence, this.#options));
  }

  /** Grows with `tries`, ends at `end`, and differs from process to process, lest they meet again and again. */
  #pause(tries: number, end: Milliseconds): Promise<void> {
    const longest = Math.min(SHORTEST_PAUSE * 2 ** tries, LONGEST_PAUSE);
    const pause = Math.min(longest * (0.5 + systemRandom() / 2), Math.max(end - systemClock.monotonic(), 0));
    return new Promise((resolve) => systemClock.after(pause, resolve, true));
  }

  #open(look: boolean): Opened<Tables> {
    const { file, logger } = this.#options;
    const now = systemClock.monotonic();
    const opened = this.#opened;
    if (opened !== undefined && (look || now - opened.lookedAt >= LOOK_EVERY)) {
      opened.lookedAt = now;
      // Without this, jobs would go into a file that no longer has a name, and be gone with this process.
      if (identityOf(file) !== opened.identity) {
        logger.warn(
          { file },
          'The SQLite file was removed or replaced while it was in use; what is there now is opened.',
        );
        opened.database.close();
        this.#opened = undefined;
        this.#replacements += 1;
      }
    }
    this.#opened ??= this.#openAnew(now);
    return this.#opened;
  }

  #openAnew(lookedAt: Milliseconds): Opened<Tables> {
    const { file } = this.#options;
    const database = openSqlite(file, BUSY_TIMEOUT);
    try {
      database.prepare('PRAGMA journal_mode = WAL').get([]);
      const tables = this.#prepare(database);
      const begin = database.prepare('BEGIN IMMEDIATE');
      const commit = database.prepare('COMMIT');
      return { database, tables, begin, commit, identity: identityOf(file), lookedAt, durable: undefined };
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** Set between transactions: within one it would have no effect. */
function setDurable(opened: Opened<unknown>, durable: boolean): void {
  if (opened.durable === durable) return;
  opened.database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
  opened.durable = durable;
}

/**
 * Changes when another file takes the name. Never opens it: closing any handle of this process on it would drop the locks
 * that SQLite holds.
 */
function identityOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? 'missing' : `${found.dev}:${found.ino}`;
}
