/** One run of one reservation: what the job sees as `this.job`, and how it has decided to end so far. */
import { setMaxListeners } from 'node:events';
import type { DenseSetMember } from '../base/collections';
import type { Milliseconds, Seconds, StoreClock } from '../base/clock';
import type { JobDefinition } from '../job/registry';
import { checkDelay, type Delay } from '../job/duration';
import {
  JobContext,
  checkedLine,
  checkedProgress,
  type ChainedJob,
  type FailedLink,
  type JobBatch,
  type Occurrence,
  type BatchMember,
  type BatchSource,
} from '../job/job-context';
import type { Middleware } from '../job/middleware';
import type { RunOptions } from '../job/options';
import { toError } from '../base/exception-text';
import { fenceOf, glimpseOf, UNREADABLE_NAME, type Glimpse } from '../payload/counters';
import type { HeldEntities } from '../payload/entities';
import { chainedJobOf, type ChainLink } from '../payload/chain';
import type { Envelope } from '../payload/envelope';
import { hasFollowers } from '../payload/payload-text';
import { isSecretive, maskedError, maskingOf } from '../payload/secrets';
import { readTies, type BatchTie } from '../payload/ties';
import { uuidv7 } from '../payload/uuid';
import type { Seals } from '../payload/vault';
import { tellObservers, type Application, type BatchReference, type MaskingJob } from '../connections/application';
import type { Gatherers, Group } from './gatherer';
import type { Reservation, Settlement } from '../connections/contract';
import { isStillOurs } from '../connections/kit/connection';
import type { Onward } from '../connections/entries';
import { addToBatch, membersOf, START_BATCH } from '../dispatch/batch/send-batch';
import { batchElsewhere } from '../dispatch/errors';
import { invalidBatch, noCheckpoints } from '../job/errors';
import { keptCheckpoints } from '../job/resolve-options';
import { Checkpoints } from '../operations/checkpoints';
import { LeaseLostError, manuallyFailed } from './errors';

/** How the job itself ended its run. */
export type Ending =
  | { readonly kind: 'released'; readonly delay: Delay; readonly isDeferred: boolean }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'deleted' };

/** What a run tells the keeper of its lease. */
export interface Lease {
  /**
   * To be called before a handler with a timeout starts: when the run counts as timed out even if the worker cannot say so,
   * and the delay of the attempt after that.
   */
  foresee(within: Milliseconds, delay: Seconds): void;
  /**
   * To be called before a handler starts. If the lease may have ended, asks the store whether the job is still ours.
   * Resolves once the store has answered, at the latest when the run is aborted. Undefined if there is nothing to ask.
   */
  confirm(): Promise<void> | undefined;
  /** The run has an outcome, which is not stored yet: it cannot time out any more. */
  end(): void;
}

