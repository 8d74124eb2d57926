/** Connections to a MariaDB for one test file. */
import { createConnection, type Connection, type QueryResult } from 'mysql2/promise';
import { connectMysql } from '../../../../src/connections/sql/mysql/connection';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import type { OpenContext } from '../../../../src/connections/sql/opening';
import type { DatabaseConfig } from '../../../../src/connections/sql/driver';
import { startMariadbServer, type MariadbServer, type MariadbServerOptions } from '../../../support/mariadb-server';
import { eventually } from '../../../support/eventually';
import { ServerWorld, type Row } from '../server/server-world';

export class MysqlWorld extends ServerWorld<MariadbServer, Connection> {
  readonly name = 'MariaDB';
  protected readonly schema = 'onqueue';
  readonly #options: MariadbServerOptions;

  constructor(options: MariadbServerOptions = {}) {
    super();
    this.#options = options;
  }

  async rows(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const client = await this.reader();
    const [rows] = await client.query<QueryResult>(text, [...values]);
    return rows as unknown as readonly Row[];
  }

  /** Whether a client waits for a locked row. `information_schema.innodb_lock_waits` is cached, so polling it does not help. */
  async untilSomebodyWaits(client: Connection): Promise<void> {
    await eventually(async () => {
      const [rows] = await client.query<QueryResult>("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'");
      return Number((rows as unknown as readonly { readonly Value: string }[])[0]?.Value) > 0;
    });
  }

  urlOf(port: number): string {
    return `mysql://onqueue:secret@127.0.0.1:${port}/onqueue`;
  }

  protected start(): Promise<MariadbServer> {
    return startMariadbServer(this.#options);
  }

  protected connected(config: DatabaseConfig, context: OpenContext): SqlConnection {
    return connectMysql(config, context);
  }

  protected wordsOf(call: 'push' | 'exchange'): string {
    return call === 'push' ? '_calls' : 'SELECT @onqueue_settled';
  }

  protected async openClient(): Promise<Connection> {
    const client = await createConnection({ uri: this.server.url, multipleStatements: true });
    client.on('error', () => undefined);
    return client;
  }

  protected async closeClient(client: Connection): Promise<void> {
    client.destroy();
  }
}
