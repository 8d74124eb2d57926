/** Connections to SQLite files in a folder that is removed after the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock';
import { connectDatabase, type DatabaseContext } from '../../../src/connections/sql/opening';
import type { SqlConnection } from '../../../src/connections/sql/connection';
import type { Logger } from '../../../src/base/logger';
import type { DatabaseConfig } from '../../../src/connections/sql/driver';
import type { Connection, Reservation, Wanted } from '../../../src/connections/contract';
import { reserveFrom } from '../../support/exchange';

export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class TemporaryDatabase {
  readonly folder = mkdtempSync(join(tmpdir(), 'onqueue-'));
  readonly file = join(this.folder, 'onqueue.sqlite');
  readonly #connections: SqlConnection[] = [];

  connect(config: Partial<DatabaseConfig> = {}, context: Partial<DatabaseContext> = {}): SqlConnection {
    const connection = connectDatabase(
      { driver: 'database', url: `sqlite:${this.file}`, ...config },
      { name: 'database', clock: systemClock, logger: silent, deadline: 60, root: this.folder, ...context },
    );
    this.#connections.push(connection);
    return connection;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    rmSync(this.folder, { recursive: true });
  }
}

export const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;

export const idOf = (job: { readonly payload: Buffer }): unknown =>
  (JSON.parse(job.payload.toString()) as { id?: unknown }).id;

export async function reserve(connection: Connection, request: Partial<Wanted> = {}): Promise<readonly Reservation[]> {
  const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 100, lease: 60, ...request });
  return reservations;
}
