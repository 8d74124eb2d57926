/**
 * `@Listens(SomeEvent)`: the class below runs, from a queue, each time such an event is dispatched.
 *
 * A listener is a job: a hidden class under the listener's name carries the event, and has the listener as its handler. So all
 * that jobs can do, listeners can do too.
 */
import { parentOf } from '../base/class';
import type { OnqueueError } from '../base/onqueue-error';
import { declaredIn } from '../base/declared-in';
import { checkInjection } from '../container/parameters';
import { makeResolvable } from '../container/tsyringe-scope';
import { checkOwnName, checkPrivateMembers, declareJob } from './declare';
import type { Class } from './definition';
import { nearestParent } from './definition-of';
import { invalidListener } from './errors';
import { hasHandle } from './handles';
import { isName, NAME_RULE } from './job-name';
import type { Middleware, MiddlewareFunction } from './middleware';
import type { JobOptions } from './options';
import { registry } from './registry';

/** What a listener of `E` looks like; injected parameters come after those given here. */
export interface ListenerOf<E> {
  // Properties, not methods, so that TypeScript compares the event's type strictly.
  readonly handle: (event: E, ...injected: never[]) => unknown;
  /** Called once when the listener has failed for good. */
  readonly failed?: (event: E, error: Error, ...injected: never[]) => unknown;
  /** Asked when the event is dispatched, by the process that dispatches it: whether this listener is to run. */
  readonly shouldQueue?: (event: E, ...injected: never[]) => boolean | Promise<boolean>;
  /** Wraps the run. */
  readonly middleware?: (event: E, ...injected: never[]) => readonly (Middleware | MiddlewareFunction)[];
}

/** The options of a job. Functions in them get the event: `unique: { by: (event: OrderShipped) => event.order }`. */
export type ListenerOptions = Omit<JobOptions, 'schedule'>;

/** The job that carries an event to one listener. */
export class HeardEvent {
  readonly event: object;

  constructor(event: object) {
    this.event = event;
  }
}

/** What a job is about, for people and for handlers: the job itself, or the event that it carries to a listener. */
export function subjectOf(job: object): object {
  return job instanceof HeardEvent ? job.event : job;
}

/** Methods by which a single job chooses its options. A listener's get the event first. */
const ASKED = ['tries', 'timeout', 'retryUntil', 'backoff'] as const;

/**
 * @param event its listeners also hear events of classes that extend it
 * @throws E_INVALID_LISTENER, and the errors of `@Job()` and of injection
 */
export function Listens<E extends object>(
  event: Class<E>,
  options: ListenerOptions = {},
  // oxlint-disable-next-line typescript/no-explicit-any
): (target: Class<ListenerOf<E>>, context?: ClassDecoratorContext<any>) => void {
  return function decorate(target) {
    const file = declaredIn(decorate);
    const refuse = (problem: string): OnqueueError => invalidListener(target.name, file, problem);
    if (event === undefined) {
      throw refuse(
        'the class of the event is undefined. Two files import each other: move the event into a file of its own.',
      );
    }
    if (!hasHandle(target))
      throw refuse('it has no method handle(event). (An arrow function in a field does not count.)');
    const jobs = registry();
    if (jobs.definitionOf(target) !== undefined) throw refuse('it has @Job() too. Remove one of the two.');
    if (jobs.jobOf(target) !== undefined) {
      throw refuse('it has @Listens() twice. Let both events extend one class, and listen to that.');
    }
    if (Object.hasOwn(Object(options) as object, 'schedule')) {
      throw refuse(
        'it has a schedule, but runs when its event is dispatched. Dispatch the event from a scheduled job.',
      );
    }
    const name = checkedEvent(event, refuse);
    checkInjection(target, 'listener', file);
    makeResolvable(target);
    const job = carrierFor(target);
    declareJob(job, forJobs(options), decorate, 'Listens');
    jobs.setListener(job, target, event, name, file);
  };
}

/**
 * The name of a class of events in payloads. Checks that its events can travel.
 *
 * @param given default: the class's own name
 * @throws what `refuse` makes, E_INVALID_JOB_CLASS
 */
export function checkedEvent(event: Class, refuse: (problem: string) => OnqueueError, given?: string): string {
  if (typeof event !== 'function' || event.prototype === undefined) throw refuse('the event is not a class.');
  const known = registry().nameOf(event);
  const name = given ?? known ?? event.name;
  if (known !== undefined && name !== known) throw refuse(`the event is known as '${known}' already.`);
  if (!isName(name)) throw refuse(`the class of the event needs a name: ${NAME_RULE}.`);
  for (let above: Class | undefined = event; above !== undefined; above = parentOf(above)) {
    if (!/\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(above))) continue;
    throw refuse(
      `the event ${event === above ? 'is' : 'extends'} ${above.name}, whose contents would be lost on the way.`,
    );
  }
  if (given === undefined && known === undefined) checkOwnName(name, undefined);
  checkPrivateMembers(event, undefined);
  return name;
}

function carrierFor(listener: Class): Class<HeardEvent> {
  const parent = nearestParent(listener, registry())?.target;
  const base = parent?.prototype instanceof HeardEvent ? (parent as typeof HeardEvent) : HeardEvent;
  class Carrier extends base {}
  Object.defineProperty(Carrier, 'name', { value: listener.name });
  for (const option of ASKED) {
    const ask: unknown = Reflect.get(listener.prototype, option);
    if (typeof ask !== 'function') continue;
    const value = function asked(this: HeardEvent, ...given: readonly unknown[]): unknown {
      // Without its dependencies: it is asked where the event is dispatched.
      return Reflect.apply(ask, Object.create(listener.prototype), [this.event, ...given]);
    };
    Object.defineProperty(Carrier.prototype, option, { value, configurable: true });
  }
  return Carrier;
}

function forJobs<Options extends ListenerOptions>(options: Options): Options {
  const { unique, debounce } = Object(options) as Options;
  if (unique === undefined && debounce === undefined) return options;
  return { ...options, ...(unique && { unique: byEvent(unique) }), ...(debounce && { debounce: byEvent(debounce) }) };
}

function byEvent<Option>(option: Option): Option {
  const by: unknown = Reflect.get(Object(option) as object, 'by');
  return typeof by === 'function' ? { ...option, by: (job: HeardEvent): unknown => by(job.event) } : option;
}