export class RunningJob extends JobContext implements DenseSetMember, MaskingJob {
  /** Its place among the runs of its worker. */
  position: number | undefined;
  readonly reservation: Reservation;
  readonly connectionName: string;
  readonly application: Application;
  readonly queue: string;
  readonly attempts: number;
  readonly fence: number;
  /** By the monotonic clock. 0 if it was not started yet. */
  startedAt: Milliseconds = 0;
  /** How long it ran. */
  took: Milliseconds = 0;
  /** Set once the payload was read. */
  envelope: Envelope | undefined;
  /** Set once the class is found. The job may have been sent under one of its old names. */
  definition: JobDefinition | undefined;
  /** The decoded job, once there is one. */
  instance: object | undefined;
  /** What stands for entities in its data until they are loaded. Undefined if it has none. */
  held: HeldEntities[] | undefined;
  /** The first call of release, fail or delete. Undefined if the job has made none. */
  ending: Ending | undefined;
  /** Middleware given at dispatch. */
  through: readonly Middleware[] | undefined;
  /** Set once the class is found. */
  options: RunOptions | undefined;
  /** Gathers jobs of classes with `together`; set by the executor. */
  gatherers: Gatherers | undefined;
  /** The group that it waits in, or that is handled. */
  group: Group | undefined;
  /** What `handle` threw. Undefined also while it runs. */
  thrown: Error | undefined;
  /** What `handle` returned, for `dispatchSync`. */
  value: unknown;
  /** Why the run was aborted, if it was. */
  abortReason: Error | undefined;
  /** An error that its handler left behind and nobody caught: the attempt fails with it. */
  stray: Error | undefined;
  /** Its outcome can no longer change: it is not a success, or is on its way to the store. */
  isFinal = false;
  /** How it has ended, once that is final: later calls of the job change nothing. */
  endedAs: Settlement['outcome'] | undefined;
  /** Its connection runs jobs at once and keeps none: it cannot come back. */
  isAtOnce = false;
  /** It runs alone in its worker, because its next crash would be its last. */
  isApart = false;
  /** Also `running` after the outcome was recorded without the handler: its slot is not free. */
  handler: 'not-called' | 'running' | 'came-back' = 'not-called';
  /** `handle()` was called. Until then a release costs no try. */
  isHandled = false;
  /** The clock that judges its moments. Undefined: our own. */
  readonly storeClock: StoreClock | undefined;
  /** Set by the lease keeper. Undefined if there is no lease, or it is no longer ours. */
  lease: Lease | undefined;
  /** What it keeps for its next attempt. Undefined until it asks for it, or if its class keeps nothing. */
  kept: Checkpoints | undefined;
  /** Called when the run is aborted; the executor's. */
  onAbort: ((grace: Seconds) => void) | undefined;
  /** Called when a handler returns after its outcome was recorded without it; the worker's. */
  onLateReturn: (() => void) | undefined;

  #controller: AbortController | undefined;
  #stopController: AbortController | undefined;
  #stopReason: Error | undefined;
  #glimpse: Glimpse | undefined;
  #givenId: string | undefined;
  #links: readonly ChainLink[] | undefined;
  #tie: BatchTie | null | undefined;
  #batch: RunningBatch | undefined;

  constructor(reservation: Reservation, connectionName: string, application: Application, storeClock?: StoreClock) {
    super();
    this.application = application;
    this.storeClock = storeClock;
    this.reservation = reservation;
    this.connectionName = connectionName;
    this.queue = reservation.queue;
    this.attempts = reservation.counters.attempts;
    this.fence = fenceOf(reservation.counters);
  }

