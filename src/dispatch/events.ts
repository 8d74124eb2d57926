/** `Events`: sends each event to the listeners of its class and of the classes above, as one job for each listener. */
import type { Application } from '../connections/application';
import type { InstanceChoice } from '../job/choices';
import { classOf, declaredIn, type Class } from '../base/class';
import type { OnqueueError } from '../base/onqueue-error';
import { tokensOf } from '../container/parameters';
import { openRunScope } from '../container/opened-scope';
import { methodArguments, resolveHandler, runInScope } from '../container/scope';
import type { JobDefinition, JobInstance } from '../job/registry';
import type { PendingEvent } from '../job/pending';
import { checkedEvent, type HeardEvent } from '../job/declare';
import { isPlain } from '../payload/values';
import { orEndUnsent, sendBulk, keepOf, parcelOf, targetWithin, type Detour, type Target } from './send';
import type { EncodedJob } from './job-encoder';
import { invalidEvent } from './errors';
import { PendingJob } from './pending-dispatch';
import { Transaction, type Keep } from './transaction';

/** An emitter of Node.js, or one of the same kind, such as EventEmitter2. */
export interface EmitterLike {
  // oxlint-disable-next-line typescript/no-explicit-any -- what it emits is examined
  on(name: string, listener: (...values: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any
  off(name: string, listener: (...values: any[]) => void): unknown;
}

/** The classes of events, by name. */
export type EventClasses = Readonly<Record<string, Class>>;

/** For the manager behind `Queue`, use `Events`; for your own manager, `new EventBus(() => manager)`. */
export class EventBus {
  readonly #managerOf: () => Application;

  constructor(managerOf: () => Application) {
    this.#managerOf = managerOf;
  }

  /**
   * Sends an event to its listeners, which `@Listens()` declares. If it has none, nothing is sent, and the list of ids is empty.
   *
   * @throws when awaited: E_INVALID_EVENT, what a `shouldQueue()` throws, any error of the data (then nothing was sent);
   * BulkInterruptedError a store failed on the way
   */
  dispatch(event: JobInstance): PendingEvent {
    return new PendingJob(this.#managerOf(), event, {}, sendEvent);
  }

  /**
   * Dispatches what an emitter emits: `Events.connect(emitter, { 'order.shipped': OrderShipped })`. What it emits is an event of
   * that class, or a plain object with the data of one; an EventTarget gives it as `detail`. Errors do not reach the emitter: they
   * go where those of a dispatch go that nobody awaits.
   *
   * @returns the function that disconnects
   * @throws E_INVALID_EVENT
   */
  connect(source: EmitterLike | EventTarget, events: EventClasses): () => void {
    const [on, off] = listeningOf(source);
    const hears = Object.entries(events).map(([name, target]) => {
      const refuse = (problem: string): OnqueueError => invalidEvent(target, `Events.connect(), '${name}': ${problem}`);
      checkedEvent(target, refuse);
      const hear = (value: unknown): void => {
        const given = isTarget(source) ? (value as { readonly detail?: unknown }).detail : value;
        void new PendingJob(this.#managerOf(), given as object, {}, (manager, _given, choice, detour) =>
          sendEvent(manager, eventOf(target, given, name), choice, detour),
        );
      };
      return [name, hear] as const;
    });
    for (const [name, hear] of hears) on.call(source, name, hear);
    return () => {
      for (const [name, hear] of hears) off.call(source, name, hear);
    };
  }

  /**
   * Lets workers make events of classes that no listener names, because only a parent has listeners: `Events.register({
   * OrderShipped })`. The keys are the names in payloads, so this also names classes that a minifier renames.
   *
   * @throws E_INVALID_EVENT, E_DUPLICATE_JOB, E_INVALID_JOB_CLASS
   */
  register(events: EventClasses): void {
    // oxlint-disable-next-line typescript/unbound-method -- only looked for on the stack
    const file = declaredIn(EventBus.prototype.register);
    const { registry } = this.#managerOf();
    for (const [name, target] of Object.entries(events)) {
      const refuse = (problem: string): OnqueueError =>
        invalidEvent(target, `Events.register(), '${name}': ${problem}`);
      registry.registerData(checkedEvent(target, refuse, name), target, 'Event', file);
    }
  }
}

const isTarget = (source: EmitterLike | EventTarget): source is EventTarget =>
  typeof (source as Partial<EventTarget> | undefined)?.addEventListener === 'function';

type Listening = (name: string, listener: (value: unknown) => void) => unknown;

/** The methods that begin and end listening. @throws E_INVALID_EVENT */
function listeningOf(source: EmitterLike | EventTarget): readonly [on: Listening, off: Listening] {
  // oxlint-disable typescript/unbound-method -- called on the source
  if (isTarget(source)) return [source.addEventListener as Listening, source.removeEventListener as Listening];
  if (typeof source?.on === 'function' && typeof source.off === 'function') return [source.on, source.off];
  // oxlint-enable typescript/unbound-method
  throw invalidEvent(source, 'Events.connect() takes an EventEmitter, an EventEmitter2 or an EventTarget.');
}

/** @throws E_INVALID_EVENT */
function eventOf(target: Class, value: unknown, name: string): object {
  if (value instanceof (target as typeof HeardEvent)) return value;
  if (typeof value === 'object' && value !== null && isPlain(value))
    return Object.assign(Object.create(target.prototype) as object, value);
  throw invalidEvent(value, `Emit '${name}' with an instance of ${target.name}, or with an object that has its data.`);
}

async function sendEvent(
  manager: Application,
  event: object,
  choice: InstanceChoice,
  detour: Detour,
): Promise<string[]> {
  const target = classOf(event);
  if (target === undefined || target === Object || target === Array)
    throw invalidEvent(event, 'Give an instance of a class, such as new OrderShipped(1).');
  const jobs: object[] = [];
  for (const carrier of manager.registry.carriersOf(event)) {
    const wanted = isWanted(manager, carrier, event);
    if (wanted === true || (await wanted)) jobs.push(new (carrier.target as typeof HeardEvent)(event));
  }
  if (jobs.length === 0) return [];
  if (manager.registry.nameOf(target) === undefined) {
    const remedy = `Only a parent of its class has listeners, so no worker could make it: call Events.register({ ${target.name} }) below the class.`;
    throw invalidEvent(event, remedy);
  }
  const { within } = detour;
  const targetOf = (connection: string): Target => {
    const driver = manager.driver(connection);
    return within === undefined ? driver : targetWithin(driver, within.transaction);
  };
  // The jobs that carry events have no queue() of their own.
  const parcels: EncodedJob[] = [];
  const keeps: (Keep | undefined)[] = [];
  orEndUnsent(parcels, () => {
    for (const job of jobs) parcels.push(parcelOf(manager, job, choice, within) as EncodedJob);
    // The transaction around the dispatch may have ended while a listener was asked.
    const present = { ...detour, keep: detour.keep && Transaction.keep() };
    for (const [place, { connection }] of parcels.entries())
      keeps.push(keepOf(manager, jobs[place], connection, present));
    // First, so that nothing is sent if one of the stores cannot take part in the user's transaction.
    for (const [place, { connection }] of parcels.entries()) if (keeps[place] === undefined) targetOf(connection);
    for (const [place, parcel] of parcels.entries()) keeps[place]?.(parcel, manager);
  });
  const sent = parcels.filter((_, place) => keeps[place] === undefined);
  const ids = await sendBulk(sent, targetOf);
  return parcels.map((parcel, place) => (keeps[place] === undefined ? ids.shift()! : parcel.id));
}

/** Whether the listener wants the event. A promise if it has to be asked. */
function isWanted(manager: Application, { target }: JobDefinition, event: object): true | Promise<boolean> {
  const listener = manager.registry.handlerOf(target)!;
  const ask = (listener.prototype as { readonly shouldQueue?: unknown }).shouldQueue;
  return (
    typeof ask !== 'function' || answerOf(manager, listener, ask as (...given: readonly unknown[]) => unknown, event)
  );
}

async function answerOf(
  manager: Application,
  listener: Class,
  ask: (...given: readonly unknown[]) => unknown,
  event: object,
): Promise<boolean> {
  const tokens = tokensOf(listener, 'listener', ['shouldQueue']);
  const scope = await openRunScope(manager.container, { job: undefined, tokens, handler: listener });
  try {
    const asked = (): unknown =>
      Reflect.apply(ask, resolveHandler(listener, scope), methodArguments(listener, 'shouldQueue', scope, [event]));
    return Boolean(await runInScope(scope, asked));
  } finally {
    await scope.dispose();
  }
}
