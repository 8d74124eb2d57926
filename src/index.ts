/** The public surface of Onqueue, and nothing else. */
// TypeScript 7 includes no types by default, and our types refer to those of Node.js.
/// <reference types="node" preserve="true" />
import './composition';
import { giveWay } from './copies';

export { OnqueueError } from './base/onqueue-error';
export {
  CapabilityError,
  ConnectionClosedError,
  DuplicatePayloadError,
  PayloadTooLargeError,
  QueueUnavailableError,
  type Unavailability,
} from './connections/errors';
export { ConfigurationError, type Mistake } from './application/errors';
export {
  AfterCommitError,
  AlreadyDispatchedError,
  BulkInterruptedError,
  type CommitFacts,
  type CommittedJob,
} from './dispatch/errors';
export { InvalidPayloadError, UnserializableValueError } from './payload/errors';
export type { EntityAdapter, EntityClass, EntityReference } from './payload/entities';
export {
  JobCancelledError,
  JobTimedOutError,
  LeaseLostError,
  MissingEntityError,
  WorkerStoppingError,
} from './worker/errors';

export { Job, type JobBase } from './job/job';
export type { JobInstance } from './job/definition';
export { Handles } from './job/handles';
export { type ListenerOf, type ListenerOptions, Listens } from './job/listens';
export { type Delay, type Duration, duration } from './job/duration';
export type { Backoff } from './job/backoff';
export type { JobOptions } from './job/options';
export type { JobFormat } from './job/format';
export type { DebounceOptions } from './job/debounce';
export type { MissedPolicy, OverlapPolicy, ScheduleOptions } from './job/schedule';
export type { UniqueOptions } from './job/unique';
export { type ChainedJob, type FailedLink, type JobBatch, JobContext, type Occurrence } from './job/job-context';
export type { BatchMember, BatchSource, PendingBatch } from './job/batch';
export type { Batch } from './dispatch/batch/batch';
export type { BatchCallbackJob } from './dispatch/batch/callbacks';
export type { BatchListOptions, BatchPlaceOptions, BatchPruneOptions, Batches } from './dispatch/batch/batches';
export type { ChainList, PendingChain } from './job/chain';
export type { DispatchResult, Outgoing, PendingDispatch, PendingEvent } from './job/dispatcher';
export type { Progress } from './job/progress';
export { Middleware } from './job/middleware';
export { type ErrorClass, failOn } from './job/fail-on';
export { type SkipCondition, skipIf, skipUnless } from './job/skip';

export { Inject } from './container/inject';
export { inject } from './container/scope';
export type { Container, NamedToken, Scope, Token } from './container/container';

export { Bus, dispatch, Events } from './application/bus';
export { JobBus } from './dispatch/bus';
export { type EmitterLike, EventBus, type EventClasses } from './dispatch/events';