  /** If the payload has none, the id that the job would have among the failed jobs. */
  get id(): string {
    return (this.envelope ?? this.#glimpsed).id ?? (this.#givenId ??= uuidv7());
  }

  get name(): string {
    return (this.definition ?? this.envelope ?? this.#glimpsed).name ?? UNREADABLE_NAME;
  }

  // A payload that was not parsed yet may be what killed the workers before.
  get #glimpsed(): Glimpse {
    return (this.#glimpse ??= glimpseOf(this.reservation.payload));
  }

  get maxTries(): number | undefined {
    return this.options?.tries;
  }

  get payload(): Readonly<Record<string, unknown>> {
    return this.envelope?.fields ?? {};
  }

  // Created on first use: most jobs never look at it, and an AbortController costs more than everything else in a small run.
  get signal(): AbortSignal {
    return (this.#controller ??= controllerFor(this.abortReason)).signal;
  }

  get stopping(): AbortSignal {
    return (this.#stopController ??= controllerFor(this.#stopReason)).signal;
  }

  get isReleased(): boolean {
    return this.ending?.kind === 'released' || this.endedAs === 'released';
  }

  get isDeleted(): boolean {
    return this.ending?.kind === 'deleted' || this.endedAs === 'completed';
  }

  get hasFailed(): boolean {
    return this.ending?.kind === 'failed' || this.endedAs === 'failed';
  }

  /** Whether the job ever looked at its signal. If not, it cannot have stopped early because of it. */
  get knowsItsSignal(): boolean {
    return this.#controller !== undefined;
  }

  release(delay: Delay = 0): void {
    // Checked right away, so that an error's stack shows the caller.
    checkDelay(delay, `the delay of release() in ${this.name}`);
    this.#end({ kind: 'released', delay, isDeferred: false });
  }

  defer(delay: Delay = 0): void {
    checkDelay(delay, `the delay of defer() in ${this.name}`);
    this.#end({ kind: 'released', delay, isDeferred: true });
  }

  fail(error?: Error | string): void {
    const given = error === undefined || typeof error === 'string' ? manuallyFailed(error) : error;
    this.#end({ kind: 'failed', error: toError(this.masked(given)) });
  }

  delete(): void {
    this.#end({ kind: 'deleted' });
  }

  progress(value: number, text?: string): void {
    const progress = checkedProgress(this.name, value, text);
    if (this.endedAs === undefined)
      tellObservers(this.application, this, (observer) => observer.progressed?.(this, progress));
  }

  log(line: string): void {
    const text = checkedLine(this.name, line);
    if (this.endedAs === undefined) tellObservers(this.application, this, (observer) => observer.logged?.(this, text));
  }

  async step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T> {
    return this.checkpoints('step()').step(name, run);
  }

  stepKey(name: string): string {
    return this.checkpoints('stepKey()').stepKey(name);
  }

  async checkpoint(name: string, value: unknown): Promise<void> {
    return this.checkpoints('checkpoint()').checkpoint(name, value);
  }

  checkpointed(name: string): never {
    return this.checkpoints('checkpointed()').checkpointed(name) as never;
  }

  /** @throws E_NO_CHECKPOINTS, E_NO_RECORDS */
  checkpoints(call: string): Checkpoints {
    return (this.kept ??= this.#checkpoints(call));
  }

  #checkpoints(call: string): Checkpoints {
    const { application, reservation, name, id } = this;
    const said = keptCheckpoints(this.definition);
    if (said === undefined) throw noCheckpoints(name, call);
    const { registry, clock } = application;
    const settings = { job: this, registry, clock, steps: said.steps, seals: this.#seals() };
    if (this.isAtOnce) return new Checkpoints(settings);
    const driver = application.driver(this.connectionName);
    const { records } = application.neededOperationsOf(driver, name);
    const lost = (): Error => new LeaseLostError(name, id);
    const checkOpen = async (): Promise<void> => {
      await this.lease?.confirm();
      if (this.abortReason instanceof LeaseLostError) throw this.abortReason;
      if (this.endedAs !== undefined) throw this.abortReason ?? lost();
    };
    const isOurs = (): Promise<boolean> =>
      isStillOurs(driver, reservation, application.settings(driver.name).retryAfter);
    return new Checkpoints({ ...settings, store: { records, checkOpen, isOurs, lost } });
  }

  /** Whether what is kept of it is sealed, also if its class only said so when it was sent. */
  get isEncrypted(): boolean {
    return this.definition?.options.encrypted === true || this.envelope?.isSealed === true;
  }

  /** By the name that it was sent under, which is the same in each attempt. Undefined: nothing is sealed. */
  #seals(): Seals | undefined {
    const { envelope, id } = this;
    return this.isEncrypted ? this.application.vault.for({ name: envelope?.names[0] ?? this.name, id }) : undefined;
  }

  /** What it threw, or others on its behalf, without data that nobody may see: changes the error itself. */
  masked(thrown: unknown): unknown {
    const { application, envelope, definition } = this;
    if (envelope === undefined || !isSecretive(envelope, definition)) return thrown;
    const masking = maskingOf(envelope, definition, application.vault);
    return masking === undefined ? thrown : maskedError(toError(thrown), masking);
  }

  /** The links that follow the job, with its own changes. */
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

  /** The batch that it counts in, known even if the payload cannot be read. Usually there is none, and nothing is parsed. */
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
    if (reference === undefined) return undefined;
    const jobs = this.envelope?.batchJobs;
    return (this.#batch ??= new RunningBatch(this, { ...reference, jobs }));
  }

  /** The jobs that it adds to its batch. */
  get added(): readonly Onward[] {
    return this.#batch?.added ?? [];
  }

  // Encoded right away, so that an error's stack shows the caller.
  appendToChain(...jobs: readonly object[]): void {
    this.#follow([...this.links, ...this.#linksOf(jobs)]);
  }

  prependToChain(...jobs: readonly object[]): void {
    this.#follow([...this.#linksOf(jobs), ...this.links]);
  }

  /**
   * Only the first reason is kept. `grace`: seconds until the outcome is recorded without the handler; Infinity: we wait for
   * the handler.
   */
  abort(reason: Error, grace: Seconds): void {
    if (this.endedAs !== undefined) return;
    if (this.abortReason === undefined) {
      this.abortReason = reason;
      this.#controller?.abort(reason);
    }
    this.group?.leave(this, this.abortReason);
    // Also if it was aborted before: a stop is more urgent than a timeout.
    this.onAbort?.(grace);
  }

  /** The worker stops. The job may go on until its signal aborts. */
  stop(reason: Error): void {
    if (this.endedAs !== undefined) return;
    this.#stopReason ??= reason;
    this.#stopController?.abort(this.#stopReason);
    this.group?.call();
  }

  /** Blames an uncaught error on this run. False if that changes nothing any more. `grace`: as for `abort`. */
  blame(given: Error, grace: Seconds): boolean {
    if (this.isFinal || (this.ending ?? this.abortReason ?? this.stray) !== undefined) return false;
    const error = toError(this.masked(given));
    this.stray = error;
    this.abort(error, grace);
    return true;
  }

  #linksOf(jobs: readonly object[]): readonly ChainLink[] {
    return this.application.encoder.links(jobs, this.connectionName);
  }

  #follow(links: readonly ChainLink[]): void {
    if (this.endedAs !== undefined) return;
    if (this.tie !== undefined) this.#checkCounted(links);
    this.application.encoder.checkRest({ links, caught: this.envelope?.chain.caught }, this.connectionName, this.name);
    this.#links = links;
  }

  /** @throws E_BATCH_ELSEWHERE */
  #checkCounted(links: readonly ChainLink[]): void {
    const isDivided = this.application.driver(this.connectionName).capabilities.follows === 'queue';
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
    if (this.endedAs === undefined) this.ending ??= ending;
  }
}

function controllerFor(reason: Error | undefined): AbortController {
  const controller = new AbortController();
  // A handler may listen in each of a hundred calls at once. Node.js 20 takes more than ten listeners for a leak.
  setMaxListeners(Infinity, controller.signal);
  if (reason !== undefined) controller.abort(reason);
  return controller;
}

/** `this.job.batch`: the batch of a running job, and the jobs that it adds to it. */
export class RunningBatch implements JobBatch {
  readonly id: string;
  readonly connection: string;
  /** The added jobs, sent when the job succeeds. */
  readonly added: Onward[] = [];
  readonly #job: RunningJob;
  readonly #reference: BatchReference;

  constructor(job: RunningJob, reference: BatchReference) {
    this.id = reference.id;
    this.connection = reference.connection;
    this.#job = job;
    this.#reference = reference;
  }

  // Encoded right away, so that an error's stack shows the caller.
  add(jobs: Iterable<BatchMember>): void {
    // This job's outcome does not count in the batch, so it cannot keep the batch open.
    if (this.#job.tie === undefined)
      throw invalidBatch(jobs, 'a job that the batch has sent adds to it by addNow(): add() is for its members.');
    if (this.#job.endedAs !== undefined) return;
    for (const member of membersOf(this.#job.application, this.#reference, jobs)) this.added.push(member);
  }

  async addNow(jobs: BatchSource): Promise<number> {
    return addToBatch(this.#job.application, this.#reference, jobs);
  }

  async cancel(): Promise<boolean> {
    const { id, connection, queue } = this.#reference;
    return (await this.#job.application.driver(connection).batches?.cancel(id, queue)) ?? false;
  }
}
