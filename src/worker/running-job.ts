/** One run of one reservation: what the job sees as `this.job`, and what it has decided about its end so far. */
import type { DenseSetMember } from '../base/dense-set';
import type { Milliseconds, Seconds } from '../base/clock';
import type { StoreClock } from '../base/store-clock';
import type { JobDefinition } from '../job/definition';
import { checkDelay, type Delay } from '../job/duration';
import { type ChainedJob, type FailedLink, type JobBatch, JobContext, type Occurrence } from '../job/job-context';
import type { Middleware } from '../job/middleware';
import { checkedProgress } from '../job/progress';
import type { RunOptions } from '../job/options';
import { toError } from '../base/exception-text';
import { fenceOf } from '../payload/counters';
import { chainedJobOf, type ChainLink } from '../payload/chain';
import type { Envelope } from '../payload/envelope';
import { hasFollowers } from '../payload/payload-text';
import { type BatchTie, readTies } from '../payload/ties';
import { type Glimpse, UNREADABLE_NAME } from '../payload/unreadable';
import { uuidv7 } from '../payload/uuid';
import type { Application } from '../connections/application';
import type { Reservation, Settlement } from '../connections/contract';
import { tellObservers } from '../connections/observer';
import type { Onward } from '../connections/onward';
import { START_BATCH } from '../dispatch/built-in/start-batch';
import { batchElsewhere } from '../dispatch/errors';
import { invalidBatch } from '../job/errors';
import type { Deadline } from './deadlines';
import { RunningBatch } from './running-batch';
import { manuallyFailed } from './errors';

/** How the job itself ended its run. */
export type Ending =
  | { readonly kind: 'released'; readonly delay: Delay; readonly isDeferred: boolean }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'deleted' };

/** What a run has come to. */
export interface Outcome {
  readonly settlement: Settlement;
  /** Jobs that follow it, and that its store cannot take in the step that writes it: they are sent before. */
  readonly onward?: readonly Onward[] | undefined;
  /** The error behind a failed attempt or a failed job. */
  readonly error?: Error | undefined;
  /** Why a job was given back for free, for the log. */
  readonly reason?: Error | undefined;
  /** Why it was cancelled, if somebody said so. */
  readonly cancelReason?: string | undefined;
  /** The log has said so of others of its name just now. */
  readonly isKnown?: boolean | undefined;
}

/** A number has 31 bits for other threads. */
const LARGEST_NUMBER = 2 ** 31 - 1;

/** What the keeper of leases is told of a run. */
export interface Lease {
  /**
   * Before a handler starts that has a timeout: how long until it counts as timed out even with nobody left to say so, and
   * the delay of the attempt that follows then.
   */
  foresee(within: Milliseconds, delay: Seconds): void;
  /**
   * Before a handler starts: where the lease is over as far as is known, asks the store whether the job is still ours.
   * Resolves once it has said so, and in any case when the run is aborted. Undefined: there is nothing to ask.
   */
  confirm(): Promise<void> | undefined;
}

let runs = 0;

