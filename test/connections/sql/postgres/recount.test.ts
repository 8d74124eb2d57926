import { describeRecount } from '../server/recount';
import { PostgresWorld } from './open-postgres';

describeRecount(new PostgresWorld().forTests({ sameTables: true }));
