/**
 * The connections to one server: made when they are asked for, and told what our statements rely on.
 *
 * Not a pool of mysql2: its idle connections would keep a process alive, and those that do not answer cannot be ended.
 */
import type { Milliseconds, Seconds } from '../../../base/clock';
import type { SqlPool } from '../server/server-caller';
import type { MysqlConnection } from './mysql';
import { MysqlClient } from './mysql-session';
import { raw, sql } from '../statement';

export interface MysqlPoolOptions {
  readonly connect: () => MysqlConnection;
  /** The most connections. A call that finds all of them in use waits for one. */
  readonly most: number;
  /** Of a call. The server gives up on a locked row well before it. */
  readonly deadline: Seconds;
}

interface Pooled {
  readonly connection: MysqlConnection;
  /** Bytes that the server takes at once. */
  readonly limit: number;
}

interface Waiting {
  readonly resolve: (client: MysqlClient) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a connection that is closed waits for the server to hear it. */
const FAREWELL: Milliseconds = 1000;

export class MysqlPool implements SqlPool {
  readonly #options: MysqlPoolOptions;
  readonly #all = new Set<MysqlConnection>();
  readonly #idle: Pooled[] = [];
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
    const connections = [...this.#all];
    await Promise.all(connections.map((connection) => farewell(connection)));
    for (const connection of connections) this.#forget(connection);
  }

  #serve(): void {
    const idle = this.#idle.pop();
    if (idle === undefined && this.#all.size >= this.#options.most) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) {
      if (idle !== undefined) this.#idle.push(idle);
      return;
    }
    if (idle === undefined) {
      this.#open().then((pooled) => this.#lend(pooled, waiting), waiting.reject);
    } else {
      this.#lend(idle, waiting);
    }
  }

  #lend(pooled: Pooled, { resolve }: Waiting): void {
    const { connection, limit } = pooled;
    connection.stream.ref();
    const giveBack = (broken: boolean): void => {
      // An idle connection keeps no process alive.
      connection.stream.unref();
      if (broken || !this.#all.has(connection)) this.#forget(connection);
      else this.#idle.push(pooled);
      this.#serve();
    };
    resolve(new MysqlClient(connection, limit, giveBack));
  }

  async #open(): Promise<Pooled> {
    const connection = this.#options.connect();
    this.#all.add(connection);
    const forget = (): void => this.#forget(connection);
    // A connection may end while nobody uses it. Nothing is lost then.
    connection.on('error', forget);
    connection.on('end', forget);
    // Without this, a server that accepts a connection and never answers would keep its place in the pool for ever.
    connection.stream.setTimeout(this.#options.deadline * 1000, forget);
    try {
      await new Promise<void>((resolve, reject) => {
        connection.connect((error) => (error ? reject(error) : resolve()));
      });
      const limit = await this.#settingsOf(connection);
      connection.stream.setTimeout(0);
      return { connection, limit };
    } catch (error) {
      forget();
      this.#serve();
      throw error;
    }
  }

  /** Returns the bytes that the server takes at once. */
  async #settingsOf(connection: MysqlConnection): Promise<number> {
    const client = new MysqlClient(connection, Infinity, () => undefined);
    const patience = Math.max(Math.floor(this.#options.deadline / 3), 1);
    // No gaps in indexes are locked: a worker that looks for jobs never holds up a push.
    await client.run({ writes: [raw('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')] });
    const settings = sql`SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
        innodb_lock_wait_timeout = ${patience}, group_concat_max_len = 1000000`;
    await client.run({ writes: [settings] });
    const [limit] = await client.run({ writes: [raw('SELECT @@max_allowed_packet')] });
    return Number(limit?.rows[0]?.[0]);
  }

  #forget(connection: MysqlConnection): void {
    this.#all.delete(connection);
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index !== -1) this.#idle.splice(index, 1);
    // Not mysql2's own `destroy`, which waits for the other side.
    connection.stream.destroy();
  }
}

function farewell(connection: MysqlConnection): Promise<void> {
  return new Promise((resolve) => {
    connection.stream.ref().setTimeout(FAREWELL, resolve);
    connection.end(resolve);
  });
}
