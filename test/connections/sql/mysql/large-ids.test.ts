import { describeLargeIds, LARGE } from '../server/large-ids';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests();

describeLargeIds(world, (table) => `ALTER TABLE ${table} AUTO_INCREMENT = ${LARGE}`);