export { Queue } from './application/queue';
export { QueueManager, type QueueEnvironment } from './application/queue-manager';
export {
  type FindOptions,
  type PauseOptions,
  QueueConnection,
  type QueuePause,
  type ResultOptions,
} from './dispatch/queue-connection';
export { JobFailedError } from './operations/errors';
export type { Attempt, AttemptOutcome, SourceLines } from './operations/history/attempt';
export type { FoundJob, FoundProgress } from './operations/found-job';
export type { HistoryConfig } from './operations/history/job-histories';
export type { JobPage, ListOptions } from './operations/job-page';
export type { JobState, ListedJob } from './operations/listed-job';
export type { ShownJob } from './operations/shown-job';
export type { QueueSnapshot, Snapshot, SnapshotOptions } from './operations/snapshot';
export type { RunningWorker, WorkersJob } from './operations/worker-record';
export { QueuePusher } from './dispatch/queue-pusher';
export { type Configuration, defineConfig } from './application/configuration/configuration';
export type { ConnectionConfig, Drivers, Size, StoreConfig } from './connections/driver';
export type { BeanstalkdConfig } from './connections/beanstalkd/driver';
export type { FailoverConfig } from './connections/failover/driver';
export type { MemoryConfig } from './connections/memory/driver';
export type { NullConfig } from './connections/null/driver';
export type { RedisConfig } from './connections/redis/driver';
export type { DatabaseConfig, DatabasePool } from './connections/sql/driver';
export type { SqsConfig, SqsCredentials, SqsPayload } from './connections/sqs/driver';
export type { SyncConfig } from './connections/sync/driver';
export type { DispatchingJob, DispatchObservation, EndedRun, Observer } from './connections/application';
export type {
  FigureOptions,
  Figures,
  JobFigures,
  QueueFigures,
  QueueSample,
  RunFigures,
  RunSpan,
} from './operations/figures/figures';
export type { Times } from './operations/figures/job-counts';
export type { LimitsByQueue, QueueLimit } from './operations/figures/queue-monitors';
export type { ErrorContext } from './connections/application';
export type { ErrorCallback } from './application/error-reports';
export type { PayloadCreator } from './dispatch/job-encoder';
export { builtInConnectors } from './connections/built-in';

export type { Connector, ConnectorContext } from './connections/driver';
export type {
  Buried,
  Capabilities,
  Connection,
  Counts,
  Diagnosis,
  Entry,
  Failure,
  FollowUp,
  Once,
  PeekedJob,
  PlacedJob,
  Pushed,
  RenewResult,
  Reservation,
  ReserveReply,
  SetAside,
  Settled,
  SettleResult,
  Settlement,
  StoreThread,
  ThreadAccess,
  WaitingState,
  Wanted,
} from './connections/contract';
export { polled } from './connections/kit/connection';
export { type DebounceTie, readTies, type TiedJob, type Ties, type UniqueTie } from './payload/ties';
export type { CancelOptions, CancelResult, Control, Pause } from './connections/contract';
export type { Migrations } from './connections/contract';
export type { FailedEntry, FailedStore } from './connections/failed-store';
export type { LockStore } from './connections/contract';
export type { RecordPage, RecordStore, StoreRecord, Sums } from './connections/record-store';
export {
  type Counters,
  hasId,
  noCounters,
  readCounters,
  readCountersOfAny,
  withCounters,
  withId,
} from './payload/counters';
export type { FailedFilter } from './application/failed/failed-filter';
export type { FailedJob } from './application/failed/failed-job';
export { FailedJobs, type FailedPlace } from './application/failed/failed-jobs';
export type { PendingSchedule, Weekday } from './schedule/pending-schedule';
export type {
  ComingOccurrence,
  DeclaredSchedule,
  OccurrencesOptions,
  ScheduleListing,
  Schedules,
} from './schedule/schedules';
export { Lock, LockTimeoutError } from './application/locks/lock';

export type {
  AfterEvent,
  AttemptedEvent,
  BeforeEvent,
  BusyEvent,
  CancelledEvent,
  ExceptionEvent,
  FailingEvent,
  IdleEvent,
  HookEvents,
  LoopingEvent,
  LostEvent,
  RecoveredEvent,
  QueuedEvent,
  SkippedEvent,
  QueueingEvent,
  ReleasedEvent,
  StartingEvent,
  StoppingEvent,
} from './job/hook-events';
export type { Hook, HookName } from './job/hooks';
export type { Logger, LogLevel } from './base/logger';
export type { JobRoute } from './dispatch/routes';
export { ConsoleLogger, silentLogger } from './base/console-logger';
export type { Clock } from './base/clock';

export { Worker } from './worker/worker';
export type { WorkerOptions } from './worker/worker-options';
export type { StopReason } from './worker/stop';
export type { OutcomeCounts, WorkerHealth, WorkerState } from './worker/health';

// Includes the types of `Queue.fake()`, for programs that import nothing else.
export type { FakeOptions, FakeQueue } from './testing/fake-queue';

giveWay('index', module);
