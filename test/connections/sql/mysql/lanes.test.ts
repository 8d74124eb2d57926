import { settleIn } from '../../../support/exchange';
import { reserve } from '../open-database';
import { describeLanes, laned } from '../server/lanes';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests({ sameTables: true });

describeLanes(world, {
  async begin() {
    const client = await world.client();
    await client.query('BEGIN');
    return { client, commit: () => client.query('COMMIT') };
  },
});

it('the end of a job that has waited for its lane counts what others have done meanwhile', async () => {
  const two = { running: 2 };
  const connection = await world.open();
  for (const id of ['a', 'b', 'c']) await connection.push('default', [laned(id, two)]);
  const [a] = await reserve(connection);
  const { table } = world;
  const client = await world.client();
  await client.query('BEGIN');
  await client.query(`SELECT lane FROM ${table}_lanes WHERE queue = 'default' FOR UPDATE`);

  const ending = settleIn(connection, [{ outcome: 'completed', reservation: a! }]);
  await world.untilSomebodyWaits(client);
  await client.query(
    `INSERT INTO ${table} (queue, payload, attempts, available_at, created_at, place, lane, lane_limit, lane_order)
     VALUES ('default', '${laned('d', two).payload}', 0, 0, 0, 1000, 'a', 2, 0)`,
  );
  await client.query('COMMIT');
  await ending;

  // A count of before would have let in c as well.
  expect((await connection.lanes.list('default')).lanes).toMatchObject([{ inside: 2, held: 1 }]);
});
