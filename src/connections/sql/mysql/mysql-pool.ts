/**
 * The connections to one server: opened on demand, and set up as our statements need.
 *
 * We do not use mysql2's pool: its idle connections would keep the process alive, and connections that do not answer could
 * not be ended.
 */
import type { Milliseconds, Seconds } from '../../../base/clock';
import { inRootContext } from '../../application';
import type { SqlPool } from '../server/server-caller';
import type { MysqlConnection } from './mysql';
import { MysqlClient } from './mysql-session';
import { raw, sql } from '../statement';

export interface MysqlPoolOptions {
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
