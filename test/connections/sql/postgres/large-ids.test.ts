import { describeLargeIds, LARGE } from '../server/large-ids';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

describeLargeIds(world, (table) => `ALTER SEQUENCE "${table}_id_seq" RESTART WITH ${LARGE}`);
