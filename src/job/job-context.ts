/** The running reservation, as a job, a handler or a middleware sees it. */
import { outsideRun } from '../container/errors';
import { inject } from '../container/scope';
import type { JobInstance } from './registry';
import type { Delay } from './duration';
import { noJobRuns, invalidLogLine, invalidProgress, invalidStep } from './errors';
import { redact } from '../base/redact';
import { isName, isPlain, oneLine } from '../base/text';

declare module '../container/scope' {
  interface OpeningRun {
    readonly job: JobContext | undefined;
  }
}

/**
 * What a chain may consist of: jobs, and batches (`PendingBatch`); the chain goes on when a batch has ended well. False, null and
 * undefined are left out, so that a link can depend on a condition.
 */
export type ChainList = readonly (JobInstance | false | null | undefined)[];

/** What may be in a batch: jobs, and lists of jobs that run one after the other. False, null and undefined are left out. */
export type BatchMember = JobInstance | ChainList | false | null | undefined;

/** A list, or an iterable that yields jobs one by one: those are sent as they come and are never all in memory. */
export type BatchSource = Iterable<BatchMember> | AsyncIterable<BatchMember>;

/** A job that will follow. */
export interface ChainedJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly connection: string;
}

/** The failure that a job was sent for. */
export interface FailedLink {
  readonly id: string;
  readonly name: string;
  /** The message of the error that it failed with. */
  readonly message: string;
}

/** The occurrence of a schedule that a job was sent for. */
export interface Occurrence {
  /** The name of the schedule. */
  readonly schedule: string;
  /** When the occurrence was due, which may be before the job runs. */
  readonly at: Date;
}

/** The batch that a job belongs to, or that sent it. */
export interface JobBatch {
  readonly id: string;
  /** The connection that keeps it. */
  readonly connection: string;
  /**
   * Adds the jobs of a list if this job succeeds; inner lists become chains. A failed attempt adds nothing. @throws any error of
   * these jobs
   */
  add(jobs: Iterable<BatchMember>): void;
  /**
   * Adds jobs at once, whatever becomes of this job; made for many jobs, also from a generator. Returns how many. @throws as
   * `add`, and errors of the store
   */
  addNow(jobs: BatchSource): Promise<number>;
  /** Waiting jobs are skipped; running ones go on. False if the batch has ended or was already cancelled. */
  cancel(): Promise<boolean>;
}

/**
 * The running reservation. A class, so that handlers and plain jobs can have it injected by type; the executor creates the
 * instance.
 */
