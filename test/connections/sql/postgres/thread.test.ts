import { open } from '../../../../src/connections/sql/opening';
import { PostgresWorld } from './open-postgres';
import { reserveFrom } from '../../../support/exchange';

const world = new PostgresWorld().forTests();

it('the thread that renews leases uses two connections to a server, however many workers renew at once', async () => {
  const connection = await world.open();
  await connection.push(
    'default',
    Array.from({ length: 20 }, (_, place) => ({ payload: `{"id":"${place}","attempts":0}` })),
  );
  const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 20, lease: 60 });
  const options = { application_name: 'leases', max: 10 };
  const { name, url, table } = { name: 'database', url: world.server.url, table: world.table };
  const thread = open({ name, url, table, options, deadline: 60, origin: undefined }, 60);

  const answers = await Promise.all(reservations.map((reservation) => thread.renew([reservation], 60)));

  expect(answers.flat()).toEqual(reservations.map(() => 'renewed'));
  const [row] = await world.rows(
    `select count(*)::int as open from pg_stat_activity where application_name = 'leases'`,
  );
  expect(row).toEqual({ open: 2 });
  await thread.close();
});
