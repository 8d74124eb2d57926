/** Our own drivers. Each is loaded when a connection of it is first used: nobody pays for a client that is not asked for. */
import type { ConnectorContext, Connectors } from './connector';
import type {
  BeanstalkdConfig,
  DatabaseConfig,
  FailoverConfig,
  MemoryConfig,
  NullConfig,
  RedisConfig,
  SqsConfig,
  SyncConfig,
} from './configs';

/* oxlint-disable typescript/no-require-imports, typescript/consistent-type-imports -- a static import would load every driver with the package */
export const builtInConnectors: Connectors = {
  redis: (config: RedisConfig, context: ConnectorContext) =>
    (require('./redis/redis-connection') as typeof import('./redis/redis-connection')).connectRedis(config, context),
  database: (config: DatabaseConfig, context: ConnectorContext) =>
    (require('./sql/database-connection') as typeof import('./sql/database-connection')).connectDatabase(
      config,
      context,
    ),
  memory: (config: MemoryConfig, context: ConnectorContext) =>
    (require('./memory/memory-connection') as typeof import('./memory/memory-connection')).connectMemory(
      config,
      context,
    ),
  sqs: (config: SqsConfig, context: ConnectorContext) =>
    (require('./sqs/sqs-connection') as typeof import('./sqs/sqs-connection')).connectSqs(config, context),
  beanstalkd: (config: BeanstalkdConfig, context: ConnectorContext) =>
    (
      require('./beanstalkd/beanstalkd-connection') as typeof import('./beanstalkd/beanstalkd-connection')
    ).connectBeanstalkd(config, context),
  failover: (config: FailoverConfig, context: ConnectorContext) =>
    (require('./failover/failover-connection') as typeof import('./failover/failover-connection')).connectFailover(
      config,
      context,
    ),
  sync: (config: SyncConfig, context: ConnectorContext) =>
    (require('./sync/sync-connection') as typeof import('./sync/sync-connection')).connectSync(config, context),
  null: (config: NullConfig, context: ConnectorContext) =>
    (require('./null/null-connection') as typeof import('./null/null-connection')).connectNull(config, context),
};
