/** Connections to a database server for one test file, with tables for each test and a clock that the test can move. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import type { OpenContext } from '../../../../src/connections/sql/opening';
import type { DatabaseConfig } from '../../../../src/connections/sql/driver';
import { FaultyProxy } from '../../../faults/kit/faulty-proxy';
import { eventually } from '../../../support/eventually';
import { MovedClock } from '../../../support/moved-clock';
import { silent } from '../open-database';

export interface DatabaseServer {
  readonly port: number;
  readonly url: string;
  kill(): Promise<void>;
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

/** The client of a user, with the methods that the clients of both servers have. */
export interface UserClient {
  query(text: string): Promise<unknown>;
}

export type Row = Readonly<Record<string, unknown>>;

let tables = 0;

/** One server for a test file. */
export abstract class ServerWorld<
  Server extends DatabaseServer = DatabaseServer,
  Client extends UserClient = UserClient,
> {
  /** For the names of tests. */
  abstract readonly name: string;
  server!: Server;
  table = '';
  offset = 0;
  /** Passes the deadlines of connections. The server has a clock of its own, see `offset`. */
  readonly clock = new MovedClock();
  readonly #connections: SqlConnection[] = [];
  readonly #clients: Client[] = [];
  readonly #proxies: FaultyProxy[] = [];
  #reader: Promise<Client> | undefined;
  protected sharesTables = false;
  #made: readonly Row[] = [];

  /**
   * Starts the server before the tests of the file, gives each test its own tables, and closes what it has opened.
   *
   * @param sameTables the tests use one set of tables, which is emptied after each of them: making tables takes longer than most tests. Not
   *   for those that alter tables or change the user's rights
   */
  forTests({ sameTables = false } = {}): this {
    this.sharesTables = sameTables;
    beforeAll(async () => {
      this.server = await this.start();
    });
    beforeEach(() => this.fresh());
    afterEach(async () => {
      await this.closeAll();
      if (sameTables) await this.#empty();
    });
    afterAll(async () => {
      await this.closeShared();
      if (sameTables && this.#reader !== undefined) await this.closeClient(await this.#reader);
      await this.server.stop();
    });
    return this;
  }

  /** Switches to other tables, which are not made yet. */
  fresh(): void {
    this.table = this.sharesTables ? 'jobs' : `jobs_${++tables}`;
    this.offset = 0;
  }

  async #empty(): Promise<void> {
    if (this.#made.length === 0) {
      this.#made = await this.rows(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ? AND table_name LIKE '%jobs%'",
        [this.schema],
      );
    }
    for (const { name } of this.#made) await this.rows(`DELETE FROM ${String(name)}`);
  }

  /** Opens a connection whose tables are made. */
  async open(config: Partial<DatabaseConfig> = {}, context: Partial<OpenContext> = {}): Promise<SqlConnection> {
    const connection = this.connect(config, context);
    await connection.migrations.run();
    return connection;
  }

  connect(config: Partial<DatabaseConfig> = {}, context: Partial<OpenContext> = {}): SqlConnection {
    const connection = this.connected(
      { driver: 'database', ...(config.pool === undefined && config.url === undefined && this.place()), ...config },
      {
        name: 'database',
        clock: this.clock,
        logger: silent,
        deadline: 60,
        offset: () => this.offset,
        table: this.table,
        ...context,
      },
    );
    this.#connections.push(connection);
    return connection;
  }

  /** A connection through a proxy that can lose the answers to one kind of call, or to calls with these words. Its tables are made. */
  async openThrough(
    call: 'push' | 'exchange' | { readonly words: string },
    deadline = 60,
  ): Promise<{ readonly connection: SqlConnection; readonly proxy: FaultyProxy }> {
    const words = typeof call === 'string' ? this.wordsOf(call) : call.words;
    const proxy = await FaultyProxy.start(this.server.port, words);
    this.#proxies.push(proxy);
    return { connection: await this.open({ url: this.urlOf(proxy.port) }, { deadline }), proxy };
  }

  /** Lets the deadline of calls pass all of whose answers the proxy loses, once it has lost as many as there are calls. */
  async inVain<Results>(proxy: FaultyProxy, start: () => Promise<Results>, calls = 1): Promise<Results> {
    proxy.loseReplies(Infinity);
    const started = start();
    started.catch(() => undefined);
    await eventually(() => proxy.lost >= calls, { of: 'a lost answer' });
    return this.clock.passing(started).finally(() => proxy.loseReplies(0));
  }

  /** The client of a user. */
  async client(): Promise<Client> {
    const client = await this.openClient();
    this.#clients.push(client);
    return client;
  }

  /** The rows that a statement returns to another client. A `?` in it stands for a value. */
  abstract rows(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;

  /** The client with which a test looks at rows. It is shared, because polling a condition would use up all connections. */
  protected reader(): Promise<Client> {
    this.#reader ??= this.sharesTables ? this.openClient() : this.client();
    return this.#reader;
  }

  async closeAll(): Promise<void> {
    if (!this.sharesTables) this.#reader = undefined;
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
    await Promise.all(this.#clients.splice(0).map((client) => this.closeClient(client)));
    await Promise.all(this.#proxies.splice(0).map((proxy) => proxy.stop()));
  }

  /** The address of the test's server through another port. */
  abstract urlOf(port: number): string;

  /** Where the tables are, as `information_schema` names it. */
  protected abstract readonly schema: string;

  /** What a test's connection leads to, if the test says nothing else. */
  protected place(): Partial<DatabaseConfig> {
    return { url: this.server.url };
  }

  protected async closeShared(): Promise<void> {}

  protected abstract start(): Promise<Server>;

  protected abstract connected(config: DatabaseConfig, context: OpenContext): SqlConnection;

  /** Words that only such a call sends, even when it is repeated. */
  protected abstract wordsOf(call: 'push' | 'exchange'): string;

  /** A client that survives the end of the server. */
  protected abstract openClient(): Promise<Client>;

  protected abstract closeClient(client: Client): Promise<void>;
}
