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
export interface SkippedEvent extends ConnectionEvent {
  readonly queue: string;
  /** The id of the job that does not run: the one that it would have had, or that it was queued with. */
  readonly id: string;
  /** The job's name. */
  readonly name: string;
  /** The id of the job that runs in its place: it holds its key, or has taken its place. */
  readonly of: string;
  /** `duplicate`: it did not go into its queue. `replaced`: it was queued, and is there no more. */
  readonly reason: 'duplicate' | 'replaced';
}
export interface StartingEvent extends ConnectionEvent {
  /** All queues, with commas. */
  readonly queue: string;
}
export type IdleEvent = StartingEvent;
export type LoopingEvent = StartingEvent;
export interface BusyEvent extends ConnectionEvent {
  readonly queue: string;
  /** Jobs that are ready. */
  readonly size: number;
  /** Seconds that the oldest of them has waited; undefined: none is ready, or nobody knows. */
  readonly wait: number | undefined;
  /** What `Queue.monitor` was given, `wait` in seconds. */
  readonly limit: { readonly size?: number | undefined; readonly wait?: number | undefined };
}
export interface StoppingEvent extends ConnectionEvent {
  readonly reason: string;
}

/**
 * By the names of the hooks, each of which is a method of `Queue`. They are called in the order of registration, and may be
 * async; the method gives the function that takes the hook off again.
 */
export interface HookEvents {
  /** Before a job goes into its queue; not of one that follows another in a chain. */
  queueing: QueueingEvent;
  /** When the store has confirmed that a job is in its queue. */
  queued: QueuedEvent;
  /** When a unique job did not go into its queue, for another one holds its key; and when another one took the place of a debounced job. */
  skipped: SkippedEvent;
  /** Before a job runs. */
  before: BeforeEvent;
  /** After a job was completed, once the store has confirmed it. */
  after: AfterEvent;
  /** After an attempt threw, before its outcome is stored. */
  exceptionOccurred: ExceptionEvent;
  /** After a job failed for good, once the store has confirmed it. */
  failing: FailingEvent;
  /** After a job went back to its queue, once the store has confirmed it: it said so, its attempt failed, or its worker gave it back. */
  released: ReleasedEvent;
  /** After a job ended as cancelled, once the store has confirmed it. */
  cancelled: CancelledEvent;
  /** When the store refused an outcome: somebody else has the job, or it is gone. */
  lost: LostEvent;
  /** When a worker takes a job over from one that died or fell silent, before it runs; once for each worker and crash. */
  recovered: RecoveredEvent;
  /** After each attempt, whatever it has come to, once the store has confirmed it, and behind all other hooks of the job. */
  attempted: AttemptedEvent;
  /** When a worker starts, before it reserves. */
  starting: StartingEvent;
  /** Before a worker reserves; `false` vetoes it. */
  looping: LoopingEvent;
  /** When a worker has nothing to do: once, until it has run a job again. */
  idle: IdleEvent;
  /** When a queue is longer or slower than `Queue.monitor` allows: in one of the processes, when it begins, and each hour while it lasts. */
  busy: BusyEvent;
  /** When a worker stops. */
  stopping: StoppingEvent;
}

const NAMES: { readonly [Name in keyof HookEvents]: true } = {
  queueing: true,
  queued: true,
  skipped: true,
  before: true,
  after: true,
  exceptionOccurred: true,
  failing: true,
  released: true,
  cancelled: true,
  lost: true,
  recovered: true,
  attempted: true,
  starting: true,
  looping: true,
  idle: true,
  busy: true,
  stopping: true,
};

export const HOOK_NAMES = Object.keys(NAMES) as (keyof HookEvents)[];
