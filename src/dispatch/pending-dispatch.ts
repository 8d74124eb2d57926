/**
 * A job on its way. It is sent once, one microtask after it was made, in the async context in which it was made.
 *
 * Outside of production it remembers where it was made, and shows that in the stack of a failure: the error's own stack begins in
 * a microtask.
 *
 * It is a promise of the job's id, so that `.catch()` compiles and linters recognise floating promises.
 */
import type { Application } from '../connections/application';
import { chosenOf, type InstanceChoice } from '../job/choices';
import { dirname, sep } from 'node:path';
import { inspect } from 'node:util';
import { classOf } from '../base/class';
import type { DispatchResult, Outgoing } from '../job/pending';
import type { Delay } from '../job/duration';
import type { Middleware } from '../job/middleware';
import { definitionOfJob } from '../job/instance';
import { declaredRoute } from '../job/resolve-options';
import { Transaction } from './transaction';
import { AlreadyDispatchedError, unawaitedDispatch } from './errors';
import { sendJob, type Detour, type Tell } from './send';

/** Where a dispatch was called. */
interface CallSite {
  /** The engine formats it only when it is first read. */
  readonly stack?: unknown;
}

/** Costs some 5 µs, which would nearly double the cost of a dispatch to memory. */
const REMEMBERS = process.env['NODE_ENV'] !== 'production';

/** Up to three of them may be Onqueue's own. */
const FRAMES = 6;

const PACKAGE = dirname(__dirname) + sep;

const QUEUED = { status: 'queued' } as const;

/** Sends a job, or an event as jobs. */
type Send<Sent> = (
  manager: Application,
  job: object,
  choice: InstanceChoice,
  detour: Detour,
  tell: Tell,
) => Promise<Sent> | Sent;

export class PendingJob<Sent = string> implements Outgoing<Sent> {
  readonly [Symbol.toStringTag] = 'PendingDispatch';
  readonly #manager: Application;
  readonly #job: object;
  readonly #site: CallSite | undefined;
  #choice: InstanceChoice;
  // The transaction that is open now. When the job is sent, it may be over.
  #detour: Detour = Transaction.isUsed ? { keep: Transaction.keep() } : {};
  #awaited = false;
  #begun = false;
  readonly #isEvent: boolean;
  readonly #sent: Promise<Sent>;
  /** The outcome of the dispatch. */
  #id: Sent | undefined;
  #became: Omit<DispatchResult, 'id'> = QUEUED;
  #hasFailed = false;
  /** The rejection that nobody handled. As with any promise, an await in the same turn still handles it. */
  #unheard: Promise<never> | undefined;

