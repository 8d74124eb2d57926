/** Knows every job class, its handler, and the names that stand for classes in payloads. One for each process. */
import { classOf, parentOf, isOneFile, isMinified, type Class } from '../base/class';
import type { JobFormat, JobOptions, ScheduleOptions } from './options';
import { VERSION } from '../version';
import {
  duplicateJob,
  invalidHandler,
  invalidJobClass,
  placed,
  twoVersions,
  type JobDecoratorName,
  type NamedClass,
} from './errors';

/** An instance of a job class, not the class itself: functions are the only objects with this member. */
export type JobInstance = object & { readonly [Symbol.hasInstance]?: never };

export interface JobDefinition {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly version: number | undefined;
  readonly upgrade: JobOptions['upgrade'];
  readonly target: Class;
  /** Undefined: Onqueue's own. */
  readonly format?: JobFormat | undefined;
  readonly schedule?: ScheduleOptions | undefined;
  /** Own options over those of the parents. The fields above are never inherited. */
  readonly options: Readonly<Omit<JobOptions, 'name' | 'aliases' | 'version' | 'upgrade' | 'schedule' | 'format'>>;
  /** Where the class was declared, if the stack told. */
  readonly file: string | undefined;
}

const SLOT = Symbol.for('onqueue.registry');

/** Prefix of the names of jobs that are part of Onqueue. */
export const BUILT_IN = 'onqueue:';

interface Claim extends NamedClass {
  readonly target: Class;
  /** Absent for middleware and events. */
  readonly definition?: JobDefinition;
  readonly isAgain?: boolean | undefined;
}

type Handler = Pick<Claim, 'target' | 'name' | 'file'>;

export class JobRegistry {
  /** By prototype. Also has classes of which another evaluation is in force: their instances are still dispatched, by the same name. */
  readonly #definitions = new WeakMap<object, JobDefinition>();
  readonly #names = new WeakMap<Class, string>();
  /** Jobs, middleware and events share one namespace: a payload's `types` tells classes apart by name alone. */
  readonly #claims = new Map<string, Claim>();
  /** By the job's name, so that a job that is loaded again keeps its handler. */
  readonly #handlers = new Map<string, Handler>();
  readonly #handlerClasses = new WeakSet<Class>();
  /** The jobs that carry events to listeners. */
  readonly #carriers = new WeakMap<Class, JobDefinition>();
  /** The names of these jobs, in the order of their declarations, each with the name of its event. */
  readonly #heard = new Map<string, string>();
  #keepsFirst = false;

  /**
   * While `load` runs, a second evaluation of a class does not replace the first. The configuration's loader may evaluate the
   * modules of the program again, but stubs and container registrations are for the classes that the program imports.
   */
  keepingFirst<Result>(load: () => Result): Result {
    this.#keepsFirst = true;
    try {
      return load();
    } finally {
      this.#keepsFirst = false;
    }
  }

  /** @throws E_DUPLICATE_JOB, E_INVALID_JOB_CLASS */
  register(definition: JobDefinition, decorator: JobDecoratorName = 'Job'): void {
    const { name, aliases, target, file } = definition;
    if (this.#carriers.has(target)) {
      throw invalidJobClass(target.name, file, 'has @Listens() too. Remove one of the two.');
    }
    if (this.#definitions.has(target.prototype)) {
      throw invalidJobClass(target.name, file, 'has @Job() twice. Put all options into one.');
    }
    const before = this.find(name);
    this.#claim([name, ...aliases], { target, name: target.name, file, decorator, definition });
    this.#definitions.set(target.prototype, definition);
    this.#names.set(target, name);
    if (this.find(name) !== definition) return;
    // The class was rewritten and now has its own handle().
    if (before !== undefined && !hasHandle(before) && hasHandle(definition)) this.#handlers.delete(name);
  }

  /** By name or alias. If a class was evaluated more than once, gives the one in force: as a rule, the newest. */
  find(name: string): JobDefinition | undefined {
    return this.#claims.get(name)?.definition;
  }

  /** Only for this very class: a subclass needs its own `@Job()`. */
  definitionOf(target: Class): JobDefinition | undefined {
    return this.#definitions.get(target.prototype);
  }

  /** For an instance of this very class. Undefined for anything else: in JavaScript, anything may have been dispatched. */
  definitionFor(job: unknown): JobDefinition | undefined {
    return typeof job === 'object' && job !== null
      ? this.#definitions.get(Object.getPrototypeOf(job) as object)
      : undefined;
  }

