/**
 * A job on its way. It is sent once, a microtask after it was made, in the async context in which it was made.
 *
 * Outside of production it keeps where it was made, to tell of a failure that nobody awaited.
 *
 * It is a promise of the job's id, so that `.catch()` compiles and linters of floating promises see what is meant.
 */
import { inspect } from 'node:util';
import type { InstanceChoice } from '../job/chosen';
import { chosenOf } from '../job/chosen';
import { classOf } from '../job/definition-of';
import type { PendingDispatch } from '../job/dispatcher';
import type { Delay } from '../job/duration';
import type { Middleware } from '../job/middleware';
import { declaredRoute } from '../job/resolve-options';
import type { DispatchApplication } from './dispatch-application';
import { Transaction } from './transaction/transaction';
import { callersIn, type CallSite, callSite } from './call-site';
import { AlreadyDispatchedError, unawaitedDispatch } from './errors';
import { type Detour, sendJob } from './send-job';

export class PendingJob implements PendingDispatch {
  readonly [Symbol.toStringTag] = 'PendingDispatch';
  readonly #manager: DispatchApplication;
  readonly #job: object;
  readonly #site: CallSite | undefined;
  #choice: InstanceChoice = {};
  // What is open here and now: when the job is sent, it may be over.
  #detour: Detour = { keep: Transaction.keep() };
  #awaited = false;
  #begun = false;
  readonly #sent: Promise<string>;
  /** What became of it, for `inspect`. */
  #state = 'no id yet';
  /** The rejection that nobody handled; handled after all by an await in the same turn, as with any promise. */
  #unheard: Promise<never> | undefined;

  constructor(manager: DispatchApplication, job: object) {
    this.#manager = manager;
    this.#job = job;
    this.#site = callSite(PendingJob);
    this.#sent = manager.outbox.send(() => this.#send());
    this.#sent.then(
      (id) => this.#landed(id),
      (error: unknown) => this.#failed(error),
    );
  }

  onConnection(connection: string): this {
    return this.#choose('onConnection', { connection });
  }

  onQueue(queue: string): this {
    return this.#choose('onQueue', { queue });
  }

  delay(delay: Delay): this {
    return this.#choose('delay', { delay });
  }

  withoutDelay(): this {
    return this.#choose('withoutDelay', { delay: 0 });
  }

  through(...middleware: readonly Middleware[]): this {
    return this.#choose('through', { middleware: [...(this.#choice.middleware ?? []), ...middleware] });
  }

  afterCommit(): this {
    this.#choose('afterCommit', {});
    this.#detour = { keep: Transaction.keep(), commit: 'after' };
    return this;
  }

  beforeCommit(): this {
    this.#choose('beforeCommit', {});
    this.#detour = {};
    return this;
  }

  using(transaction: unknown): this {
    this.#choose('using', {});
    this.#detour = { within: { transaction } };
    return this;
  }

  then<Fulfilled = string, Rejected = never>(
    onFulfilled?: ((id: string) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#heard().then(onFulfilled, onRejected);
  }

  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<string | Rejected> {
    return this.#heard().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<string> {
    return this.#heard().finally(onFinally);
  }

  [inspect.custom](): string {
    const awaited = this.#awaited ? '' : 'not awaited, ';
    return `PendingDispatch(${this.#name} → ${this.#target()}, ${awaited}${this.#state})`;
  }

  #choose(call: string, choice: InstanceChoice): this {
    if (this.#begun || this.#awaited) throw new AlreadyDispatchedError(this.#name, call, this.#awaited);
    this.#choice = { ...this.#choice, ...choice };
    return this;
  }

  #heard(): Promise<string> {
    this.#awaited = true;
    this.#unheard?.catch(() => undefined);
    return this.#sent;
  }

  #send(): Promise<string> | string {
    this.#begun = true;
    return sendJob(this.#manager, this.#job, this.#choice, this.#detour);
  }

  #landed(id: string): void {
    this.#state = `id ${id}`;
  }

  #failed(error: unknown): void {
    this.#state = 'failed';
    if (!this.#awaited) this.#tell(error);
  }

  #tell(reason: unknown): void {
    if (this.#manager.hearsErrors) {
      const { connection, queue } = { ...chosenOf(this.#job), ...this.#choice };
      this.#manager.report(reason, { during: 'a dispatch that was not awaited', name: this.#name, connection, queue });
    } else {
      const error = unawaitedDispatch(this.#name, reason);
      const callers = callersIn(this.#site);
      if (callers !== '') error.stack = `${error.name}: ${error.message}\n${callers}`;
      this.#unheard = Promise.reject(error);
    }
  }

  get #name(): string {
    // A class that was dispatched in place of an instance is called by its own name.
    const target: unknown = classOf(this.#job) ?? this.#job;
    return typeof target === 'function' ? target.name : `a ${typeof target}`;
  }

  // Printing a dispatch must not load a configuration, nor throw.
  #target(): string {
    const queue = this.#choice.queue ?? chosenOf(this.#job).queue;
    if (queue !== undefined) return queue;
    try {
      const declared = declaredRoute(this.#manager.encoder.definitionOf(this.#job)).queue;
      if (declared !== undefined || !this.#manager.isConfigured) return declared ?? 'the default queue';
      return this.#manager.encoder.route(this.#job, this.#choice).queue;
    } catch {
      return 'nowhere';
    }
  }
}
