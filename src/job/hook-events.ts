/** What hooks are told. */
import type { JobContext } from './job-context';

interface ConnectionEvent {
  readonly connectionName: string;
}

export interface BeforeEvent extends ConnectionEvent {
  readonly job: JobContext;
}
export type AfterEvent = BeforeEvent;
export interface ExceptionEvent extends BeforeEvent {
  readonly exception: Error;
}
export type FailingEvent = ExceptionEvent;
export interface CancelledEvent extends BeforeEvent {
  /** What was given to `Queue.cancel(id, { reason })`. */
  readonly reason: string | undefined;
}
export interface ReleasedEvent extends BeforeEvent {
  /** Seconds until it is ready again. */
  readonly delay: number;
  /** What its attempt failed with, or why it was given back; undefined: it has said so itself. */
  readonly exception: Error | undefined;
}
export interface AttemptedEvent extends BeforeEvent {
  /** What the attempt failed with, or the worker gave it back for. */
  readonly exception: Error | undefined;
}
export interface LostEvent extends BeforeEvent {
  /** How the run had ended, which the store refused. */
  readonly outcome: 'completed' | 'released' | 'failed' | 'cancelled';
}
export interface RecoveredEvent extends BeforeEvent {
  /** How often its workers have died or fallen silent under it, this time included. */
  readonly crashes: number;
  /** Seconds that the last one was silent before, at least: the lease. */
  readonly silence: number;
}
export interface QueueingEvent extends ConnectionEvent {
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
export interface StartingEvent extends ConnectionEvent {
  /** All queues, with commas. */
  readonly queue: string;
}
export type IdleEvent = StartingEvent;
export type LoopingEvent = StartingEvent;
export interface StoppingEvent extends ConnectionEvent {
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
