/** Runs statements on one connection of mysql2: singly, or as a whole transaction in one round trip. */
import type { SqlClient, SqlResult, SqlRow, SqlSession } from '../server/sql-session';
import { PacketTooLargeError } from '../errors';
import type { MysqlConnection } from './mysql';
import { isDeadlock } from './mysql-errors';
import type { Sql } from './sql';

export interface MysqlSession extends SqlSession {
  /**
   * Begins a transaction, runs `writes`, ends it, and runs `reads` after it, all at once: it is not left open by a process
   * that stops on the way. Returns a result for each of them.
   */
  atOnce(writes: readonly Sql[], reads?: readonly Sql[]): Promise<readonly SqlResult[]>;
  /** For what has to see an answer before it goes on. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
}

/** One that the server chose to give way to another is begun anew so often. */
const MOST_DEADLOCKS = 5;

export class MysqlClient implements MysqlSession, SqlClient {
  readonly identity: MysqlConnection;
  /** Bytes that the server takes at once. */
  readonly #limit: number;
  readonly #giveBack: (broken: boolean) => void;
  #broken = false;

  constructor(connection: MysqlConnection, limit: number, giveBack: (broken: boolean) => void) {
    this.identity = connection;
    this.#limit = limit;
    this.#giveBack = giveBack;
  }

  async query(text: string): Promise<SqlResult> {
    const [result] = await this.#run([text]);
    return result!;
  }

  async atOnce(writes: readonly Sql[], reads: readonly Sql[] = []): Promise<readonly SqlResult[]> {
    const texts = (statements: readonly Sql[]): readonly string[] => statements.map(({ text }) => text);
    const all = ['START TRANSACTION', ...texts(writes), 'COMMIT', ...texts(reads)];
    for (let deadlocks = 1; ; deadlocks += 1) {
      try {
        const results = await this.#run(all);
        return [...results.slice(1, 1 + writes.length), ...results.slice(2 + writes.length)];
      } catch (error) {
        await this.#rollBack();
        if (!isDeadlock(error) || deadlocks === MOST_DEADLOCKS) throw error;
      }
    }
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    try {
      await this.query('START TRANSACTION');
      const result = await work();
      await this.query('COMMIT');
      return result;
    } catch (error) {
      await this.#rollBack();
      throw error;
    }
  }

  release(broken: boolean): void {
    this.#giveBack(broken || this.#broken);
  }

  async #rollBack(): Promise<void> {
    await this.query('ROLLBACK').catch(() => (this.#broken = true));
  }

  async #run(texts: readonly string[]): Promise<readonly SqlResult[]> {
    const text = texts.join(';\n');
    // The server would end the connection without a word, and its reason would stand in its log alone.
    if (text.length >= this.#limit) {
      throw new PacketTooLargeError({ bytes: text.length, limit: this.#limit, consequence: 'nothing was written' });
    }
    const answer = await new Promise<unknown>((resolve, reject) => {
      this.identity.query({ sql: text, rowsAsArray: true }, (error, result) =>
        error ? reject(error) : resolve(result),
      );
    });
    return texts.length === 1 ? [resultOf(answer)] : (answer as readonly unknown[]).map(resultOf);
  }
}

function resultOf(answer: unknown): SqlResult {
  if (Array.isArray(answer)) return { rows: answer as readonly SqlRow[], written: 0 };
  return { rows: [], written: (answer as { readonly affectedRows: number }).affectedRows };
}
