/** What hooks are told. */
import type { JobContext } from './job-context';

export interface BeforeEvent {
  readonly connectionName: string;
  readonly job: JobContext;
}
export interface AfterEvent {
  readonly connectionName: string;
  readonly job: JobContext;
}
export interface ExceptionEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  readonly exception: Error;
}
export type FailingEvent = ExceptionEvent;
export interface CancelledEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  /** What was given to `Queue.cancel(id, { reason })`. */
  readonly reason: string | undefined;
}
export interface ReleasedEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  /** Seconds until it is ready again. */
  readonly delay: number;
  /** What its attempt failed with, or why it was given back; undefined: it has said so itself. */
  readonly exception: Error | undefined;
}
export interface AttemptedEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  /** What the attempt failed with, or the worker gave it back for. */
  readonly exception: Error | undefined;
}
export interface QueueingEvent {
  readonly connectionName: string;
  readonly queue: string;
  /** The job's id; undefined for a raw payload that has none of its own. */
  readonly id: string | undefined;
  /** The job's name. */
  readonly name: string;
  /** The whole text, encoded. */
  readonly payload: string;
  /** Seconds until it becomes ready, or the moment; 0: at once. */
  readonly delay: number | Date;
}
export type QueuedEvent = QueueingEvent;
export interface StartingEvent {
  readonly connectionName: string;
  /** All queues, with commas. */
  readonly queue: string;
}
export type IdleEvent = StartingEvent;
export interface LostEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  /** How the run had ended, which the store refused. */
  readonly outcome: 'completed' | 'released' | 'failed' | 'cancelled';
}
export interface RecoveredEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  /** How often its workers have died or fallen silent under it, this time included. */
  readonly crashes: number;
  /** Seconds that the last one was silent before, at least: the lease. */
  readonly silence: number;
}
export interface LoopingEvent {
  readonly connectionName: string;
  readonly queue: string;
}
export interface StoppingEvent {
  readonly connectionName: string;
  readonly reason: string;
}

export interface HookEvents {
  queueing: QueueingEvent;
  queued: QueuedEvent;
  before: BeforeEvent;
  after: AfterEvent;
  exceptionOccurred: ExceptionEvent;
  failing: FailingEvent;
  released: ReleasedEvent;
  cancelled: CancelledEvent;
  lost: LostEvent;
  recovered: RecoveredEvent;
  attempted: AttemptedEvent;
  starting: StartingEvent;
  looping: LoopingEvent;
  idle: IdleEvent;
  stopping: StoppingEvent;
}
