/**
 * Keeps the schedules of an application: each process that does so sends what is due. There is no leader, because the store
 * takes each occurrence only once, and its clock alone decides when one is due and whether it may still be sent.
 *
 * It looks every ten seconds, and at the moment of an occurrence that must not be sent early. One look reads the states of
 * all schedules in one call. No job of a worker waits for any of this.
 */
import { timeOf, within, type Clock, type Milliseconds, type Seconds, type Timer } from '../base/clock';
import { groupsOf } from '../base/collections';
import { type Application, runFor, type OperationsConnection } from '../connections/application';
import type { RecordStore } from '../connections/record-store';
import { uuidv7 } from '../payload/uuid';
import { fieldsIn, isRecord } from '../payload/values';
import {
  clockOf,
  destinationOf,
  MOST_TRIES,
  RENEWED_EVERY,
  sendOccurrence,
  stateIn,
  statesIn,
  write,
  type Destination,
  type KeptState,
} from './occurrence';
import type { Schedule } from './schedule';
import { isForOthers, StoredSchedules } from './stored-schedules';

/** Pause between two looks, give or take a twentieth, so that processes do not run in step. */
const EVERY: Milliseconds = 10_000;
/** How early an occurrence may be sent, and is sent if the store holds it back, so that a missed look does no harm. */
const AHEAD: Milliseconds = 15_000;
/** Random delay for a moment that several processes wait for, so that most of them find the occurrence already sent. */
const SPREAD: Milliseconds = 100;
/** How long the others wait for a store or a schedule that does not answer. */
const PATIENCE: Milliseconds = 1000;
/** Work that takes longer is abandoned and started again. Whatever it still does, the store takes only once. */
const LONGEST: Milliseconds = 30_000;
const CLOSING: Milliseconds = 2000;
/** How often the same error is reported. */
const TOLD_EVERY: Milliseconds = 5 * 60_000;
/** A state from further in the future was written while the store's clock was wrong. */
const FARTHEST_AHEAD: Milliseconds = 60_000;
/** Most missed occurrences that are sent. */
const MOST_MISSED = 100;

interface Kept {
  readonly schedule: Schedule;
  readonly destination: Destination;
}

interface UnderWay {
  readonly since: Milliseconds;
  readonly done: Promise<unknown>;
}

export class Keeper {
  readonly #application: Application;
  readonly #declared: () => readonly Schedule[];
  readonly #stored: (operations: OperationsConnection) => Promise<readonly Schedule[]>;
  readonly #keepings = new Map<OperationsConnection, OwnKeeping>();
  readonly #destinations = new WeakMap<Schedule, Destination>();
  readonly #told = new Map<string, Milliseconds>();
  /** The work under way for a store or a schedule: never two pieces at a time. */
  readonly #underWay = new Map<OperationsConnection | Schedule, UnderWay>();
  #timer: Timer | undefined;
  #looking: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @param declared may throw */
  constructor(
    application: Application,
    declared: () => readonly Schedule[],
    stored: (operations: OperationsConnection) => Promise<readonly Schedule[]>,
  ) {
    this.#application = application;
    this.#declared = declared;
    this.#stored = stored;
  }

  start(): void {
    this.#looking = runFor(this.#application, () => this.#lookAndWait());
  }