  /** All job classes of the user, without those that a newer evaluation has replaced. */
  all(): JobDefinition[] {
    const definitions = [...this.#claims.values()].map(({ definition }) => definition);
    return [...new Set(definitions)].filter(
      (definition) => definition !== undefined && !definition.name.startsWith(BUILT_IN),
    ) as JobDefinition[];
  }

  handlerOf(job: Class): Class | undefined {
    return this.#handlers.get(this.#definitions.get(job.prototype)?.name ?? '')?.target;
  }

  /**
   * @param job a class with a definition
   * @throws E_INVALID_HANDLER the job already has another handler
   */
  setHandler(job: Class, handler: Class, file?: string): void {
    const { name = '' } = this.definitionOf(job) ?? {};
    const other = this.#handlers.get(name);
    const claim = { target: handler, name: handler.name, file };
    if (other !== undefined && other.target !== handler && !isEvaluatedAgain(other, claim)) {
      const problem = `${job.name} already has the handler ${placed(other.name, other.file)}.`;
      throw invalidHandler(handler.name, job.name, file, problem);
    }
    this.#handlerClasses.add(handler);
    if (other === undefined || !this.#keepsFirst) this.#handlers.set(name, claim);
  }

  /**
   * Makes a class the listener of an event, whose name is given, run by a job with a definition.
   *
   * @throws E_DUPLICATE_JOB, E_INVALID_HANDLER
   */
  setListener(job: Class, listener: Class, event: Class, name: string, file?: string): void {
    const definition = this.definitionOf(job)!;
    // Nothing tells the file of an event. If this listener has heard an event of this name before, it was evaluated again.
    this.registerData(name, event, 'Event', file, this.#heard.get(definition.name) === name);
    this.setHandler(job, listener, file);
    this.#carriers.set(listener, definition);
    if (!this.#keepsFirst || !this.#heard.has(definition.name)) this.#heard.set(definition.name, name);
  }

  /** The job that carries events to a listener. */
  jobOf(listener: Class): JobDefinition | undefined {
    return this.#carriers.get(listener);
  }

  /** The jobs that carry an event to the listeners of its class and of the classes above, in the order of their declarations. */
  carriersOf(event: object): JobDefinition[] {
    const names = new Set<string | undefined>();
    for (let target = classOf(event); target !== undefined; target = parentOf(target))
      names.add(this.#names.get(target));
    return [...this.#heard].flatMap(([job, heard]) => (names.has(heard) ? (this.find(job) ?? []) : []));
  }

  /**
   * Lets payloads name a class of middleware or of events.
   *
   * @param isAgain whether a class that has this name already is this one, evaluated before. Default: if the files agree.
   * @throws E_DUPLICATE_JOB
   */
  registerData(name: string, target: Class, decorator: 'Middleware' | 'Event', file?: string, isAgain?: boolean): void {
    this.#claim([name], { target, name: target.name, file, decorator, isAgain });
    this.#names.set(target, name);
  }

  /** Whether the class was declared as a job, a handler, a listener, an event or middleware. */
  knows(target: Class): boolean {
    return this.#names.has(target) || this.#handlerClasses.has(target);
  }

  /** The name of a registered class in payloads. */
  nameOf(target: Class): string | undefined {
    return this.#names.get(target);
  }

  classOf(name: string): Class | undefined {
    return this.#claims.get(name)?.target;
  }

  // A class that is evaluated again (a reload) replaces the old one completely, including its aliases, unless the first is kept.
  #claim(names: readonly string[], claim: Claim): void {
    const before = new Set<Claim>();
    for (const name of names) {
      const first = this.#claims.get(name);
      if (first === undefined || first.target === claim.target) continue;
      // Each copy of the package has its own classes for the jobs that are part of Onqueue.
      const isSame = name.startsWith(BUILT_IN) || (claim.isAgain ?? isEvaluatedAgain(first, claim));
      if (first.decorator !== claim.decorator || !isSame) {
        throw duplicateJob(name, first, claim);
      }
      before.add(first);
    }
    if (this.#keepsFirst && before.size > 0) return;
    for (const [name, first] of this.#claims) if (before.has(first)) this.#claims.delete(name);
    for (const name of names) this.#claims.set(name, claim);
  }
}

function hasHandle({ target }: JobDefinition): boolean {
  return 'handle' in target.prototype;
}

/**
 * Whether two classes are one that was evaluated twice: same name and same file, as far as they are known. A minifier may name
 * one class differently in each chunk that contains it.
 */
function isEvaluatedAgain(first: Omit<NamedClass, 'decorator'>, second: Omit<NamedClass, 'decorator'>): boolean {
  if (first.file !== undefined && second.file !== undefined) {
    return first.name === second.name && isOneFile(first.file, second.file);
  }
  return first.name === second.name ? first.name !== '' : isMinified(first.name) && isMinified(second.name);
}

/**
 * Only in production, where code is minified: after the next build, waiting jobs would run as another class.
 *
 * @throws E_INVALID_JOB_CLASS
 */
export function checkOwnName(name: string, file: string | undefined): void {
  if (process.env['NODE_ENV'] !== 'production' || !isMinified(name)) return;
  const problem =
    'has a name that a minifier seems to have made: the next build may give it to another class, and waiting jobs would ' +
    "run as that class. Name it: name: 'SendMail' in its decorator, or have the bundler keep the names of classes.";
  throw invalidJobClass(name, file, problem);
}

/** The registry, and the copy of the package that it belongs to. */
interface Slot {
  readonly version: string;
  readonly file: string;
  readonly registry: JobRegistry;
}

/**
 * Kept on `globalThis`, so that modules that are loaded again find the same jobs.
 *
 * @throws E_TWO_VERSIONS
 */
export function registry(): JobRegistry {
  const slots = globalThis as { [SLOT]?: Slot };
  const slot = (slots[SLOT] ??= { version: VERSION, file: __filename, registry: new JobRegistry() });
  if (slot.version !== VERSION) throw twoVersions(slot, { version: VERSION, file: __filename });
  return slot.registry;
}
