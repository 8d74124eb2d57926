import { describeRecount } from '../server/recount';
import { MysqlWorld } from './open-mysql';

describeRecount(new MysqlWorld().forTests({ sameTables: true }));
