/** What hooks are told. */
import type { JobContext } from '../job/job-context';

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
}
export interface LostEvent {
  readonly connectionName: string;
  readonly job: JobContext;
  /** How the run had ended, which the store refused. */
  readonly outcome: 'completed' | 'released' | 'failed' | 'cancelled';
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
  before: BeforeEvent;
  after: AfterEvent;
  exceptionOccurred: ExceptionEvent;
  failing: FailingEvent;
  cancelled: CancelledEvent;
  lost: LostEvent;
  looping: LoopingEvent;
  stopping: StoppingEvent;
}
