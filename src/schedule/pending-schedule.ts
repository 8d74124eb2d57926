/**
 * `Queue.schedule(() => new Prune('30d')).daily().at('03:00')`: a schedule that is being declared.
 *
 * There is no last call: it is complete a microtask after it was begun. What is wrong with an argument is thrown by the call that
 * was given it; what only the whole can tell, such as a name that another one has, is an unhandled rejection then, whose stack leads
 * to where it was begun.
 */
import { declaredIn, relativeFile } from '../base/declared-in';
import { PendingChain } from '../job/chain';
import type { JobInstance } from '../job/definition';
import { checkInstance, definitionOfJob } from '../job/definition-of';
import type { Duration } from '../job/duration';
import { duplicateSchedule } from '../job/errors';
import type { Place } from '../job/option-kinds';
import { checkQueueName } from '../job/queue-name';
import type { JobRegistry } from '../job/registry';
import { declaredDebouncing } from '../job/resolve-options';
import type { MissedPolicy, OverlapPolicy } from '../job/schedule';
import { type Cadence, cronIn, span, UTC, zone } from './cadence';
import { invalidSchedule, scheduleDeclared } from './errors';
import { Schedule } from './schedule';
import { LATEST, missed, overlap, scheduleName, SPANS_HAVE_NO_ZONE, together } from './timing';
import type { Zone } from './zone';

export type Weekday = 'sun' | 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat';

const WEEKDAYS: readonly string[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] satisfies Weekday[];

/** The schedules that are there, by their names. */
type Known = ReadonlyMap<string, Schedule>;

export class PendingSchedule {
  readonly #make: () => JobInstance;
  readonly #site: Error;
  readonly #file: string | undefined;
  /** `refused`: a call was, and nothing is declared. */
  #state: 'open' | 'refused' | 'complete' = 'open';
  #name: string | undefined;
  /** A cron text, or a span. */
  #when: string | Cadence | undefined;
  /** The fields of a cron behind the time of day; undefined: it is said otherwise. */
  #days: string | undefined;
  #zone: Zone | undefined;
  #missed = LATEST;
  #overlap: OverlapPolicy | undefined;
  #connection: string | undefined;
  #queue: string | undefined;

