import { describeLanes } from '../server/lanes';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests({ sameTables: true });

describeLanes(world, {
  async begin() {
    const client = await world.client();
    await client.query('BEGIN');
    return { client, commit: () => client.query('COMMIT') };
  },
});
