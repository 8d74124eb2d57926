/**
 * The connections to one server: opened on demand, and set up as our statements need.
 *
 * We do not use mysql2's pool: its idle connections would keep the process alive, and connections that do not answer could
 * not be ended.
 */
import type { Milliseconds, Seconds } from '../../../base/clock';
import { inRootContext } from '../../application';
import type { SqlPool, SqlClient } from '../server/caller';
import type { MysqlConnection } from './connection';
import {
  raw,
  sql,
  type Sql,
  type SqlResult,
  type SqlRow,
  type SqlSession,
  type Work,
  type SqlValue,
} from '../statement';
import { packetTooLarge } from '../errors';
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import { isDeadlock } from './errors';

interface MysqlPoolOptions {
  readonly connect: () => MysqlConnection;
  /** The maximum number of connections. A call that finds all of them in use waits for one. */
  readonly most: number;
  /** The deadline of a call. The server gives up on a locked row well before. */
  readonly deadline: Seconds;
}

interface Waiting {
  readonly resolve: (client: MysqlClient) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a closing connection waits for the server to notice. */
const FAREWELL: Milliseconds = 1000;

export class MysqlPool implements SqlPool {
  readonly #options: MysqlPoolOptions;
  readonly #all = new Set<MysqlClient>();
  readonly #idle: MysqlClient[] = [];
  readonly #waiting: Waiting[] = [];

  constructor(options: MysqlPoolOptions) {
    this.#options = options;
  }

