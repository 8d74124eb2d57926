/** Recounts of batches in a file from which rows were removed by hand. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { reserve, TemporaryDatabase } from '../open-database';
import { begin, completed, counted, member, newBatch, sent } from '../server/batches';
import { settleIn } from '../../../support/exchange';

const repair = { repair: true };
let database: TemporaryDatabase;
let connection: SqlConnection;

beforeEach(() => {
  database = new TemporaryDatabase();
  connection = database.connect();
});

afterEach(() => database.dispose());

/** Runs statements on the file like another program. */
function alter(text: string): void {
  const Libsql = require('libsql') as new (file: string) => { exec(text: string): void; close(): void };
  const handle = new Libsql(database.file);
  handle.exec(text);
  handle.close();
}

describe('a batch in a SQLite file', () => {
  it('whose rows were removed is counted again, and the missing jobs count as skipped', async () => {
    await begin(connection, ['a', 'b', 'c']);
    await begin(connection, ['d'], newBatch('other'));
    alter("DELETE FROM jobs WHERE uuid = 'b'");
    const found = [{ kind: 'miscounted', batch: 'batch', pending: 3, found: 2 }];
    expect(await connection.keys.recount!({ repair: false })).toEqual(found);
    expect(await counted(connection)).toEqual([3, 0, 0, 0]);
    expect(await connection.keys.recount!(repair)).toEqual(found);
    expect(await counted(connection)).toEqual([2, 0, 0, 1]);
    expect(await counted(connection, 'other')).toEqual([1, 0, 0, 0]);
    expect(await connection.keys.recount!(repair)).toEqual([]);
  });

  it('with no jobs left finishes and sends its callbacks once', async () => {
    await begin(connection, ['a', 'b']);
    await settleIn(connection, (await reserve(connection, { limit: 1 })).map(completed));
    alter("DELETE FROM jobs WHERE queue = 'default'");
    await connection.keys.recount!(repair);
    await connection.keys.recount!(repair);
    expect(await counted(connection)).toEqual([0, 1, 0, 1]);
    expect(await sent(connection)).toEqual(['finally-batch', 'next-batch']);
  });

  it('whose rows were restored counts them again', async () => {
    await begin(connection, ['a', 'b', 'c']);
    alter("CREATE TABLE kept AS SELECT * FROM jobs; DELETE FROM jobs WHERE uuid <> 'c'");
    await connection.keys.recount!(repair);
    alter('UPDATE kept SET id = id + 100; INSERT INTO jobs SELECT * FROM kept; DROP TABLE kept');
    expect(await connection.keys.recount!(repair)).toEqual([
      { kind: 'miscounted', batch: 'batch', pending: 1, found: 4 },
    ]);
    expect(await counted(connection)).toEqual([4, 0, 0, 0]);
  });

  it('is counted in pieces, between which the event loop runs', async () => {
    await connection.push('default', [{ payload: '{"job":"plain","id":"p","attempts":0}' }]);
    alter(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60000)
        INSERT INTO jobs (queue, payload, attempts, available_at, created_at) SELECT 'default', '{}', 0, 1, 1 FROM numbers`,
    );
    let turns = 0;
    let next = setImmediate(function turn() {
      turns += 1;
      next = setImmediate(turn);
    });
    expect(await connection.keys.recount!(repair)).toEqual([]);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(0);
  });

  it('with many ready, delayed and reserved jobs is found sound, even beside batches without jobs', async () => {
    await connection.push('default', [], newBatch('batch', { openFor: 60 }));
    for (let page = 0; page < 25; page += 1) {
      const entries = Array.from({ length: 100 }, (_, n) => ({ ...member(`job-${page * 100 + n}`), delay: page * 60 }));
      await connection.push('default', entries);
    }
    await settleIn(connection, (await reserve(connection, { limit: 50 })).slice(0, 20).map(completed));
    await connection.push('default', [{ payload: '{"job":"plain","id":"p","attempts":0}', delay: 60 }]);
    expect(await connection.keys.recount!(repair)).toEqual([]);
    alter("DELETE FROM jobs WHERE uuid = 'job-2400'");
    expect(await connection.keys.recount!(repair)).toEqual([
      { kind: 'miscounted', batch: 'batch', pending: 2480, found: 2479 },
    ]);
  });
});
