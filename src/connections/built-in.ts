/** Our own drivers. Each is loaded when a connection of it is first used: nobody pays for a client that is not asked for. */
import type { Connector, Connectors } from './connector';

/* oxlint-disable typescript/no-require-imports, typescript/consistent-type-imports -- a static import would load every driver with the package */
export const builtInConnectors: Connectors = {
  redis: lazy(() => (require('./redis/redis-connection') as typeof import('./redis/redis-connection')).connectRedis),
  database: lazy(
    () => (require('./sql/database-connection') as typeof import('./sql/database-connection')).connectDatabase,
  ),
  beanstalkd: lazy(
    () =>
      (require('./beanstalkd/beanstalkd-connection') as typeof import('./beanstalkd/beanstalkd-connection'))
        .connectBeanstalkd,
  ),
  sqs: lazy(() => (require('./sqs/sqs-connection') as typeof import('./sqs/sqs-connection')).connectSqs),
  memory: lazy(
    () => (require('./memory/memory-connection') as typeof import('./memory/memory-connection')).connectMemory,
  ),
  failover: lazy(
    () =>
      (require('./failover/failover-connection') as typeof import('./failover/failover-connection')).connectFailover,
  ),
  sync: lazy(() => (require('./sync/sync-connection') as typeof import('./sync/sync-connection')).connectSync),
  null: lazy(() => (require('./null/null-connection') as typeof import('./null/null-connection')).connectNull),
};

function lazy<Config>(load: () => Connector<Config>): Connector<Config> {
  return (config, context) => load()(config, context);
}