  acquire(): Promise<MysqlClient> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  async close(): Promise<void> {
    const clients = [...this.#all];
    await Promise.all(clients.map(({ identity }) => farewell(identity)));
    for (const client of clients) this.#forget(client);
  }

  #serve(): void {
    if (this.#waiting.length === 0 || (this.#idle.length === 0 && this.#all.size >= this.#options.most)) return;
    const { resolve, reject } = this.#waiting.shift()!;
    const client = this.#idle.pop();
    if (client === undefined) {
      inRootContext(() => this.#open()).then(resolve, reject);
    } else {
      client.identity.stream.ref();
      resolve(client);
    }
  }

  #takeBack(client: MysqlClient, broken: boolean): void {
    // An idle connection keeps no process alive.
    client.identity.stream.unref();
    if (broken || !this.#all.has(client)) this.#forget(client);
    else this.#idle.push(client);
    this.#serve();
  }

  async #open(): Promise<MysqlClient> {
    const connection = this.#options.connect();
    const client: MysqlClient = new MysqlClient(connection, (broken) => this.#takeBack(client, broken));
    this.#all.add(client);
    const forget = (): void => this.#forget(client);
    // A connection may end while nobody uses it. Nothing is lost then.
    connection.on('error', forget);
    connection.on('end', forget);
    // Without this, a server that accepts a connection and never answers would occupy its slot in the pool for ever.
    connection.stream.setTimeout(this.#options.deadline * 1000, forget);
    try {
      await new Promise<void>((resolve, reject) => {
        connection.connect((error) => (error ? reject(error) : resolve()));
      });
      await this.#setUp(client);
      connection.stream.setTimeout(0);
      return client;
    } catch (error) {
      forget();
      this.#serve();
      throw error;
    }
  }

  async #setUp(client: MysqlClient): Promise<void> {
    const patience = Math.max(Math.floor(this.#options.deadline / 3), 1);
    // In one round trip: a connection that replaces a silent one has only the rest of a deadline to get ready.
    const results = await client.run([
      // No gap locks: a worker that looks for jobs never delays a push.
      raw('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'),
      sql`SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
        innodb_lock_wait_timeout = ${patience}, group_concat_max_len = 1000000`,
      raw('SELECT @@max_allowed_packet'),
    ]);
    client.limit = Number(results.at(-1)?.rows[0]?.[0]);
  }

  #forget(client: MysqlClient): void {
    this.#all.delete(client);
    const index = this.#idle.indexOf(client);
    if (index !== -1) this.#idle.splice(index, 1);
    // Not mysql2's own `destroy`, which waits for the other side.
    client.identity.stream.destroy();
  }
}

function farewell(connection: MysqlConnection): Promise<void> {
  return new Promise((resolve) => {
    connection.stream.ref().setTimeout(FAREWELL, resolve);
    connection.end(resolve);
  });
}

/** How often a transaction is tried if the server rolls it back to resolve a deadlock. */
const MOST_DEADLOCKS = 5;

/**
 * A transaction that is sent as a whole, so that a process that stops halfway does not leave it open.
 *
 * @param reads run after it; their results are returned
 */
export function* packet(writes: readonly Sql[], reads: readonly Sql[] = []): Work<readonly SqlResult[]> {
  const results = yield [raw('START TRANSACTION'), ...writes, raw('COMMIT'), ...reads];
  return results.slice(writes.length + 2);
}

/** Runs statements on one connection of mysql2, several in one round trip, and within transactions of the user. */
class MysqlClient implements SqlClient {
  readonly identity: MysqlConnection;
  /** The largest packet that the server accepts, in bytes. */
  limit = Infinity;
  readonly #giveBack: (broken: boolean) => void;
  #broken = false;

  constructor(connection: MysqlConnection, giveBack: (broken: boolean) => void) {
    this.identity = connection;
    this.#giveBack = giveBack;
  }

  async run(statements: readonly Sql[]): Promise<readonly SqlResult[]> {
    const texts = statements.map(inline);
    if (texts.length === 1) return this.#send(texts);
    for (let deadlocks = 1; ; deadlocks += 1) {
      try {
        return await this.#send(texts);
      } catch (error) {
        await this.#send(['ROLLBACK']).catch(() => (this.#broken = true));
        if (!isDeadlock(error) || deadlocks === MOST_DEADLOCKS) throw error;
      }
    }
  }

  release(broken: boolean): void {
    this.#giveBack(broken || this.#broken);
  }

  async #send(texts: readonly string[]): Promise<readonly SqlResult[]> {
    const text = texts.join(';\n');
    // The server would end the connection, and tell the reason only to its log.
    if (text.length >= this.limit) {
      throw packetTooLarge({ bytes: text.length, limit: this.limit, consequence: 'nothing was written' });
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

/**
 * Runs our statements within the user's transaction: by mysql2 itself, by a known library, or by any object with
 * `query(text)`. The statements contain no placeholders. Undefined if it is none of these, or not a transaction.
 */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  if (typeof transaction !== 'object' && typeof transaction !== 'function') return undefined;
  // A pool would run each statement on its own connection, in its own transaction.
  if (transaction === null || 'getConnection' in transaction) return undefined;
  const withCallbacks = 'promise' in transaction && typeof transaction.promise === 'function';
  const run = rawQueryOf(withCallbacks ? (transaction as { promise(): unknown }).promise() : transaction);
  return run && sessionOn(async (statement) => rowsIn(rowsAlone(await run(inline(statement), []))));
}

/**
 * mysql2 returns a list of rows and columns, and knex and Drizzle pass that on. For statements without rows it is a list
 * with a summary.
 */
function rowsAlone(answer: unknown): unknown {
  const first = Array.isArray(answer) ? (answer[0] as unknown) : undefined;
  if (Array.isArray(first)) return first;
  return typeof first === 'object' && first !== null && 'affectedRows' in first ? [] : answer;
}

/**
 * Writes values into statements as hexadecimal digits. These mean the same in every mode and character set of a server,
 * cannot be mistaken for SQL, and let several statements travel together, which prepared statements do not.
 *
 * The text of a statement with its values, as it is sent.
 */
export function inline({ text, values }: Sql): string {
  let at = 0;
  return text.replaceAll('?', () => literal(values[at++]!));
}

/** A name that is known to consist of letters, digits and underscores. */
export const identifier = (name: string): Sql => raw(`\`${name}\``);

function literal(value: SqlValue): string {
  if (typeof value === 'string') return `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`;
  return Buffer.isBuffer(value) ? `X'${value.toString('hex')}'` : String(value);
}
