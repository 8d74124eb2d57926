/** Connections to a PostgreSQL for one test file. */
import { Client, Pool } from 'pg';
import { connectPostgres } from '../../../../src/connections/sql/postgres/connection';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import type { OpenContext } from '../../../../src/connections/sql/opening';
import type { DatabaseConfig } from '../../../../src/connections/sql/driver';
import { startPostgresServer, type PostgresServer, type PostgresServerOptions } from '../../../support/postgres-server';
import { ServerWorld, type Row } from '../server/server-world';

export class PostgresWorld extends ServerWorld<PostgresServer, Client> {
  readonly name = 'PostgreSQL';
  protected readonly schema = 'public';
  readonly #options: PostgresServerOptions;
  /** Its sessions prepare each function once for all tests. */
  #pool: Pool | undefined;

  constructor(options: PostgresServerOptions = {}) {
    super();
    this.#options = options;
  }

  async rows(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const client = await this.reader();
    let number = 0;
    const numbered = text.replaceAll('?', () => `$${++number}`);
    return (await client.query<Row>(numbered, [...values])).rows;
  }

  urlOf(port: number): string {
    return `postgres://onqueue@127.0.0.1:${port}/postgres`;
  }

  protected override place(): Partial<DatabaseConfig> {
    if (!this.sharesTables) return super.place();
    this.#pool ??= new Pool({ connectionString: this.server.url, max: 20 }).on('error', () => undefined);
    return { pool: this.#pool };
  }

  protected override async closeShared(): Promise<void> {
    await this.#pool?.end();
  }

  protected start(): Promise<PostgresServer> {
    return startPostgresServer(this.#options);
  }

  protected connected(config: DatabaseConfig, context: OpenContext): SqlConnection {
    return connectPostgres(config, context);
  }

  protected wordsOf(call: 'push' | 'exchange'): string {
    return call === 'push' ? '_push_' : '_exchange_';
  }

  protected async openClient(): Promise<Client> {
    const client = new Client({ connectionString: this.server.url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  protected async closeClient(client: Client): Promise<void> {
    await client.end().catch(() => undefined);
  }
}
