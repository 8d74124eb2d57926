import { SqliteWaiter } from '../../../../src/connections/sql/sqlite/sqlite-waiter';
import { TemporaryDatabase } from '../open-database';

it('a connection keeps none of the waiters that are closed, worker after worker', async () => {
  const database = new TemporaryDatabase();
  const connection = database.connect();
  const closed = jest.spyOn(SqliteWaiter.prototype, 'close');
  await connection.waiter(['default']).close();
  connection.waiter(['default']);

  await database.dispose();

  // The one by itself, the other one with the connection.
  expect(closed).toHaveBeenCalledTimes(2);
});
