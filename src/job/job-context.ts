/** The running reservation, as a job, a handler or a middleware sees it. */
import type { BatchMember, BatchSource } from './batch';
import type { Delay } from './duration';

/** A job that is to follow. */
export interface ChainedJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly connection: string;
}

export interface FailedLink {
  readonly id: string;
  readonly name: string;
  /** Of the error that it failed with. */
  readonly message: string;
}

/** What a schedule has sent a job for. */
export interface Occurrence {
  /** The name of the schedule. */
  readonly schedule: string;
  /** The moment that it was due, whenever it runs. */
  readonly at: Date;
}

/** The batch that a job belongs to, or that has sent it. */
export interface JobBatch {
  readonly id: string;
  /** Where it is kept. */
  readonly connection: string;
  /** Adds those of a list, inner lists as chains, if this job succeeds: an attempt that fails adds nothing. @throws what is wrong with them */
  add(jobs: Iterable<BatchMember>): void;
  /** Adds them now, whatever becomes of this job: for many, also from a generator. Gives how many. @throws as `add`, and what the store throws */
  addNow(jobs: BatchSource): Promise<number>;
  /** Jobs that wait are skipped; those that run go on. False: it has ended, or was cancelled before. */
  cancel(): Promise<boolean>;
}

/**
 * The running reservation. A class, so that handlers and plain jobs can have it injected by its type; the executor
 * makes the one that runs.
 */
export abstract class JobContext {
  /** The payload's; of one that cannot be read, that of the failed job. */
  abstract readonly id: string;
  abstract readonly name: string;
  abstract readonly queue: string;
  abstract readonly connectionName: string;
  /** 1 in the first run. */
  abstract readonly attempts: number;
  /** Grows with every reservation of the job: a fencing token for the user's own database. */
  abstract readonly fence: number;
  /** Tries that the job has in all; 0: no limit. Undefined where its payload could not be read, or its class is not known. */
  abstract readonly maxTries: number | undefined;
  /** Aborts on timeout, lost lease, cancellation, or when the grace of a worker that stops is over; `reason` says which. */
  abstract readonly signal: AbortSignal;
  /**
   * Aborts as soon as the worker is to stop, by a signal or `stop()`, a restart, `maxTime` or `memory`: a long job may then save what
   * it has and `defer()` itself, and need not be cut short by `signal`. Never aborts outside a worker.
   */
  abstract readonly stopping: AbortSignal;
  /** The payload's fields, those that `createPayloadUsing` added among them. */
  abstract readonly payload: Readonly<Record<string, unknown>>;
  /** What follows it, if it succeeds: the rest of its chain. */
  abstract readonly chain: readonly ChainedJob[];
  /** Of a job that was sent as the `catch()` of a chain: which link has failed, and why. */
  abstract readonly cause: FailedLink | undefined;
  /** Of a job that a schedule has sent. */
  abstract readonly occurrence: Occurrence | undefined;
  /** The batch that it belongs to, or that has sent it as a callback. */
  abstract readonly batch: JobBatch | undefined;
  /** It goes back to its queue: it said so, or its attempt has failed and it has tries left. */
  abstract readonly isReleased: boolean;
  /** It said `delete()`, or was completed. */
  abstract readonly isDeleted: boolean;
  /** It said `fail()`, or is out of tries. */
  abstract readonly hasFailed: boolean;
  /** Back to the queue after `delay` (default 0). The try stays spent, unless `handle()` was never called: then it costs none. */
  abstract release(delay?: Delay): void;
  /** Back to the queue after `delay` (default 0), at no cost in tries, whoever asks for it. */
  abstract defer(delay?: Delay): void;
  /** Out of tries at once. */
  abstract fail(error?: Error | string): void;
  /** Ends the job as completed, whatever `handle` does from here on. */
  abstract delete(): void;
  /**
   * How far it is, from 0 to 1, and what it does, in up to 255 characters: `Queue.find(id)` shows the latest, within about a second.
   * Nothing waits for it, and it may be said as often as one likes. That of a batch is another: how many of its jobs have ended.
   *
   * @throws E_INVALID_PROGRESS
   */
  abstract progress(value: number, text?: string): void;
  /** Jobs that follow this one if it succeeds, behind those of its chain. An attempt that fails adds nothing. @throws what is wrong with them */
  abstract appendToChain(...jobs: readonly object[]): void;
  /** The same, before those of its chain. */
  abstract prependToChain(...jobs: readonly object[]): void;
}
