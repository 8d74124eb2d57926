/** The schedules of an application, as users see them: `Queue.schedules`; and those that are declared in this process. */
import type { Class } from '../base/class';
import { dateOf, timeOf, type Milliseconds } from '../base/clock';
import { toError } from '../base/exception-text';
import { sendJob } from '../dispatch/send';
import { duplicateSchedule, invalidJobOption, placed } from '../job/errors';
import { placeOf } from '../job/option-kinds';
import type { OverlapPolicy } from '../job/options';
import type { JobDefinition, JobInstance, JobRegistry } from '../job/registry';
import { findJob } from '../operations/found-job';
import type { Application, OperationsConnection } from '../connections/application';
import { listWorkers } from '../operations/worker-record';
import { cadenceText, CronCadence, timing, type Missed } from './cadence';
import { invalidSchedule, scheduleDeclared, unknownSchedule } from './errors';
import { Keeper, keptIn, storesOf } from './keeper';
import {
  clockOf,
  destinationOf,
  MOST_TRIES,
  stateIn,
  statesIn,
  write,
  type Destination,
  type KeptState,
  type ScheduleState,
} from './occurrence';
import { PendingSchedule, Schedule } from './schedule';
import { isForOthers, StoredSchedules, type StoredScheduleOptions } from './stored-schedules';

/** A schedule and its state. */
export interface ScheduleListing {
  readonly name: string;
  /** When it is due and what it sends, for display. For an orphan, as it was last declared. */
  readonly spec: string;
  /** Undefined if it is neither declared in this process nor stored. */
  readonly declared: DeclaredSchedule | undefined;
  /** By the store's clock. Undefined if it is paused, not declared in this process, or never due again. */
  readonly next: Date | undefined;
  /** The last occurrence that was sent. Undefined if there was none. */
  readonly last: Date | undefined;
  /** Occurrences that were skipped because the job of the previous one still existed. */
  readonly skipped: number;
  /** The job because of which the last occurrence was skipped, if it still exists. */
  readonly heldBy: HoldingJob | undefined;
  /** Undefined if it is not paused. */
  readonly pausedAt: Date | undefined;
  /** A live worker keeps it, and has said so within the last minute. */
  readonly isKept: boolean;
  /** Nobody declares it any more, and it is not stored: it sends nothing, and is forgotten seven days after its last occurrence was recorded. */
  readonly isOrphan: boolean;
  /** Why it cannot be kept, for example because its connection keeps no records. */
  readonly problem: Error | undefined;
}

/** A job that keeps occurrences from being sent. */
interface HoldingJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly state: 'ready' | 'delayed' | 'running';
  /** `it waits on 'mail', which no live worker works`. */
  readonly why: string;
}

export interface DeclaredSchedule {
  /** The name of the job that it sends. */
  readonly job: string;
  /** `0 3 * * * (Europe/Amsterdam)`, `every 15 min`. */
  readonly cadence: string;
  readonly timezone: string;
  readonly missed: Missed;
  /** Undefined: `'skip'` if the store supports unique keys and `missed` is not `'all'`. */
  readonly overlap: OverlapPolicy | undefined;
  /** Where it was declared. `stored`: `Queue.schedules.put()` made it. */
  readonly origin: string;
}

/** Where the state of a schedule is. */
interface Placed {
  readonly schedule: Schedule;
  /** Undefined if its connection keeps no records. */
  readonly operations: OperationsConnection | undefined;
}

export interface OccurrencesOptions {
  /** After this moment. Default: now, by the store's clock. */
  readonly from?: Date | undefined;
  /** How many, up to 1000. Default: 5. */
  readonly count?: number | undefined;
}

export interface ComingOccurrence {
  readonly at: Date;
  /** What clocks in its time zone show then: `2027-03-28 03:00`. */
  readonly wall: string;
  /** The clocks change on that day. */
  readonly isClockChange: boolean;
}

const DAY: Milliseconds = 24 * 3600 * 1000;
/** Longer than the longest day, and shorter than two days. */
const LONGEST_DAY: Milliseconds = 28 * 3600 * 1000;
const MOST_OCCURRENCES = 1000;

export class Schedules {
  /** Which of the declared schedules this process may send by itself. */
  isDriven: (schedule: Schedule) => boolean = () => true;
  readonly #application: Application;
  readonly #stored: StoredSchedules;
  #declared = new DeclaredSchedules();
  #keepers = 0;
  #keeper: Keeper | undefined;

