import { describeServerOperations } from '../server/operations';
import { MysqlWorld } from './open-mysql';

describeServerOperations(new MysqlWorld().forTests({ sameTables: true }));
