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
export { InvalidPayloadError, MissingEntityError, UnserializableValueError } from './payload/errors';
export type { EncryptionConfig } from './payload/vault';
export type { EntityAdapter, EntityClass, EntityReference } from './payload/entities';
export { JobCancelledError, JobTimedOutError, LeaseLostError, WorkerStoppingError } from './worker/errors';

export { Job, type JobBase } from './job/job';
export type { JobInstance } from './job/registry';
export { Handles, type ListenerOf, type ListenerOptions, Listens } from './job/declare';
export { type Backoff, type Delay, type Duration, duration } from './job/duration';
export type {
  DebounceOptions,
  JobFormat,
  JobOptions,
  MissedPolicy,
  OverlapPolicy,
  ScheduleOptions,
  UniqueOptions,
} from './job/options';
export type { TogetherOptions } from './job/together';
export {
  type BatchMember,
  type BatchSource,
  type ChainedJob,
  type ChainList,
  type FailedLink,
  type JobBatch,
  JobContext,
  type Occurrence,
  type Progress,
} from './job/job-context';
export type {
  DispatchResult,
  Outgoing,
  PendingBatch,
  PendingChain,
  PendingDispatch,
  PendingEvent,
} from './job/pending';
export type { Batch, Batches, BatchListOptions, BatchPlaceOptions, BatchPruneOptions } from './dispatch/batch/batch';
export type { BatchCallbackJob } from './dispatch/batch/members';
export {
  type ErrorClass,
  type ErrorTest,
  failOn,
  Middleware,
  type SkipCondition,
  skipIf,
  skipUnless,
} from './job/middleware';

export { Inject, type NamedToken } from './container/parameters';
export { deferOn } from './limits/deferral';
export { type Rate, rateLimited, type Rates } from './limits/rate-limited';
export { throttleExceptions, type ThrottleOptions } from './limits/throttle-exceptions';
export { type OverlapOptions, withoutOverlapping } from './limits/without-overlapping';

export { type Container, inject, type OpeningRun, type RunContainer, type Scope, type Token } from './container/scope';

export { Bus, dispatch, Events } from './application/default-manager';
export { JobBus } from './dispatch/bus';
export { type EmitterLike, EventBus, type EventClasses } from './dispatch/events';

export { Queue } from './application/queue';
export { QueueManager, type QueueEnvironment } from './application/queue-manager';
export {
  type CancelOptions,
  type FindOptions,
  type PauseOptions,
  QueueConnection,
  type QueuePause,
  QueuePusher,
  type ResultOptions,
  type RevealOption,
} from './dispatch/queue-connection';
export { type LaneList, type LaneListOptions, QueueLane } from './dispatch/queue-lane';
export { JobFailedError } from './operations/errors';
export type { Attempt, AttemptOutcome, SourceLines } from './operations/history/attempt';
export type { LogLine } from './operations/history/lines';
export type { FoundStep } from './operations/checkpoints';
export type {
  JobCancelled,
  JobCompleted,
  JobEvent,
  JobFailed,
  JobProgressed,
  JobReleased,
  JobStarted,
} from './operations/events/job-event';
export type { EventsOptions } from './operations/events/job-events';
export type { FoundJob, FoundProgress, JobPage, ListOptions } from './operations/found-job';
export type { JobState, ListedJob, ListedState, ShownJob } from './operations/listed-job';
export type { QueueSnapshot, Snapshot, SnapshotOptions } from './operations/snapshot';
export type { RunningWorker, WorkersJob } from './operations/worker-record';
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
export type { Times } from './operations/figures/job-counters';
export type { LimitsByQueue, QueueLimit } from './operations/figures/queue-sampler';
export type { ErrorContext, HistoryConfig } from './connections/application';
export type { ErrorCallback } from './application/error-reports';
export type { PayloadCreator } from './dispatch/job-encoder';
export type { JobRoute } from './dispatch/routes';
export { builtInConnectors } from './connections/built-in';

export type { Connector, ConnectorContext } from './connections/driver';
export type {
  AtOnce,
  Buried,
  Capabilities,
  Connection,
  Counts,
  Diagnosis,
  Entry,
  Failure,
  FollowUp,
  LaneChange,
  LanePage,
  LaneState,
  LaneStore,
  KeyStore,
  Once,
  PageToPush,
  PeekedJob,
  PlacedJob,
  Pushed,
  PushedOnce,
  Queues,
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
export { type DebounceTie, type LaneTie, readTies, type TiedJob, type Ties, type UniqueTie } from './payload/ties';
export type { CancelResult, Control, Pause, RunningLimit, RescheduleResult } from './connections/contract';
export type { Migrations } from './connections/contract';
export type { FailedEntry, FailedStore } from './connections/failed-store';
export type { LockStore } from './connections/lock-store';
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
export type { FailedFilter, FailedJob } from './application/failed/failed-filter';
export { FailedJobs, type FailedPlace } from './application/failed/failed-jobs';
export type { PendingSchedule, Weekday } from './schedule/schedule';
export type {
  ComingOccurrence,
  DeclaredSchedule,
  OccurrencesOptions,
  ScheduleListing,
  Schedules,
} from './schedule/schedules';
export type { StoredScheduleOptions } from './schedule/stored-schedules';
export { Lock, LockTimeoutError } from './application/lock';

export type {
  AfterEvent,
  AttemptedEvent,
  BeforeEvent,
  BusyEvent,
  CancelledEvent,
  ExceptionEvent,
  FailingEvent,
  Hook,
  HookEvents,
  HookName,
  IdleEvent,
  LoopingEvent,
  LostEvent,
  QueuedEvent,
  QueueingEvent,
  RecoveredEvent,
  ReleasedEvent,
  SkippedEvent,
  StartingEvent,
  StoppingEvent,
} from './job/hooks';
export { ConsoleLogger, type Logger, type LogLevel, silentLogger } from './base/logger';
export type { Clock } from './base/clock';

export { Worker } from './worker/worker';
export type { WorkerOptions } from './worker/worker-options';
export type { StopReason } from './worker/stop';
export type { OutcomeCounts, WorkerHealth, WorkerState } from './worker/health';

// Includes the types of `Queue.fake()`, for programs that import nothing else.
export type { FakeOptions, FakeQueue } from './testing/fake-queue';

giveWay('index', module);