  constructor(application: Application) {
    this.#application = application;
    this.#stored = new StoredSchedules(application);
  }

  /** Uses the schedules of another application that this one replaces or stands in for. */
  share(declared: DeclaredSchedules): void {
    this.#declared = declared;
  }

  /** @param caller the function that the user called. @throws E_INVALID_SCHEDULE */
  // oxlint-disable-next-line typescript/no-unsafe-function-type
  declare(make: () => JobInstance, caller: Function): PendingSchedule {
    return this.#declared.declare(make, this.#application.registry, caller);
  }

  /** The schedules declared in this process. @throws what is wrong with one */
  get all(): readonly Schedule[] {
    return this.#declared.all(this.#application.registry);
  }

  /** Those that a fake sends: the declared ones, and those that were put. @throws what is wrong with one */
  async driven(): Promise<readonly Schedule[]> {
    return [...(await this.#placed()).values()].map(({ schedule }) => schedule).filter((one) => this.isDriven(one));
  }

  /**
   * Sends what is due, until the returned function is called, whose promise resolves when that is over, and never rejects.
   * Called several times, it keeps the schedules once.
   */
  keep(): () => Promise<void> {
    this.#keepers += 1;
    if (this.#keeper === undefined) {
      const isDriven = (schedule: Schedule): boolean => this.isDriven(schedule);
      this.#keeper = new Keeper(
        this.#application,
        () => this.all.filter(isDriven),
        async (operations) => (await this.#stored.in(operations)).filter(isDriven),
      );
      this.#keeper.start();
    }
    let isOver = false;
    return async () => {
      if (isOver) return;
      isOver = true;
      this.#keepers -= 1;
      if (this.#keepers > 0) return;
      const keeper = this.#keeper;
      this.#keeper = undefined;
      await keeper?.close();
    };
  }

  /**
   * Stores a schedule, or replaces the stored one of that name, from its next occurrence on: `await
   * Queue.schedules.put('report:42', { cron: '0 8 * * *', timezone: 'Europe/Amsterdam' }, new Report(42))`. Any worker that knows the
   * class sends its job. A schedule that is paused stays so.
   *
   * @throws E_INVALID_SCHEDULE, E_SCHEDULE_DECLARED, E_TOO_MANY_SCHEDULES, E_NO_RECORDS, what is wrong with its job, and what its store
   * throws
   */
  async put(name: string, options: StoredScheduleOptions, job: JobInstance): Promise<void> {
    const own = await this.#stored.put(name, options, job, (operations) => this.#checkFree(name, 'put', operations));
    // Its job may have gone to another connection before.
    for (const { records } of this.#stores()) if (records !== own.records) await StoredSchedules.remove(records, name);
  }

  /**
   * Removes a stored schedule; false if there is none. A job that was already sent, up to 15 seconds ahead, still runs.
   *
   * @throws E_SCHEDULE_DECLARED, what its store throws
   */
  async remove(name: string): Promise<boolean> {
    let isRemoved = false;
    for (const { records } of this.#stores()) isRemoved = (await StoredSchedules.remove(records, name)) || isRemoved;
    if (!isRemoved) for (const operations of this.#stores()) await this.#checkFree(name, 'remove', operations);
    return isRemoved;
  }

  /**
   * The schedules of this process and those known to the stores, by name. @throws what is wrong with one, and what a store
   * throws
   */
  async list(): Promise<readonly ScheduleListing[]> {
    const known = new Map<string, KeptState>();
    const kept = { names: new Set<string>(), jobs: new Set<string>() };
    const placed = await this.#placed();
    for (const { records } of this.#stores()) {
      for (const [name, state] of await statesIn(records)) known.set(name, state);
      const { names, jobs } = await keptIn(records);
      for (const name of names) kept.names.add(name);
      for (const job of jobs) kept.jobs.add(job);
    }
    const names = [...new Set([...placed.keys(), ...known.keys()])].toSorted();
    return Promise.all(
      names.map((name) => {
        const schedule = placed.get(name)?.schedule;
        const isKept = schedule?.parts.stored ? kept.jobs.has(schedule.parts.job) : kept.names.has(name);
        return this.#listing(name, schedule, known.get(name), isKept);
      }),
    );
  }

  /**
   * Sends no more of its jobs until it is resumed. Jobs sent ahead, by 15 seconds at most, still run. False if it was paused
   * already. @throws E_UNKNOWN_SCHEDULE, E_NO_RECORDS
   */
  pause(name: string): Promise<boolean> {
    return this.#change(name, (state, now) => (state.pausedAt === undefined ? { ...state, pausedAt: now } : undefined));
  }

  /**
   * Resumes it; occurrences missed meanwhile are not sent. False if it was not paused. @throws E_UNKNOWN_SCHEDULE,
   * E_NO_RECORDS
   */
  resume(name: string): Promise<boolean> {
    return this.#change(name, (state, now) =>
      state.pausedAt === undefined ? undefined : { ...state, pausedAt: undefined, since: now },
    );
  }

  /**
   * Sends its job now, even if it is paused or its job still exists; returns the id. @throws E_UNKNOWN_SCHEDULE, what is wrong
   * with its job, and what its store throws
   */
  async run(name: string): Promise<string> {
    const { make, connection, queue } = (await this.named(name)).parts;
    const job = make();
    const target = this.#application.driver(this.#application.encoder.route(job, { connection }).connection);
    const at = await timeOf(target, this.#application.clock);
    const choice = { connection, queue, delay: 0, occurrence: { schedule: name, at } };
    return sendJob(this.#application, job, choice, {});
  }

  /** Its next occurrences. @throws E_UNKNOWN_SCHEDULE, E_INVALID_SCHEDULE */
  async occurrences(name: string, { from, count = 5 }: OccurrencesOptions = {}): Promise<readonly ComingOccurrence[]> {
    const schedule = await this.named(name);
    if (!Number.isInteger(count) || count < 1 || count > MOST_OCCURRENCES)
      throw invalidSchedule('count', count, `Give a whole number from 1 to ${MOST_OCCURRENCES}.`);
    const start = from === undefined ? await this.#nowAt(this.#destinationOf(schedule)) : from.getTime();
    if (Number.isNaN(start)) throw invalidSchedule('from', from, 'Give a date.');
    const { zone } = schedule.parts.cadence;
    const midnights = new CronCadence('0 0 * * *', zone);
    return schedule.between(start, Infinity, count).map((at) => {
      const end = midnights.next(at)!;
      const begin = midnights.next(end - LONGEST_DAY)!;
      // If a zone skips a whole day, the following day has all its hours.
      const isClockChange = end - begin !== DAY || zone.offsetAt(begin - 1) !== zone.offsetAt(begin);
      return { at: new Date(at), wall: zone.wallText(at), isClockChange };
    });
  }

  async #listing(
    name: string,
    schedule: Schedule | undefined,
    state: KeptState | undefined,
    isKept: boolean,
  ): Promise<ScheduleListing> {
    const destination = schedule && this.#destinationOf(schedule);
    const isComing = destination !== undefined && state?.pausedAt === undefined;
    const next = isComing ? schedule?.parts.cadence.next(await this.#nowAt(destination)) : undefined;
    return {
      name,
      spec: schedule?.spec ?? state?.spec ?? '',
      declared: schedule && declarationOf(schedule),
      next: dateOf(next),
      last: dateOf(state?.sentAt),
      skipped: state?.skipped ?? 0,
      heldBy: await this.#holder(destination, state?.heldBy),
      pausedAt: dateOf(state?.pausedAt),
      isKept,
      isOrphan: !isKept && schedule === undefined,
      problem: destination instanceof Error && !(isKept && isForOthers(destination)) ? destination : undefined,
    };
  }

  async #holder(destination: Destination | Error | undefined, id: string | undefined): Promise<HoldingJob | undefined> {
    if (id === undefined || destination === undefined || destination instanceof Error) return undefined;
    const { target } = destination;
    const found = await findJob(target, this.#application, id);
    if (found.state !== 'ready' && found.state !== 'delayed' && found.state !== 'running') return undefined;
    const { name, queue, state, attempts } = found;
    const isWorked = async (): Promise<boolean> => {
      const workers = await listWorkers(target, this.#application);
      return workers.some((worker) => worker.connection === target.name && worker.queues.includes(queue));
    };
    const why =
      state === 'running'
        ? 'it runs'
        : !(await isWorked())
          ? `it waits on '${queue}', which no live worker works`
          : attempts > 0
            ? `it waits on '${queue}' for its next attempt`
            : `it waits on '${queue}'`;
    return { id, name, queue, state, why };
  }

  /** Or why it has none. */
  #destinationOf(schedule: Schedule): Destination | Error {
    try {
      return destinationOf(schedule, this.#application);
    } catch (error) {
      return toError(error);
    }
  }

  #nowAt(destination: Destination | Error): Promise<Milliseconds> | Milliseconds {
    if (destination instanceof Error) return this.#application.clock.now();
    return clockOf(destination, this.#application);
  }

  /** @throws E_UNKNOWN_SCHEDULE */
  async named(name: string): Promise<Schedule> {
    // One of the code needs no store: a program may only ask when it comes up.
    const declared = this.all.find((schedule) => schedule.name === name);
    if (declared !== undefined) return declared;
    const placed = await this.#placed();
    return placed.get(name)?.schedule ?? unknownAmong(name, placed);
  }

  /** Those that are declared, and those that are stored, by name. Of two with one name, the declared one. */
  async #placed(): Promise<ReadonlyMap<string, Placed>> {
    const placed = new Map<string, Placed>();
    for (const operations of this.#stores())
      for (const schedule of await this.#stored.in(operations)) placed.set(schedule.name, { schedule, operations });
    for (const schedule of this.all) {
      const destination = this.#destinationOf(schedule);
      const operations = destination instanceof Error ? undefined : destination.operations;
      placed.set(schedule.name, { schedule, operations });
    }
    return placed;
  }

  /** @throws E_SCHEDULE_DECLARED this process declares it, or another one that keeps schedules in this store */
  async #checkFree(name: string, call: string, { records }: OperationsConnection): Promise<void> {
    const own = this.all.find((schedule) => schedule.name === name);
    if (own !== undefined) throw scheduleDeclared(name, call, own.parts.origin);
    const { names } = await keptIn(records);
    if (names.includes(name)) throw scheduleDeclared(name, call, 'the program of a worker');
  }

  /** The stores that may hold states of schedules. */
  #stores(): ReadonlySet<OperationsConnection> {
    const stores = new Set<OperationsConnection>();
    const application = this.#application;
    for (const schedule of this.all) {
      const destination = this.#destinationOf(schedule);
      if (!(destination instanceof Error)) stores.add(destination.operations);
    }
    try {
      stores.add(application.neededOperationsOf(application.driver(application.defaultConnection)));
    } catch {
      // This connection keeps no records.
    }
    for (const store of storesOf(application)) stores.add(store);
    return stores;
  }

  /** @param change returns the new state; undefined if nothing has to change */
  async #change(
    name: string,
    change: (state: ScheduleState, now: Milliseconds) => ScheduleState | undefined,
  ): Promise<boolean> {
    const application = this.#application;
    const placed = await this.#placed();
    const { schedule, operations: own } = placed.get(name) ?? {};
    // Of a declared one, what is wrong with it is thrown.
    const destination = schedule && !schedule.parts.stored ? destinationOf(schedule, application) : undefined;
    for (const operations of own === undefined ? this.#stores() : [own]) {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const before = await stateIn(operations.records, name);
        if (before === undefined && schedule === undefined) break;
        const now = await clockOf(destination ?? { target: operations, operations }, application);
        const changed = change(before ?? { spec: schedule?.spec ?? '', since: now, seenAt: now }, now);
        if (changed === undefined) return false;
        const back = schedule?.parts.missed.within ?? 0;
        if ((await write(operations.records, name, { ...changed, seenAt: now }, before, back)) !== undefined)
          return true;
      }
    }
    return unknownAmong(name, placed);
  }
}

function unknownAmong(name: string, placed: ReadonlyMap<string, Placed>): never {
  throw unknownSchedule(name, [...placed.keys()]);
}

function declarationOf({ parts }: Schedule): DeclaredSchedule {
  const { job, cadence, missed, overlap, origin } = parts;
  return { job, cadence: cadenceText(cadence.text), timezone: cadence.zone.name, missed, overlap, origin };
}

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
   * Those declared in this very turn are completed by this call. @throws E_INVALID_SCHEDULE, E_DUPLICATE_SCHEDULE, and what is
   * wrong with a job
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
