/** Our own drivers. Each is loaded when one of its connections is first used. */
import { beanstalkdDriver } from './beanstalkd/driver';
import { setDrivers, type Connectors } from './driver';
import { failoverDriver } from './failover/driver';
import { memoryDriver } from './memory/driver';
import { nullDriver } from './null/driver';
import { redisDriver } from './redis/driver';
import { databaseDriver } from './sql/driver';
import { sqsDriver } from './sqs/driver';
import { syncDriver } from './sync/driver';

/** In the order used in messages and the documentation. */
export const drivers = [
  redisDriver,
  databaseDriver,
  beanstalkdDriver,
  sqsDriver,
  memoryDriver,
  syncDriver,
  nullDriver,
  failoverDriver,
] as const;

setDrivers(drivers);

/** What makes the connections of each driver that comes with Onqueue: for a `QueueManager` of your own. */
export const builtInConnectors = Object.fromEntries(drivers.map(({ name, connect }) => [name, connect])) as Connectors;