export class RunningJob extends JobContext implements DenseSetMember {
  /** From 1. Tells it from the other runs of this process, also in another thread. */
  readonly number = (runs = (runs % LARGEST_NUMBER) + 1);
  /** Among the runs of its worker. */
  position: number | undefined;
  readonly reservation: Reservation;
  readonly connectionName: string;
  readonly queue: string;
  readonly attempts: number;
  /** By the monotonic clock; 0: it was not started yet. */
  startedAt: Milliseconds = 0;
  /** Set once the payload was read. */
  envelope: Envelope | undefined;
  /** Set where it ends without having been read. */
  glimpse: Glimpse | undefined;
  /** Set once the class was found: a job may have been sent under an old name. */
  definition: JobDefinition | undefined;
  /** The decoded job, once there is one. */
  instance: object | undefined;
  /** The first of release, fail and delete; undefined while the job has said nothing. */
  ending: Ending | undefined;
  /** Middleware that the dispatch gave. */
  through: readonly Middleware[] | undefined;
  /** Set once the class was found. */
  options: RunOptions | undefined;
  /** What `handle` threw; undefined also while it has not come back. */
  thrown: Error | undefined;
  /** Set once it is decided. */
  outcome: Outcome | undefined;
  /** What has jobs follow it, and hears how far it is; the executor's. */
  application:
    | Pick<Application, 'links' | 'checkChain' | 'driver' | 'batchMembers' | 'addToBatch' | 'observers' | 'report'>
    | undefined;
  /** The step of the run that comes next; the executor's. */
  step = 0;
  /** Called once with the outcome; the executor's. */
  onDone: ((outcome: Outcome) => void) | undefined;
  /** What `handle` gave, for `dispatchSync`. */
  value: unknown;
  /** Why the run was aborted, if it was. */
  abortReason: Error | undefined;
  /** What nobody waited for or caught of what its handler began: the attempt fails with it. */
  stray: Error | undefined;
  /** Nothing changes its outcome any more: it is none of success, or on its way to the store. */
  isFinal = false;
  /** It runs alone in its worker: its next crash would be its last. */
  isApart = false;
  /** `running` also while the outcome was recorded without the handler: its slot is not free. */
  handler: 'not-called' | 'running' | 'came-back' = 'not-called';
  /** `handle()` was called: before that, a release costs no try. */
  isHandled = false;
  /** Set once its options are known. */
  maxTries: number | undefined;
  /** Of its handler; the executor's. */
  deadline: Deadline | undefined;
  /** When the outcome is recorded without the handler: known once it was aborted. */
  givenUpAt: Milliseconds = Infinity;
  /** Its outcome was recorded without the handler. */
  isGivenUp = false;
  /** By which its moments are judged. Undefined: our own. */
  readonly storeClock: StoreClock | undefined;
  /** The lease keeper's. Undefined: there is none, or it is not ours any more. */
  lease: Lease | undefined;
  /** Called when the run is aborted; the executor's. */
  onAbort: ((grace: Seconds) => void) | undefined;
  /** Called when a handler comes back whose outcome was recorded without it; the worker's. */
  onLateReturn: (() => void) | undefined;

  #controller: AbortController | undefined;
  #stopController: AbortController | undefined;
  #stopReason: Error | undefined;
  #endedAs: Settlement['outcome'] | undefined;
  #givenId: string | undefined;
  #closed = false;
  #links: readonly ChainLink[] | undefined;
  #tie: BatchTie | null | undefined;
  #batch: RunningBatch | undefined;

  constructor(reservation: Reservation, connectionName: string, storeClock?: StoreClock) {
    super();
    this.storeClock = storeClock;
    this.reservation = reservation;
    this.connectionName = connectionName;
    this.queue = reservation.queue;
    this.attempts = reservation.counters.attempts;
  }

