/** What a connection to a database server is made with, beside its configuration. */
import type { Seconds } from '../../../base/clock';
import type { DatabaseContext } from '../database-connection';

export interface ServerContext extends Omit<DatabaseContext, 'root'> {
  readonly deadline: Seconds;
  readonly table: string;
}