  /** Tells the other processes, which need not wait until this one is forgotten. Never rejects; takes two seconds at most. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    const end = async (): Promise<void> => {
      await this.#looking;
      await Promise.all([...this.#underWay.values()].map(({ done }) => done));
      await Promise.all([...this.#keepings.values()].map((own) => own.end()));
    };
    await within(this.#application.clock, CLOSING, end(), false).catch(() => undefined);
  }

  async #lookAndWait(): Promise<void> {
    const { clock, random } = this.#application;
    let next = clock.monotonic() + EVERY * (0.95 + random() / 10);
    try {
      next = Math.min(next, await this.#look());
    } catch (error) {
      this.#tell(error, 'keeping schedules');
    }
    if (this.#isClosed) return;
    this.#timer = clock.after(Math.max(next - clock.monotonic(), 0), () => this.start());
  }

  /** Returns the next moment when there is something to do, by our monotonic clock. So do all functions that it calls. */
  async #look(): Promise<Milliseconds> {
    const declared = groupsOf(this.#kept(this.#declared()), ({ destination }) => destination.operations);
    const stores = new Set([...declared.keys(), ...storesOf(this.#application)]);
    const looks = [...stores].map((store) =>
      this.#patiently(store, () => this.#lookInto(store, declared.get(store) ?? [])),
    );
    return Math.min(Infinity, ...(await Promise.all(looks)));
  }

  #kept(schedules: readonly Schedule[]): readonly Kept[] {
    return schedules.flatMap((schedule): Kept[] => {
      const destination = this.#destinationOf(schedule);
      return destination === undefined ? [] : [{ schedule, destination }];
    });
  }

  /**
   * Work that hangs must not hold up the rest: it is abandoned, and checked again after a while. @param act never rejects
   */
  async #patiently(about: OperationsConnection | Schedule, act: () => Promise<Milliseconds>): Promise<Milliseconds> {
    const { clock } = this.#application;
    const since = clock.monotonic();
    const before = this.#underWay.get(about);
    if (before !== undefined && since - before.since < LONGEST) return since + PATIENCE;
    const done = act();
    this.#underWay.set(about, { since, done });
    const end = (): void => void (this.#underWay.get(about)?.done === done && this.#underWay.delete(about));
    void done.then(end);
    try {
      return await within(clock, PATIENCE, done, false);
    } catch {
      return clock.monotonic() + PATIENCE;
    }
  }

  async #lookInto(operations: OperationsConnection, declared: readonly Kept[]): Promise<Milliseconds> {
    const { clock } = this.#application;
    try {
      const names = new Set(this.#declared().map(({ name }) => name));
      const stored = this.#kept(await this.#stored(operations)).filter(
        // In a program with another configuration its records may be elsewhere. A declared one of the same name counts.
        ({ schedule, destination }) => !names.has(schedule.name) && destination.operations === operations,
      );
      const kept = [...declared, ...stored];
      if (kept.length === 0) return Infinity;
      const own = this.#keepings.get(operations) ?? new OwnKeeping(operations, clock);
      this.#keepings.set(operations, own);
      const schedules = kept.map(({ schedule }) => schedule);
      await own.tell(schedules, EVERY * 0.9);
      const states = await statesIn(operations.records);
      const isStrange = ({ name, spec, parts: { stored: part } }: Schedule): boolean =>
        part === undefined && (states.get(name)?.spec ?? spec) !== spec;
      // We have to know something about its writer before we overwrite it.
      if (schedules.some(isStrange)) await own.tell(schedules, 0);
      const attended = kept.filter(({ schedule }) => !own.isOutdated(schedule));
      for (const one of kept) if (!attended.includes(one)) this.#standDown(one.schedule);
      const attend = (one: Kept): Promise<Milliseconds> => this.#attend(one, states.get(one.schedule.name));
      const ends = attended.map((one) => this.#patiently(one.schedule, () => attend(one)));
      return Math.min(Infinity, ...(await Promise.all(ends)));
    } catch (error) {
      // Where nothing is known to be kept, the worker itself says that the store is away.
      if (declared.length > 0 || this.#keepings.has(operations))
        this.#tell(error, `keeping schedules in '${operations.name}'`);
      return Infinity;
    }
  }

  /** If two programs share a store and, by mistake, a name, this tells them why one schedule does not run. */
  #standDown({ name, spec, parts }: Schedule): void {
    if (!this.#isToBeTold(`standing down of '${name}'`)) return;
    const message = parts.stored
      ? `The schedule '${name}' is stored, and another process declares one of that name, which counts. Put it under another name.`
      : `Another process, which was started later, declares the schedule '${name}' in another way: this one leaves it to that. ` +
        'It is so while a change is deployed; two programs on one store need different names.';
    this.#application.logger.info({ schedule: name, spec }, message);
  }

  /** Sends the due occurrences of one schedule. */
  async #attend({ schedule, destination }: Kept, known: KeptState | undefined): Promise<Milliseconds> {
    const { name, spec, parts } = schedule;
    const { stored } = parts;
    try {
      const { records } = destination.operations;
      const now = await clockOf(destination, this.#application);
      const begun = this.#application.clock.monotonic();
      let state = known;
      const isAhead = state !== undefined && Math.max(state.since, state.lastAt ?? 0) > now + FARTHEST_AHEAD;
      // A moment from further ahead was written while the store's clock was wrong.
      const start = stored !== undefined && stored.since <= now + FARTHEST_AHEAD ? stored.since : undefined;
      // What was put again, or removed meanwhile, does not make up for what was due before.
      const isEarlier = start !== undefined && state !== undefined && state.since < start;
      if (state === undefined || isAhead || isEarlier || state.spec !== spec || now - state.seenAt > RENEWED_EVERY) {
        if (stored !== undefined && !(await StoredSchedules.isStill(records, name, stored.text))) return Infinity;
        // If the cadence is the same as before, no occurrence is left out.
        const goesOn = !isAhead && !isEarlier && state?.spec.startsWith(`${parts.cadence.text}: `) === true;
        const since = goesOn ? state!.since : ((isAhead ? undefined : start) ?? now);
        const kept = isAhead ? { ...state, lastAt: undefined, sentAt: undefined } : state;
        state = await write(records, name, { ...kept, spec, since, seenAt: now }, state, parts.missed.within);
      }
      // Undefined if another process was first: the next look will tell.
      if (state !== undefined && state.pausedAt === undefined) await this.#send(schedule, destination, state, now);
      const next = destination.goesAhead ? undefined : parts.cadence.next(now);
      return next === undefined ? Infinity : begun + next - now + 1 + this.#application.random() * SPREAD;
    } catch (error) {
      this.#tell(error, `keeping the schedule '${name}'`);
      return Infinity;
    }
  }

  async #send(schedule: Schedule, destination: Destination, state: KeptState, now: Milliseconds): Promise<void> {
    let { lastAt, sentAt, sentTo, heldBy } = state;
    let skips = 0;
    let isNews = false;
    try {
      for (const at of dueOf(schedule, state, now, destination.goesAhead)) {
        const last = { sentAt, sentTo };
        const { result, queue } = await sendOccurrence(schedule, at, now, destination, this.#application, last);
        if (result === 'held') break;
        lastAt = at;
        if (result === 'before' || result === 'late') continue;
        isNews = true;
        if (typeof result === 'object' && 'duplicate' in result) {
          skips += 1;
          heldBy = result.duplicate;
        } else [sentAt, sentTo, heldBy] = [at, queue, undefined];
      }
    } catch (error) {
      this.#tell(error, `sending a job of the schedule '${schedule.name}'`);
    }
    if (lastAt === undefined || lastAt === state.lastAt) return;
    const { name, parts } = schedule;
    const { records } = destination.operations;
    // If somebody else wrote meanwhile, the occurrence is found once more, and the store refuses it as a repeat. But only this
    // process knows what became of it.
    let before: KeptState | undefined = state;
    for (let tries = 0; before !== undefined && tries < MOST_TRIES; tries += 1) {
      const isLatest = (before.lastAt ?? 0) <= lastAt;
      const own = isLatest ? { lastAt, sentAt, sentTo, heldBy, seenAt: now } : {};
      const next = { ...before, ...own, skipped: (before.skipped ?? 0) + skips };
      const isWritten = (await write(records, name, next, before, parts.missed.within)) !== undefined;
      if (isWritten || !isNews) return;
      before = await stateIn(records, name);
    }
  }

  #destinationOf(schedule: Schedule): Destination | undefined {
    let found = this.#destinations.get(schedule);
    try {
      if (found === undefined) this.#destinations.set(schedule, (found = destinationOf(schedule, this.#application)));
    } catch (error) {
      const isLeft = schedule.parts.stored !== undefined && isForOthers(error);
      if (!isLeft) this.#tell(error, `keeping the schedule '${schedule.name}'`);
    }
    return found;
  }

  #tell(error: unknown, during: string): void {
    if (!this.#isClosed && this.#isToBeTold(during)) this.#application.report(error, { during });
  }

  #isToBeTold(what: string): boolean {
    const now = this.#application.clock.monotonic();
    if (now - (this.#told.get(what) ?? -Infinity) < TOLD_EVERY) return false;
    this.#told.set(what, now);
    return true;
  }
}

/** The stores of the open connections: what users have stored in others waits for a process that works those. */
export function storesOf(application: Application): readonly OperationsConnection[] {
  return [...application.drivers].flatMap((driver) => {
    if (!driver.capabilities.reserve) return [];
    try {
      return application.operationsOf(driver) ?? [];
    } catch {
      // Its records would be on a connection that cannot be opened.
      return [];
    }
  });
}

/** The moments of the occurrences to send now, the earliest first. */
function dueOf(
  schedule: Schedule,
  { since, lastAt = since }: Pick<KeptState, 'since' | 'lastAt'>,
  now: Milliseconds,
  goesAhead: boolean,
): readonly Milliseconds[] {
  const { policy, within: back } = schedule.parts.missed;
  // The store takes none after its window.
  const from = Math.max(since, lastAt, now - back * 1000);
  const late = schedule.lastBetween(from, now, policy === 'all' ? MOST_MISSED : 1);
  return goesAhead ? [...late, ...schedule.between(Math.max(from, now), now + AHEAD, MOST_MISSED)] : late;
}

const KIND = 'schedulekeeper';
const REMEMBERED: Seconds = 60;
/** Most processes that are remembered, those that reported last. */
const MOST = 1000;

interface KeeperReport {
  readonly id: string;
  /** When it began, by the store's clock. */
  readonly since: Milliseconds;
  /** The digest of each declared schedule by its name. */
  readonly schedules: Readonly<Record<string, string>>;
  /** The names of the jobs whose stored schedules it keeps. */
  readonly jobs: readonly string[];
}

/** What live processes keep: declared schedules by name, and stored ones by the name of their job. */
export async function keptIn(
  records: RecordStore,
): Promise<{ readonly names: readonly string[]; readonly jobs: readonly string[] }> {
  const keepers = await keepersIn(records);
  return {
    names: keepers.flatMap(({ schedules }) => Object.keys(schedules)),
    jobs: keepers.flatMap(({ jobs }) => jobs),
  };
}

/**
 * This process's own report in one store. Each process reports every few seconds, and is forgotten a minute after its last report.
 * If two versions of a program run, as during a deploy, the process that was started last decides about a schedule.
 */
class OwnKeeping {
  readonly #id = uuidv7();
  readonly #operations: OperationsConnection;
  readonly #clock: Clock;
  #since: Milliseconds | undefined;
  #toldAt: Milliseconds = -Infinity;
  #others: readonly KeeperReport[] = [];

  constructor(operations: OperationsConnection, clock: Clock) {
    this.#operations = operations;
    this.#clock = clock;
  }

  /** Reports, and reads the reports of the others, unless that was done within the last `recently` milliseconds. */
  async tell(schedules: readonly Schedule[], recently: Milliseconds): Promise<void> {
    if (this.#clock.monotonic() - this.#toldAt < recently) return;
    const { records } = this.#operations;
    this.#since ??= await timeOf(this.#operations, this.#clock);
    const declared = schedules.filter(({ parts }) => parts.stored === undefined);
    const jobs = new Set(schedules.filter((one) => !declared.includes(one)).map(({ parts }) => parts.job));
    const digests = Object.fromEntries(declared.map(({ name, digest }) => [name, digest]));
    const value = JSON.stringify({ since: this.#since, schedules: digests, ...(jobs.size > 0 && { jobs: [...jobs] }) });
    await records.put([{ kind: KIND, id: this.#id, value }], REMEMBERED, MOST);
    this.#others = (await keepersIn(records)).filter(({ id }) => id !== this.#id);
    this.#toldAt = this.#clock.monotonic();
  }

  /** Whether another process decides about it, and declares it differently. A stored one is as its record says. */
  isOutdated({ name, digest, parts }: Schedule): boolean {
    if (parts.stored !== undefined) return this.#others.some((other) => Object.hasOwn(other.schedules, name));
    let last: KeeperReport = { id: this.#id, since: this.#since ?? -Infinity, schedules: { [name]: digest }, jobs: [] };
    for (const other of this.#others) {
      if (!Object.hasOwn(other.schedules, name)) continue;
      if (other.since > last.since || (other.since === last.since && other.id > last.id)) last = other;
    }
    return last.schedules[name] !== digest;
  }

  async end(): Promise<void> {
    if (this.#since !== undefined) await this.#operations.records.put([{ kind: KIND, id: this.#id, value: '' }], 0);
  }
}

async function keepersIn(records: RecordStore): Promise<readonly KeeperReport[]> {
  const found = await records.list(KIND, { limit: MOST });
  return found.map(({ id, value }) => keeperOf(id, value)).filter((keeper) => keeper !== undefined);
}

/** Undefined if another version or somebody else wrote it. It must not keep any schedule from being sent. */
function keeperOf(id: string, text: string): KeeperReport | undefined {
  const { since, schedules, jobs } = fieldsIn(text) ?? {};
  const isKeeper = typeof since === 'number' && isRecord(schedules);
  const names = Array.isArray(jobs) ? (jobs as readonly string[]) : [];
  return isKeeper ? { id, since, schedules: schedules as KeeperReport['schedules'], jobs: names } : undefined;
}
