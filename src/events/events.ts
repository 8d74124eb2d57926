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
  looping: LoopingEvent;
  stopping: StoppingEvent;
}
