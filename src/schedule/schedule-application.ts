/** What schedules need of their application; a `QueueManager` is one. */
import type { Random } from '../base/random';
import type { Connection } from '../connections/contract';
import type { DispatchApplication } from '../dispatch/dispatch-application';
import type { OperationsConnection } from '../operations/operations-connection';

export interface ScheduleApplication extends DispatchApplication {
  readonly random: Random;
  readonly defaultConnection: string;
  /** The connection that keeps the records of this one. @throws E_NO_RECORDS */
  neededOperationsOf(connection: Connection): OperationsConnection;
}