export abstract class JobContext {
  /** The id in the payload. For an unreadable payload, the id of the failed job. */
  abstract readonly id: string;
  abstract readonly name: string;
  abstract readonly queue: string;
  abstract readonly connectionName: string;
  /** 1 in the first run. */
  abstract readonly attempts: number;
  /** Grows with every reservation of the job: a fencing token for the user's own database. */
  abstract readonly fence: number;
  /** How many tries the job has in total; 0: no limit. Undefined if its payload could not be read or its class is unknown. */
  abstract readonly maxTries: number | undefined;
  /** Aborts on timeout, lost lease or cancellation, or when a stopping worker's grace period is over; `reason` says which. */
  abstract readonly signal: AbortSignal;
  /**
   * Aborts as soon as the worker must stop, because of a signal, `stop()`, a restart, `maxTime` or `memory`. A long job can then
   * save its progress and `defer()` itself before `signal` cuts it short. Never aborts outside a worker.
   */
  abstract readonly stopping: AbortSignal;
  /** The payload's fields, including those added by `createPayloadUsing`. */
  abstract readonly payload: Readonly<Record<string, unknown>>;
  /** The rest of its chain: the jobs that follow if this one succeeds. */
  abstract readonly chain: readonly ChainedJob[];
  /** For a job sent as the `catch()` of a chain or batch: which job failed, and why. */
  abstract readonly cause: FailedLink | undefined;
  /** For a job sent by a schedule. */
  abstract readonly occurrence: Occurrence | undefined;
  /** The batch that the job belongs to, or that sent it as a callback. */
  abstract readonly batch: JobBatch | undefined;
  /** The job goes back to its queue: it said so, or its attempt failed and it has tries left. */
  abstract readonly isReleased: boolean;
  /** The job called `delete()`, or has completed. */
  abstract readonly isDeleted: boolean;
  /** The job called `fail()`, or is out of tries. */
  abstract readonly hasFailed: boolean;
  /**
   * Puts the job back into its queue, to run again after `delay` (default 0). The try stays spent, unless `handle()` was never
   * called.
   */
  abstract release(delay?: Delay): void;
  /** Puts the job back into its queue, to run again after `delay` (default 0). Never costs a try. */
  abstract defer(delay?: Delay): void;
  /** Fails the job at once, whatever its tries. */
  abstract fail(error?: Error | string): void;
  /** Ends the job as completed, whatever `handle` does afterwards. */
  abstract delete(): void;
  /**
   * Reports how far the job is, from 0 to 1, and what it is doing, in up to 255 characters; `Queue.find(id)` shows the latest
   * report within about a second. Never blocks, and may be called as often as you like. (The progress of a batch is something
   * else: how many of its jobs have ended.)
   *
   * @throws E_INVALID_PROGRESS
   */
  abstract progress(value: number, text?: string): void;
  /**
   * Says what the job does: `Queue.find(id).lines`, `onqueue inspect` and the job's page show the last 200 lines of all its attempts
   * within about a second, with secrets masked. Each has 255 characters at most. Never blocks, and may be called as often as you like.
   *
   * @throws E_INVALID_LOG_LINE
   */
  abstract log(line: string): void;
  /**
   * For a job with `checkpoints: true`: runs one step of it and keeps what it gave; if an earlier attempt has kept that, resolves to it, and runs nothing. If
   * it throws, nothing is kept. A crash between the end of a step and the write repeats that step: see `stepKey`.
   *
   * @param name tells the steps of a job apart
   * @throws what `run` throws; E_NO_CHECKPOINTS, E_DUPLICATE_STEP, E_CHECKPOINT_TOO_LARGE, UnserializableValueError; LeaseLostError:
   * another worker has the job; E_NO_RECORDS and what the store throws
   */
  abstract step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T>;
  /** A text that is the same in each attempt of this step and for nothing else: an idempotency key for other services. */
  abstract stepKey(name: string): string;
  /**
   * Keeps how far the job has come, under a name: `checkpoint('rows', row.id)`. May be called as often as you like: it writes at most
   * once a second, and in any case when the attempt ends without success. A crash loses the last second.
   *
   * @throws as `step`
   */
  abstract checkpoint(name: string, value: unknown): Promise<void>;
  /** What was kept last under this name, by this or an earlier attempt. Undefined if nothing was. @throws E_NO_CHECKPOINTS */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what it has kept
  abstract checkpointed<T>(name: string): T | undefined;
  /**
   * Adds jobs at the end of its chain, to follow if this job succeeds. A failed attempt adds nothing. @throws any error of these
   * jobs
   */
  abstract appendToChain(...jobs: readonly object[]): void;
  /** The same, but at the beginning of its chain. */
  abstract prependToChain(...jobs: readonly object[]): void;
}

/** The context of the job that the current code runs in. @throws E_NO_JOB_RUNS */
export function runningJob(call: string): JobContext {
  try {
    return inject(JobContext as never);
  } catch (error) {
    throw outsideRun.is(error) ? noJobRuns(call) : error;
  }
}

/** In characters: other services take keys of about twice that. */
const LONGEST_STEP = 100;

/** @throws E_INVALID_STEP */
export function stepName(job: string, call: string, name: unknown): string {
  if (typeof name === 'string' && isName(name) && name.length <= LONGEST_STEP && name.isWellFormed()) return name;
  throw invalidStep(job, call, name, `Give a name: one line of 1 to ${LONGEST_STEP} characters.`);
}

/** Longest text, in characters: it is shown in one line of a list. */
const LONGEST_TEXT = 255;

export interface Progress {
  /** From 0 to 1. */
  readonly value: number;
  readonly text: string | undefined;
}

/** @throws E_INVALID_PROGRESS */
export function checkedProgress(job: string, value: unknown, text: unknown): Progress {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw invalidProgress(job, value, HOW_FAR);
  if (text === undefined) return { value, text };
  const isLine = typeof text === 'string' && text.length <= LONGEST_TEXT && isPlain(text) && text.isWellFormed();
  if (!isLine) throw invalidProgress(job, text, `Its text is one line of up to ${LONGEST_TEXT} characters.`);
  return { value, text };
}

/** One line, without what looks like a secret, and not too long. @throws E_INVALID_LOG_LINE */
export function checkedLine(job: string, line: unknown): string {
  if (typeof line !== 'string') throw invalidLogLine(job, line);
  // Masked before it is cut: half a secret would not be recognised.
  return oneLine(redact(line), LONGEST_TEXT - 1);
}

const HOW_FAR = 'Give a number from 0 to 1: progress(done / total).';