  constructor(
    manager: Application,
    job: object,
    choice: InstanceChoice = {},
    send: Send<Sent> = sendJob as Send<never>,
  ) {
    this.#manager = manager;
    this.#job = job;
    this.#choice = choice;
    this.#isEvent = send !== (sendJob as Send<never>);
    if (REMEMBERS) {
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = FRAMES;
      Error.captureStackTrace((this.#site = {}), PendingJob);
      Error.stackTraceLimit = stackTraceLimit;
    }
    this.#sent = manager.outbox.send(() => {
      this.#begun = true;
      return send(manager, job, this.#choice, this.#detour, (became) => (this.#became = became));
    });
    this.#sent.then(
      (id) => (this.#id = id),
      (reason: unknown) => this.#failed(reason),
    );
  }

  get result(): Promise<Omit<DispatchResult, 'id'> & { readonly id: Sent }> {
    return this.then((id) => ({ ...this.#became, id }));
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

  then<Fulfilled = Sent, Rejected = never>(
    onFulfilled?: ((id: Sent) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#awaited = true;
    this.#unheard?.catch(() => undefined);
    return this.#sent.then(onFulfilled, onRejected);
  }

  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Sent | Rejected> {
    return this.then(null, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Sent> {
    return this.then((id) => id).finally(onFinally);
  }

  [inspect.custom](): string {
    const awaited = this.#awaited ? '' : 'not awaited, ';
    const state = this.#hasFailed ? 'failed' : this.#id === undefined ? 'no id yet' : `id ${String(this.#id)}`;
    return `PendingDispatch(${this.#name} → ${this.#target()}, ${awaited}${state})`;
  }

  #choose(call: string, choice: InstanceChoice): this {
    if (this.#begun || this.#awaited) throw new AlreadyDispatchedError(this.#name, call, this.#awaited);
    this.#choice = { ...this.#choice, ...choice };
    return this;
  }

  #failed(reason: unknown): void {
    this.#hasFailed = true;
    if (this.#awaited) return showCallers(reason, this.#site);
    if (this.#manager.hearsErrors) {
      // In JavaScript, anything may have been dispatched.
      const { connection, queue } = { ...chosenOf(Object(this.#job) as object), ...this.#choice };
      this.#manager.report(reason, { during: 'a dispatch that was not awaited', name: this.#name, connection, queue });
    } else {
      const unheard = unawaitedDispatch(this.#name, reason);
      const callers = callersIn(this.#site);
      if (callers !== '') unheard.stack = `${unheard.name}: ${unheard.message}\n${callers}`;
      this.#unheard = Promise.reject(unheard);
    }
  }

  get #name(): string {
    // If a class was dispatched instead of an instance, uses the name of the class.
    const target: unknown = classOf(this.#job) ?? this.#job;
    return typeof target === 'function' ? target.name : `a ${typeof target}`;
  }

  // Printing a dispatch must neither load a configuration nor throw.
  #target(): string {
    if (this.#isEvent) return 'its listeners';
    const queue = this.#choice.queue ?? chosenOf(this.#job).queue;
    if (queue !== undefined) return queue;
    try {
      const declared = declaredRoute(definitionOfJob(this.#job, this.#manager.registry)).queue;
      if (declared !== undefined || !this.#manager.isConfigured) return declared ?? 'the default queue';
      return this.#manager.encoder.route(this.#job, this.#choice).queue;
    } catch {
      return 'nowhere';
    }
  }
}

/** Ends the stack of an error with the call of the dispatch, as an await of an async function would. */
function showCallers(error: unknown, site: CallSite | undefined): void {
  const callers = callersIn(site);
  if (callers === '' || !(error instanceof Error) || typeof error.stack !== 'string') return;
  // Dispatches that travelled together share one error.
  if (!error.stack.includes(callers)) Reflect.set(error, 'stack', `${error.stack}\n${callers}`);
}

/** The lines of a stack outside Onqueue. Empty if nothing is known. */
function callersIn(site: CallSite | undefined): string {
  const stack = site?.stack;
  // An `Error.prepareStackTrace` of the application may return anything.
  if (typeof stack !== 'string') return '';
  const lines = stack.split('\n');
  return lines.filter((line) => /^\s+at /.test(line) && !line.includes(PACKAGE)).join('\n');
}

/** A promise, because fake timers of test runners replace queueMicrotask. */
const NEXT = Promise.resolve();

/**
 * Dispatches on their way. Each begins one microtask after it was made, and a manager that closes waits for all of them: a
 * forgotten `await` must not lose a job.
 */
export class Outbox {
  /** How many are on their way. A count, because a set of them would keep each alive until a full garbage collection. */
  #inFlight = 0;
  #onLanded: (() => void)[] = [];
  readonly #land = (): void => {
    this.#inFlight -= 1;
    if (this.#inFlight > 0) return;
    const told = this.#onLanded;
    this.#onLanded = [];
    for (const tell of told) tell();
  };

  /**
   * Calls `begin` one microtask from now, in the async context of this call: in the context of another one, a job would carry
   * somebody else's tenant. Dispatches of one turn begin one right after the other, so that a store can take them in one call.
   */
  send<T>(begin: () => Promise<T> | T): Promise<T> {
    const sent = NEXT.then(begin);
    this.#inFlight += 1;
    sent.then(this.#land, this.#land);
    return sent;
  }

  /** Resolves when nothing is on its way any more. */
  async flush(): Promise<void> {
    while (this.#inFlight > 0) await new Promise<void>((resolve) => this.#onLanded.push(resolve));
  }

  /** Makes `flush` wait for it, however it ends. */
  track(sending: Promise<unknown>): void {
    this.#inFlight += 1;
    sending.then(this.#land, this.#land);
  }
}
