/** The public surface of Onqueue, and nothing else. */
// TypeScript 7 takes in no types by itself, and ours speak of those of Node.js.
/// <reference types="node" preserve="true" />
import './composition';
import { giveWay } from './copies';

export { OnqueueError } from './errors/onqueue-error';
export * from './bus/errors';
export * from './connections/errors';
export * from './container/errors';
export * from './events/errors';
export * from './failed/errors';
export * from './job/errors';
export * from './locks/errors';
export * from './payload/errors';
export * from './queue/errors';
export * from './queue/transaction/errors';
export * from './worker/errors';

export { Job, type JobBase } from './job/job';
export type { JobInstance } from './job/definition';
export { Handles } from './job/handles';
export { type Delay, type Duration, duration } from './job/duration';
export type { Backoff, JobOptions } from './job/options';
export { JobContext } from './job/job-context';
export type { PendingDispatch } from './job/dispatcher';
export { Middleware } from './middleware/middleware';

export { Inject } from './container/inject';
export { inject } from './container/scope';
export type { Container, NamedToken, Scope, Token } from './container/container';

export { Bus, dispatch, JobBus } from './bus/bus';

export { Queue } from './queue/queue';
export { QueueManager, type QueueEnvironment } from './queue/queue-manager';
export { type PauseOptions, QueueConnection, type QueuePause } from './queue/queue-connection';
export { QueuePusher } from './queue/queue-pusher';
export {
  type BeanstalkdConfig,
  type Configuration,
  type ConnectionConfig,
  type DatabaseConfig,
  type DatabasePool,
  defineConfig,
  type Drivers,
  type FailoverConfig,
  type MemoryConfig,
  type NullConfig,
  type RedisConfig,
  type SqsConfig,
  type SqsCredentials,
  type SqsPayload,
  type StoreConfig,
  type SyncConfig,
} from './queue/configuration';
export type { ErrorContext } from './queue/application';
export type { ErrorCallback } from './queue/error-reports';
export type { PayloadCreator } from './queue/job-encoder';
export type { Size } from './queue/payload-size';
export { builtInConnectors } from './connections/built-in';

export type { Connector, ConnectorContext } from './queue/connector';
export type * from './queue/connection';
export type * from './queue/control';
export type { Pause } from './queue/pause';
export type { Migrations } from './queue/migrations';
export type { FailedEntry, FailedStore } from './failed/failed-store';
export type { LockStore } from './locks/lock-store';
export {
  type Counters,
  hasId,
  noCounters,
  readCounters,
  readCountersOfAny,
  withCounters,
  withId,
} from './payload/counters';
export type { FailedFilter } from './failed/failed-filter';
export { FailedJobs, type FailedJob, type FailedPlace } from './failed/failed-jobs';
export { Lock } from './locks/lock';

export type {
  AfterEvent,
  AttemptedEvent,
  BeforeEvent,
  CancelledEvent,
  ExceptionEvent,
  FailingEvent,
  IdleEvent,
  HookEvents,
  LoopingEvent,
  LostEvent,
  RecoveredEvent,
  QueuedEvent,
  QueueingEvent,
  ReleasedEvent,
  StartingEvent,
  StoppingEvent,
} from './events/events';
export type { Hook, HookName } from './events/hooks';
export type { Logger, LogLevel } from './logger/logger';
export type { JobRoute } from './queue/routes';
export { ConsoleLogger, silentLogger } from './logger/console-logger';
export type { Clock } from './clock/clock';

export { Worker } from './worker/worker';
export type { WorkerOptions } from './worker/worker-options';
export type { StopReason } from './worker/stop-conditions';
export type { OutcomeCounts, WorkerHealth, WorkerState } from './worker/health';

// Brings the types of `Queue.fake()` along, for those who import nothing else.
export type { FakeOptions, FakeQueue } from './testing/fake-queue';

giveWay('index', module);