  /** Of a payload that has none, or cannot be read, the one under which it would stand among the failed jobs. */
  get id(): string {
    return this.envelope?.id ?? this.glimpse?.id ?? (this.#givenId ??= uuidv7());
  }

  get name(): string {
    const { definition, envelope } = this;
    // All of Laravel's own bear the name of the class that runs them.
    if (envelope?.kind === 'illuminate') return envelope.displayName;
    return definition?.name ?? envelope?.name ?? this.glimpse?.name ?? UNREADABLE_NAME;
  }

  get fence(): number {
    return fenceOf(this.reservation.counters);
  }

  get payload(): Readonly<Record<string, unknown>> {
    return this.envelope?.fields ?? {};
  }

  // Made on first use: most jobs never look at it, and an AbortController costs more than all else in a small run.
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.abortReason !== undefined) this.#controller.abort(this.abortReason);
    }
    return this.#controller.signal;
  }

  get stopping(): AbortSignal {
    if (this.#stopController === undefined) {
      this.#stopController = new AbortController();
      if (this.#stopReason !== undefined) this.#stopController.abort(this.#stopReason);
    }
    return this.#stopController.signal;
  }

  get isReleased(): boolean {
    return this.ending?.kind === 'released' || this.#endedAs === 'released';
  }

  get isDeleted(): boolean {
    return this.ending?.kind === 'deleted' || this.#endedAs === 'completed';
  }

  get hasFailed(): boolean {
    return this.ending?.kind === 'failed' || this.#endedAs === 'failed';
  }

  /** A run that never looked at its signal cannot have cut its work short because of it. */
  get knowsItsSignal(): boolean {
    return this.#controller !== undefined;
  }

  release(delay: Delay = 0): void {
    // Here, where the caller's stack says who gave it.
    checkDelay(delay, `the delay of release() in ${this.name}`);
    this.#end({ kind: 'released', delay, isDeferred: false });
  }

  defer(delay: Delay = 0): void {
    checkDelay(delay, `the delay of defer() in ${this.name}`);
    this.#end({ kind: 'released', delay, isDeferred: true });
  }

  fail(error?: Error | string): void {
    this.#end({
      kind: 'failed',
      error: error === undefined || typeof error === 'string' ? manuallyFailed(error) : toError(error),
    });
  }

  delete(): void {
    this.#end({ kind: 'deleted' });
  }

  progress(value: number, text?: string): void {
    const progress = checkedProgress(this.name, value, text);
    if (!this.#closed && this.application !== undefined)
      tellObservers(this.application, this, (observer) => observer.progressed?.(this, progress));
  }

  /** What follows it, with what it has added itself. */
  get links(): readonly ChainLink[] {
    return this.#links ?? this.envelope?.chain.links ?? [];
  }

  get chain(): readonly ChainedJob[] {
    return this.links.map((link) => chainedJobOf(link, this.connectionName));
  }

  get cause(): FailedLink | undefined {
    return this.envelope?.cause;
  }

  get occurrence(): Occurrence | undefined {
    return this.envelope?.occurrence;
  }

  /** The batch in which it counts, also where it cannot be read; as a rule there is none, and nothing is looked for. */
  get tie(): BatchTie | undefined {
    if (this.#tie === undefined) {
      const { payload } = this.reservation;
      const isMarked = this.envelope?.isMarked ?? hasFollowers(payload);
      this.#tie = (isMarked ? readTies(payload)?.batch : undefined) ?? null;
    }
    return this.#tie ?? undefined;
  }

  get batch(): JobBatch | undefined {
    const { tie, connectionName: connection, queue } = this;
    const reference = tie === undefined ? this.envelope?.batch : { id: tie.id, connection, queue };
    if (reference === undefined || this.application === undefined) return undefined;
    return (this.#batch ??= new RunningBatch(reference, this.application, () => this.#closed, tie !== undefined));
  }

  /** What it adds to its batch. */
  get added(): readonly Onward[] {
    return this.#batch?.added ?? [];
  }

  // Encoded here, where the caller's stack says whose mistake it is.
  appendToChain(...jobs: readonly object[]): void {
    this.#follow([...this.links, ...this.#linksOf(jobs)]);
  }

  prependToChain(...jobs: readonly object[]): void {
    this.#follow([...this.#linksOf(jobs), ...this.links]);
  }

  /** The first reason stays. `grace`: seconds until the outcome is recorded without the handler; Infinity: it is waited for. */
  abort(reason: Error, grace: Seconds): void {
    if (this.#closed) return;
    if (this.abortReason === undefined) {
      this.abortReason = reason;
      this.#controller?.abort(reason);
    }
    // Also where it was aborted before: a stop is in more of a hurry than a timeout.
    this.onAbort?.(grace);
  }

  /** The worker is to stop: it may go on until its signal aborts. */
  stop(reason: Error): void {
    if (this.#closed) return;
    this.#stopReason ??= reason;
    this.#stopController?.abort(this.#stopReason);
  }

  /**
   * Lays an error to it that nobody has caught. False: it changes nothing any more. `grace`: as for `abort`.
   */
  blame(error: Error, grace: Seconds): boolean {
    if (this.isFinal || (this.ending ?? this.abortReason ?? this.stray) !== undefined) return false;
    this.stray = error;
    this.abort(error, grace);
    return true;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The outcome stands: nothing that the job says from here on counts. */
  close(endedAs: Settlement['outcome']): void {
    this.#endedAs = endedAs;
    this.#closed = true;
  }

  #linksOf(jobs: readonly object[]): readonly ChainLink[] {
    return this.application?.links(jobs, this.connectionName) ?? [];
  }

  #follow(links: readonly ChainLink[]): void {
    if (this.#closed) return;
    if (this.tie !== undefined) this.#checkCounted(links);
    this.application?.checkChain({ links, caught: this.envelope?.chain.caught }, this.connectionName, this.name);
    this.#links = links;
  }

  /** @throws E_BATCH_ELSEWHERE */
  #checkCounted(links: readonly ChainLink[]): void {
    const isDivided = this.application?.driver(this.connectionName).isDivided === true;
    for (const link of links) {
      const { name, connection, queue } = chainedJobOf(link, this.connectionName);
      if (name === START_BATCH)
        throw invalidBatch(link, 'a job of a batch begins no other in its chain; dispatch it from handle().');
      if (connection !== this.connectionName)
        throw batchElsewhere(name, `the connection '${connection}'`, `'${this.connectionName}'`);
      if (isDivided && queue !== this.queue)
        throw batchElsewhere(name, `the queue '${queue}'`, `the queue '${this.queue}' of a cluster`);
    }
  }

  #end(ending: Ending): void {
    if (!this.#closed) this.ending ??= ending;
  }
}
