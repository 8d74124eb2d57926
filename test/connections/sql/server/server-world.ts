/** Connections to a test's own database server, each test on tables of its own, with a clock that the test moves on. */
import { systemClock } from '../../../../src/base/clock';
import type { SqlConnection } from '../../../../src/connections/sql/sql-connection';
import type { OpenContext } from '../../../../src/connections/sql/database-connection';
import type { DatabaseConfig } from '../../../../src/connections/sql/driver';
import { FaultyProxy } from '../../../faults/kit/faulty-proxy';
import { silent } from '../open-database';

export interface DatabaseServer {
  readonly port: number;
  readonly url: string;
  kill(): Promise<void>;
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

/** Of a user's, and of no use to us but for what both servers' know. */
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
  /** For people. */
  abstract readonly name: string;
  server!: Server;
  table = '';
  offset = 0;
  readonly #connections: SqlConnection[] = [];
  readonly #clients: Client[] = [];
  readonly #proxies: FaultyProxy[] = [];
  #reader: Promise<Client> | undefined;

  /** Starts the server before the tests of the file, gives each test tables of its own, and ends what it has opened. */
  forTests(): this {
    beforeAll(async () => {
      this.server = await this.start();
    });
    beforeEach(() => this.fresh());
    afterEach(() => this.closeAll());
    afterAll(() => this.server.stop());
    return this;
  }

  /** From here on other tables are meant, which are not made yet. */
  fresh(): void {
    this.table = `jobs_${++tables}`;
    this.offset = 0;
  }

  /** Its tables are made. */
  async open(config: Partial<DatabaseConfig> = {}, context: Partial<OpenContext> = {}): Promise<SqlConnection> {
    const connection = this.connect(config, context);
    await connection.migrations.run();
    return connection;
  }

  connect(config: Partial<DatabaseConfig> = {}, context: Partial<OpenContext> = {}): SqlConnection {
    const url = config.pool === undefined ? { url: this.server.url } : {};
    const connection = this.connected(
      { driver: 'database', ...url, ...config },
      {
        name: 'database',
        clock: systemClock,
        logger: silent,
        deadline: 5,
        offset: () => this.offset,
        table: this.table,
        ...context,
      },
    );
    this.#connections.push(connection);
    return connection;
  }

  /** A connection by way of a proxy that can lose the answers to one kind of call, or to what holds these words; its tables are made. */
  async openThrough(
    call: 'push' | 'exchange' | { readonly words: string },
    deadline = 5,
  ): Promise<{ readonly connection: SqlConnection; readonly proxy: FaultyProxy }> {
    const words = typeof call === 'string' ? this.wordsOf(call) : call.words;
    const proxy = await FaultyProxy.start(this.server.port, words);
    this.#proxies.push(proxy);
    return { connection: await this.open({ url: this.urlOf(proxy.port) }, { deadline }), proxy };
  }

  /** A client of a user's. */
  async client(): Promise<Client> {
    const client = await this.openClient();
    this.#clients.push(client);
    return client;
  }

  /** The rows that a statement gives to somebody else; a `?` in it stands for one of the values. */
  abstract rows(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;

  /** The client by which a test looks at rows: one, or a condition that is asked for again and again takes all that the server has. */
  protected reader(): Promise<Client> {
    this.#reader ??= this.client();
    return this.#reader;
  }

  async closeAll(): Promise<void> {
    this.#reader = undefined;
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
    await Promise.all(this.#clients.splice(0).map((client) => this.closeClient(client)));
    await Promise.all(this.#proxies.splice(0).map((proxy) => proxy.stop()));
  }

  /** Of the test's server where another port leads to it. */
  abstract urlOf(port: number): string;

  protected abstract start(): Promise<Server>;

  protected abstract connected(config: DatabaseConfig, context: OpenContext): SqlConnection;

  /** What stands in what such a call sends, also where it is sent again, and in nothing else. */
  protected abstract wordsOf(call: 'push' | 'exchange'): string;

  /** The server may be ended under it. */
  protected abstract openClient(): Promise<Client>;

  protected abstract closeClient(client: Client): Promise<void>;
}
