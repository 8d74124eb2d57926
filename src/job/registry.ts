/** Knows every job class, its handler, and the names that stand for classes in payloads. One for each process. */
import type { Class, JobDefinition } from './definition';
import { VERSION } from '../version';
import {
  DuplicateJobError,
  InvalidHandlerError,
  InvalidJobClassError,
  type NamedClass,
  TwoVersionsError,
} from './errors';

const SLOT = Symbol.for('onqueue.registry');

interface Claim extends NamedClass {
  readonly target: Class;
}

export class JobRegistry {
  readonly #definitions = new Map<Class, JobDefinition>();
  readonly #byName = new Map<string, JobDefinition>();
  readonly #handlers = new Map<Class, Class>();
  readonly #names = new Map<Class, string>();
  /** Jobs and middleware share one space of names: a payload's `types` tells classes apart by their names alone. */
  readonly #claims = new Map<string, Claim>();

  /** @throws DuplicateJobError, InvalidJobClassError */
  register(definition: JobDefinition): void {
    const { name, aliases, target, file } = definition;
    if (this.#definitions.has(target)) {
      throw new InvalidJobClassError(target.name, file, 'bears @Job() twice. Put all options into one.');
    }
    const names = [name, ...aliases];
    const claim: Claim = { target, name: target.name, file, decorator: 'Job' };
    for (const claimed of names) this.#check(claimed, claim);
    for (const claimed of names) {
      this.#claims.set(claimed, claim);
      this.#byName.set(claimed, definition);
    }
    this.#definitions.set(target, definition);
    this.#names.set(target, name);
  }

  /** By its name or an alias. */
  find(name: string): JobDefinition | undefined {
    return this.#byName.get(name);
  }

  /** Of this very class: a subclass needs a `@Job()` of its own. */
  definitionOf(target: Class): JobDefinition | undefined {
    return this.#definitions.get(target);
  }

  all(): JobDefinition[] {
    return [...this.#definitions.values()];
  }

  handlerOf(job: Class): Class | undefined {
    return this.#handlers.get(job);
  }

  /** @throws InvalidHandlerError when the job has another one */
  setHandler(job: Class, handler: Class, file?: string): void {
    const other = this.#handlers.get(job);
    if (other !== undefined && other !== handler) {
      throw new InvalidHandlerError(handler.name, job.name, file, `${job.name} has the handler ${other.name} already.`);
    }
    this.#handlers.set(job, handler);
  }

  /** Makes a class of middleware one that payloads may name. @throws DuplicateJobError */
  registerMiddleware(name: string, target: Class, file?: string): void {
    const claim: Claim = { target, name: target.name, file, decorator: 'Middleware' };
    this.#check(name, claim);
    this.#claims.set(name, claim);
    this.#names.set(target, name);
  }

  /** What stands for a registered class in payloads. */
  nameOf(target: Class): string | undefined {
    return this.#names.get(target);
  }

  classOf(name: string): Class | undefined {
    return this.#claims.get(name)?.target;
  }

  #check(name: string, claim: Claim): void {
    const first = this.#claims.get(name);
    if (first !== undefined && first.target !== claim.target) throw new DuplicateJobError(name, first, claim);
  }
}

/** The registry, and whose it is. */
interface Slot {
  readonly version: string;
  readonly file: string;
  readonly registry: JobRegistry;
}

/**
 * On `globalThis`, for modules that are loaded again: they must find the same jobs.
 *
 * @throws TwoVersionsError
 */
export function registry(): JobRegistry {
  const slots = globalThis as { [SLOT]?: Slot };
  const slot = (slots[SLOT] ??= { version: VERSION, file: __filename, registry: new JobRegistry() });
  if (slot.version !== VERSION) throw new TwoVersionsError(slot, { version: VERSION, file: __filename });
  return slot.registry;
}
