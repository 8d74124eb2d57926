/** What every part of a connection works with: how statements are written, what runs them, the tables, and who waits. */
import type { Seconds } from '../../base/clock';
import type { Diagnosis, Migrations } from '../contract';
import type { Dialect } from './dialect';
import { perform, runAll, type Work } from './statement';
import type { Waiters } from './waiters';

export interface Purpose {
  /** What was not done if the call fails, as a clause. */
  readonly consequence: string;
  /** Default: it only reads. `once`: repeating it would change the result. */
  readonly writes?: 'repeatable' | 'once';
  /** Must survive a power failure once it is confirmed. Other writes that are lost are done again: a job runs twice. */
  readonly durable?: boolean;
  /** Default: that of the connection. */
  readonly deadline?: Seconds;
}

/** A write that may be repeated. */
export const repeatable = (consequence: string): Purpose => ({ consequence, writes: 'repeatable' });

/** A write that happens once and must not be lost. */
export const orderOf = (consequence: string): Purpose => ({ consequence, writes: 'once', durable: true });

export interface Engine {
  /**
   * Runs the work within the deadline. It may be restarted on another connection.
   *
   * @throws ConnectionClosedError, QueueUnavailableError, other errors that say why it was not done, and errors of ours that
   * the work throws
   */
  run<T>(purpose: Purpose, work: () => Work<T>): Promise<T>;
  /** Whether the store has lost what it confirmed; true once for each loss. Absent if this cannot be known. */
  hasForgotten?(): boolean;
  /** Waits for calls under way first, and refuses others. */
  close(): Promise<void>;
}

export interface Tables {
  readonly migrations: Migrations;
  /** Rejects if they do not exist. Called before they are used. */
  check(consequence: string): Promise<void>;
  diagnose(): Promise<readonly Diagnosis[]>;
}

export class Database {
  /** @param name that of the connection in the configuration. @param address for display: without a password */
  constructor(
    readonly name: string,
    readonly address: string,
    readonly dialect: Dialect,
    readonly engine: Engine,
    readonly tables: Tables,
    readonly waiters: Waiters,
  ) {}

  /**
   * Runs work if the tables exist. @throws what `Engine.run` throws, and why the tables cannot be used
   *
   * @param given what it is for; a text, if it only reads: what was not done if the call fails
   */
  async run<T>(given: Purpose | string, work: () => Work<T>): Promise<T> {
    const purpose = typeof given === 'string' ? { consequence: given } : given;
    await this.tables.check(purpose.consequence);
    return this.engine.run(purpose, work);
  }

  /** Runs each step of the work in a call of its own, so that others can run in between. */
  inPieces<T>(purpose: Purpose | string, work: Work<T>): Promise<T> {
    return perform({ run: (statements) => this.run(purpose, () => runAll(statements)) }, work);
  }

  /** This process has written to these queues. */
  wrote(...queues: readonly string[]): void {
    for (const queue of queues) this.waiters.wrote?.(queue);
  }
}

/** What the connection shows of the database: failed jobs, locks, records, batches, lanes and orders. */
export abstract class DatabasePart {
  protected readonly dialect: Dialect;

  constructor(protected readonly database: Database) {
    this.dialect = database.dialect;
  }
}
