/** Jobs of a SQLite file that are held by their lanes. */
import { idOf, payload, reserve, TemporaryDatabase } from '../open-database';
import { laned } from '../server/lanes';
import { openSqlite } from '../../../../src/connections/sql/sqlite/engine';

const database = new TemporaryDatabase();

afterAll(() => database.dispose());

it('the next job of a lane comes in when jobs were removed by hand, once all others are held, or at a recount', async () => {
  const connection = database.connect();
  await connection.push('default', [laned('a'), laned('b'), laned('c')]);
  const file = openSqlite(database.file, 1000);
  file.exec('DELETE FROM jobs WHERE lane_order = 0');
  expect((await reserve(connection)).map(idOf)).toEqual(['b']);

  await connection.push('default', [{ payload: payload('plain') }]);
  file.exec('DELETE FROM jobs WHERE lane_order = 0');
  file.close();
  const crowded = { kind: 'crowded', queue: 'default', lane: 'a', inside: 1, found: 0 };
  expect(await connection.keys.recount({ repair: true })).toEqual([crowded]);
  expect((await reserve(connection)).map(idOf)).toEqual(['plain', 'c']);
});
