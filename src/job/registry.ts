/** Knows every job class, its handler, and the names that stand for classes in payloads. One for each process. */
import type { Class, JobDefinition } from './definition';
import { isOneFile } from '../base/declared-in';
import { isMinified } from '../base/class';
import { VERSION } from '../version';
import { duplicateJob, invalidHandler, invalidJobClass, type NamedClass, placed, twoVersions } from './errors';

const SLOT = Symbol.for('onqueue.registry');

/** Prefix of the names of jobs that are part of Onqueue. */
export const BUILT_IN = 'onqueue:';

interface Claim extends NamedClass {
  readonly target: Class;
  /** Absent for middleware. */
  readonly definition?: JobDefinition;
}

type Handler = Pick<Claim, 'target' | 'name' | 'file'>;

export class JobRegistry {
  /** Also has classes of which another evaluation is in force: their instances are still dispatched, by the same name. */
  readonly #definitions = new WeakMap<Class, JobDefinition>();
  readonly #names = new WeakMap<Class, string>();
  /** Jobs and middleware share one namespace: a payload's `types` tells classes apart by name alone. */
  readonly #claims = new Map<string, Claim>();
  /** By the job's name, so that a job that is loaded again keeps its handler. */
  readonly #handlers = new Map<string, Handler>();
  readonly #handlerClasses = new WeakSet<Class>();
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
  register(definition: JobDefinition): void {
    const { name, aliases, target, file } = definition;
    if (this.#definitions.has(target)) {
      throw invalidJobClass(target.name, file, 'has @Job() twice. Put all options into one.');
    }
    const before = this.find(name);
    this.#claim([name, ...aliases], { target, name: target.name, file, decorator: 'Job', definition });
    this.#definitions.set(target, definition);
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
    return this.#definitions.get(target);
  }

  /** All job classes of the user, without those that a newer evaluation has replaced. */
  all(): JobDefinition[] {
    const definitions = [...this.#claims.values()].map(({ definition }) => definition);
    return [...new Set(definitions)].filter(
      (definition) => definition !== undefined && !definition.name.startsWith(BUILT_IN),
    ) as JobDefinition[];
  }

  handlerOf(job: Class): Class | undefined {
    return this.#handlers.get(this.#definitions.get(job)?.name ?? '')?.target;
  }

  /**
   * @param job a class with a definition
   * @throws E_INVALID_HANDLER the job already has another handler
   */
  setHandler(job: Class, handler: Class, file?: string): void {
    const { name = '' } = this.#definitions.get(job) ?? {};
    const other = this.#handlers.get(name);
    const claim = { target: handler, name: handler.name, file };
    if (other !== undefined && other.target !== handler && !isEvaluatedAgain(other, claim)) {
      const problem = `${job.name} already has the handler ${placed(other.name, other.file)}.`;
      throw invalidHandler(handler.name, job.name, file, problem);
    }
    this.#handlerClasses.add(handler);
    if (other === undefined || !this.#keepsFirst) this.#handlers.set(name, claim);
  }

  /** Lets payloads name a class of middleware. @throws E_DUPLICATE_JOB */
  registerMiddleware(name: string, target: Class, file?: string): void {
    this.#claim([name], { target, name: target.name, file, decorator: 'Middleware' });
    this.#names.set(target, name);
  }

  /** Whether the class was declared as a job, a handler or middleware. */
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
      const isSame = name.startsWith(BUILT_IN) || isEvaluatedAgain(first, claim);
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
