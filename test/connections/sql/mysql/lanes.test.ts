import { describeLanes } from '../server/lanes';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests();

describeLanes(world, {
  async begin() {
    const client = await world.client();
    await client.query('BEGIN');
    return { client, commit: () => client.query('COMMIT') };
  },
});