  /**
   * @param caller the function that was called: the place of the call is read from the stack
   * @throws E_INVALID_SCHEDULE
   */
  // oxlint-disable-next-line typescript/no-unsafe-function-type
  constructor(make: () => JobInstance, caller: Function) {
    if (typeof make !== 'function' || /^class\b/.test(Function.prototype.toString.call(make)))
      throw invalidSchedule('Queue.schedule()', make, 'Give a function that makes the job: () => new Prune().');
    this.#make = make;
    this.#file = declaredIn(caller);
    this.#site = new Error('A schedule was declared here.');
    Error.captureStackTrace(this.#site, caller);
  }

  /** Five fields: minute, hour, day of the month, month, weekday. @throws E_INVALID_SCHEDULE */
  cron(cron: string): this {
    return this.#say('cron', (place) => {
      cronIn(cron, UTC, place);
      this.#comesUp(cron, place);
    });
  }

  /** The multiples of a span since 1970 in UTC. @throws E_INVALID_SCHEDULE, E_INVALID_DURATION */
  every(length: Duration): this {
    return this.#say('every', (place) => {
      const cadence = span(length, place);
      if (this.#zone !== undefined) throw place.refuse(length, SPANS_HAVE_NO_ZONE);
      this.#comesUp(cadence, place);
    });
  }

  everyMinute(): this {
    return this.#say('everyMinute', (place) => this.#comesUp('* * * * *', place));
  }

  /** At this minute of each hour. @throws E_INVALID_SCHEDULE */
  hourlyAt(minute: number): this {
    return this.#say('hourlyAt', (place) => {
      checkWhole(minute, 0, 59, place);
      this.#comesUp(`${minute} * * * *`, place);
    });
  }

  /** At midnight, or as `at()` says. */
  daily(): this {
    return this.#say('daily', (place) => this.#comesUpOn('* * *', place));
  }

  /** From Monday to Friday, at midnight or as `at()` says. */
  weekdays(): this {
    return this.#say('weekdays', (place) => this.#comesUpOn('* * 1-5', place));
  }

  /** Each week on this day, at midnight or as `at()` says. @throws E_INVALID_SCHEDULE */
  weekly(day: Weekday): this {
    return this.#say('weekly', (place) => {
      const number = WEEKDAYS.indexOf(day);
      if (number < 0) throw place.refuse(day, `give one of ${WEEKDAYS.join(', ')}`);
      this.#comesUpOn(`* * ${number}`, place);
    });
  }

  /** On this day of each month that has it, at midnight or as `at()` says. @throws E_INVALID_SCHEDULE */
  monthly(day = 1): this {
    return this.#say('monthly', (place) => {
      checkWhole(day, 1, 31, place);
      this.#comesUpOn(`${day} * *`, place);
    });
  }

  /** The time of day, `'03:00'`, behind `daily()`, `weekdays()`, `weekly()` or `monthly()`. @throws E_INVALID_SCHEDULE */
  at(time: string): this {
    return this.#say('at', (place) => {
      const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
      if (hour === undefined) throw place.refuse(time, "give a time of day, such as '03:00'");
      if (this.#days === undefined)
        throw place.refuse(time, 'it says no day: write daily(), weekdays(), weekly() or monthly() before it');
      this.#when = `${Number(minute)} ${Number(hour)} ${this.#days}`;
    });
  }

  /** Whose clocks the times are read from. Default: UTC. @throws E_INVALID_SCHEDULE */
  timezone(name: string): this {
    return this.#say('timezone', (place) => {
      const found = zone(name, place);
      if (typeof this.#when === 'object') throw place.refuse(name, SPANS_HAVE_NO_ZONE);
      this.#zone = found;
    });
  }

  /** Default: the name of the job. @throws E_INVALID_SCHEDULE */
  name(name: string): this {
    return this.#say('name', (place) => (this.#name = scheduleName(name, place)));
  }

  /**
   * What becomes of occurrences that nobody sent in time: `'latest'` sends the newest one, within an hour; `'skip'` does so within a
   * minute; `'all'` sends up to 100, within a day. Default: `'latest'`. @throws E_INVALID_SCHEDULE, E_INVALID_DURATION
   */
  missed(policy: MissedPolicy, within?: Duration): this {
    return this.#say('missed', (place) => (this.#missed = missed([policy, within], place)));
  }

  /**
   * What becomes of an occurrence while the job of the one before it waits, runs, or is to be tried again. Default: `'skip'`, where
   * the store keeps unique keys, and not all that were missed are to run. @throws E_INVALID_SCHEDULE
   */
  overlap(policy: OverlapPolicy): this {
    return this.#say('overlap', (place) => (this.#overlap = overlap(policy, place)));
  }

  /** @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    return this.#say('onQueue', ({ subject }) => {
      checkQueueName(queue, subject);
      this.#queue = queue;
    });
  }

  /** @throws E_INVALID_SCHEDULE */
  onConnection(connection: string): this {
    return this.#say('onConnection', (place) => {
      if (typeof connection !== 'string' || connection === '') throw place.refuse(connection, 'name a connection');
      this.#connection = connection;
    });
  }

  /**
   * Nothing can be said of it any more. Undefined: one of its calls was refused, and has said so.
   *
   * @throws what is wrong with the whole, with the stack of where it was begun
   */
  complete(known: Known, registry: JobRegistry): Schedule | undefined {
    if (this.#state === 'refused') return undefined;
    this.#state = 'complete';
    try {
      return this.#completed(known, registry);
    } catch (error) {
      if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n${this.#callers}`;
      throw error;
    }
  }

  #completed(known: Known, registry: JobRegistry): Schedule {
    const job = this.#job(registry);
    const place = placeOf(`the schedule '${this.#name ?? job}'`);
    const name = this.#name ?? scheduleName(job, place);
    const when = this.#when;
    if (when === undefined)
      throw placeOf(this.origin).refuse(
        name,
        "it does not say when: add daily(), every('15m'), cron('0 3 * * *') or the like",
      );
    const cadence = typeof when === 'string' ? cronIn(when, this.#zone ?? UTC, place) : when;
    const timing = together({ cadence, missed: this.#missed, overlap: this.#overlap }, place);
    const { origin } = this;
    const other = known.get(name);
    // Of one file, in a later turn: that was evaluated again, perhaps with other lines above.
    if (other !== undefined && fileOf(other.parts.origin) !== fileOf(origin))
      throw duplicateSchedule(name, other.parts.origin, origin);
    const [connection, queue, make] = [this.#connection, this.#queue, this.#make];
    return new Schedule({ ...timing, name, job, connection, queue, make, origin });
  }

  /** Where it was begun. */
  get origin(): string {
    const [line = ''] = this.#callers.split('\n');
    const [, position] = /(:\d+:\d+)\)?$/.exec(line) ?? [];
    return this.#file === undefined
      ? 'Queue.schedule()'
      : `Queue.schedule() in ${relativeFile(this.#file)}${position ?? ''}`;
  }

  get #callers(): string {
    return String(this.#site.stack).split('\n').slice(1).join('\n');
  }

  /** The name of the job. */
  #job(registry: JobRegistry): string {
    const place = placeOf('Queue.schedule()');
    const job: unknown = this.#make();
    if (typeof job !== 'object' || job === null)
      throw place.refuse(job, 'the function is to give a job, each time anew: () => new Prune()');
    if (job instanceof Promise)
      throw place.refuse(
        'a promise',
        'the function is to give the job itself; what it needs first, handle() can wait for',
      );
    if (job instanceof PendingChain)
      throw place.refuse('a chain', 'the function is to give one job; its handle() can send the chain');
    const definition = definitionOfJob(job, registry);
    checkInstance(job, definition);
    const { name } = definition;
    if (declaredDebouncing(definition) !== undefined)
      throw place.refuse(name, 'it has debounce, which would put it off');
    if ('queue' in job) throw place.refuse(name, 'it pushes itself by a method queue(), and a schedule pushes it');
    return name;
  }

  /** @throws E_SCHEDULE_DECLARED, and what `say` throws */
  #say(call: string, say: (place: Place) => unknown): this {
    if (this.#state === 'complete') throw scheduleDeclared(this.#name ?? this.origin, call);
    this.#state = 'refused';
    say(placeOf(`${call}() of a schedule`));
    this.#state = 'open';
    return this;
  }

  #comesUp(when: string | Cadence, place: Place): void {
    if (this.#when !== undefined)
      throw place.refuse(typeof when === 'string' ? when : when.text, 'it says already when; declare another schedule');
    this.#when = when;
  }

  #comesUpOn(days: string, place: Place): void {
    this.#comesUp(`0 0 ${days}`, place);
    this.#days = days;
  }
}

/** Without the position in it. */
function fileOf(origin: string): string {
  return origin.replace(/:\d+:\d+$/, '');
}

function checkWhole(value: number, least: number, most: number, place: Place): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw place.refuse(value, `give a whole number from ${least} to ${most}`);
}

function placeOf(subject: string): Place {
  const refuse = (value: unknown, remedy: string): Error =>
    invalidSchedule(subject, value, `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`);
  return { subject, refuse };
}
