/** The schedules of an application that are declared in this process: with `Queue.schedule()` and with `@Job()`. */
import type { JobDefinition, JobInstance, JobRegistry } from '../job/registry';
import type { Class } from '../base/class';
import { duplicateSchedule, invalidJobOption, placed } from '../job/errors';
import { placeOf } from '../job/option-kinds';
import { PendingSchedule } from './pending-schedule';
import { Schedule } from './schedule';
import { timing } from './timing';

/** They outlive a manager, as job classes do, because a module that declares some is evaluated only once. */
export class DeclaredSchedules {
  readonly #complete = new Map<string, Schedule>();
  readonly #pending = new Set<PendingSchedule>();
  readonly #ofJobs = new WeakMap<JobDefinition, Schedule>();

  /** @throws E_INVALID_SCHEDULE */
  // oxlint-disable-next-line typescript/no-unsafe-function-type
  declare(make: () => JobInstance, registry: JobRegistry, caller: Function): PendingSchedule {
    const pending = new PendingSchedule(make, caller);
    // A promise, because fake timers of test runners replace queueMicrotask.
    if (this.#pending.size === 0) void Promise.resolve().then(() => this.#completeAll(registry));
    this.#pending.add(pending);
    return pending;
  }

  /**
   * Schedules declared in this very turn are completed by this call.
   *
   * @throws E_INVALID_SCHEDULE, E_DUPLICATE_SCHEDULE, and what is wrong with the job of one
   */
  all(registry: JobRegistry): readonly Schedule[] {
    this.#completeAll(registry);
    const all = new Map(this.#complete);
    for (const definition of registry.all()) {
      if (definition.schedule === undefined) continue;
      const schedule = this.#ofJob(definition);
      const other = all.get(schedule.name);
      if (other !== undefined) throw duplicateSchedule(schedule.name, other.parts.origin, schedule.parts.origin);
      all.set(schedule.name, schedule);
    }
    return [...all.values()];
  }

  /** @throws the first error; the others are unhandled rejections */
  #completeAll(registry: JobRegistry): void {
    const pending = [...this.#pending];
    this.#pending.clear();
    const declared = new Map<string, Schedule>();
    const errors: unknown[] = [];
    for (const one of pending) {
      try {
        const schedule = one.complete(this.#complete, registry);
        if (schedule === undefined) continue;
        const twin = declared.get(schedule.name);
        // Two from one place in one turn: a loop that gives all the same name.
        if (twin !== undefined) throw duplicateSchedule(schedule.name, twin.parts.origin, schedule.parts.origin);
        declared.set(schedule.name, schedule);
      } catch (error) {
        errors.push(error);
      }
    }
    for (const [name, schedule] of declared) this.#complete.set(name, schedule);
    const [first, ...others] = errors;
    for (const error of others) void Promise.reject(error);
    if (first !== undefined) throw first as Error;
  }

  #ofJob(definition: JobDefinition): Schedule {
    const known = this.#ofJobs.get(definition);
    if (known !== undefined) return known;
    const { name, target, file, schedule } = definition;
    const make = (): object => new (target as Class & (new () => object))();
    const made = new Schedule({
      ...timing(schedule, placeOf(`schedule on ${placed(name, file)}`, invalidJobOption)),
      name: schedule?.name ?? name,
      job: name,
      make,
      origin: `@Job() on ${placed(name, file)}`,
    });
    this.#ofJobs.set(definition, made);
    return made;
  }
}
