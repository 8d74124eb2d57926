/**
 * `Queue.schedule(() => new Prune('30d')).daily().at('03:00')`: a schedule that is being declared.
 *
 * There is no last call: it is complete a microtask after it was begun. What is wrong with an argument is thrown by the call that
 * was given it; what only the whole can tell, such as a name that another one has, is an unhandled rejection then, whose stack leads
 * to where it was begun.
 */
import { declaredIn, relativeFile } from '../base/declared-in';
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
  #isComplete = false;
  #name: string | undefined;
  #cron: string | undefined;
  #span: Cadence | undefined;
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
    cronIn(cron, UTC, this.#place('cron', cron));
    return this.#when('cron', cron);
  }

  /** The multiples of a span since 1970 in UTC. @throws E_INVALID_SCHEDULE, E_INVALID_DURATION */
  every(length: Duration): this {
    const cadence = span(length, this.#place('every', length));
    if (this.#zone !== undefined) throw invalidSchedule('every()', length, sentence(SPANS_HAVE_NO_ZONE));
    this.#when('every', undefined);
    this.#span = cadence;
    return this;
  }

  everyMinute(): this {
    return this.#when('everyMinute', '* * * * *');
  }

  /** At this minute of each hour. @throws E_INVALID_SCHEDULE */
  hourlyAt(minute: number): this {
    this.#whole('hourlyAt', minute, 0, 59);
    return this.#when('hourlyAt', `${minute} * * * *`);
  }

  /** At midnight, or as `at()` says. */
  daily(): this {
    return this.#onDays('daily', '* * *');
  }

  /** From Monday to Friday, at midnight or as `at()` says. */
  weekdays(): this {
    return this.#onDays('weekdays', '* * 1-5');
  }

  /** Each week on this day, at midnight or as `at()` says. @throws E_INVALID_SCHEDULE */
  weekly(day: Weekday): this {
    const number = WEEKDAYS.indexOf(day);
    if (number < 0) throw invalidSchedule('weekly()', day, `Give one of ${WEEKDAYS.join(', ')}.`);
    return this.#onDays('weekly', `* * ${number}`);
  }

  /** On this day of each month that has it, at midnight or as `at()` says. @throws E_INVALID_SCHEDULE */
  monthly(day = 1): this {
    this.#whole('monthly', day, 1, 31);
    return this.#onDays('monthly', `${day} * *`);
  }

  /** The time of day, `'03:00'`, behind `daily()`, `weekdays()`, `weekly()` or `monthly()`. @throws E_INVALID_SCHEDULE */
  at(time: string): this {
    this.#checkOpen('at');
    const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
    if (hour === undefined) throw invalidSchedule('at()', time, "Give a time of day, such as '03:00'.");
    if (this.#days === undefined)
      throw invalidSchedule(
        'at()',
        time,
        'It says no day: write daily(), weekdays(), weekly() or monthly() before it.',
      );
    this.#cron = `${Number(minute)} ${Number(hour)} ${this.#days}`;
    return this;
  }

  /** Whose clocks the times are read from. Default: UTC. @throws E_INVALID_SCHEDULE */
  timezone(name: string): this {
    const found = zone(name, this.#place('timezone', name));
    if (this.#span !== undefined) throw invalidSchedule('timezone()', name, sentence(SPANS_HAVE_NO_ZONE));
    this.#zone = found;
    return this;
  }

  /** Default: the name of the job. @throws E_INVALID_SCHEDULE */
  name(name: string): this {
    this.#name = scheduleName(name, this.#place('name', name));
    return this;
  }

  /**
   * What becomes of occurrences that nobody sent in time: `'latest'` sends the newest one, within an hour; `'skip'` does so within a
   * minute; `'all'` sends up to 100, within a day. Default: `'latest'`. @throws E_INVALID_SCHEDULE, E_INVALID_DURATION
   */
  missed(policy: MissedPolicy, within?: Duration): this {
    this.#missed = missed([policy, within], this.#place('missed', policy));
    return this;
  }

  /**
   * What becomes of an occurrence while the job of the one before it waits, runs, or is to be tried again. Default: `'skip'`, where
   * the store keeps unique keys, and not all that were missed are to run. @throws E_INVALID_SCHEDULE
   */
  overlap(policy: OverlapPolicy): this {
    this.#overlap = overlap(policy, this.#place('overlap', policy));
    return this;
  }

  /** @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this {
    this.#checkOpen('onQueue');
    checkQueueName(queue, 'onQueue() of a schedule');
    this.#queue = queue;
    return this;
  }

  /** @throws E_INVALID_SCHEDULE */
  onConnection(connection: string): this {
    this.#checkOpen('onConnection');
    if (typeof connection !== 'string' || connection === '')
      throw invalidSchedule('onConnection()', connection, 'Name a connection.');
    this.#connection = connection;
    return this;
  }

  /** Nothing can be said of it any more. @throws what is wrong with the whole, with the stack of where it was begun */
  complete(known: Known, registry: JobRegistry): Schedule {
    this.#isComplete = true;
    try {
      return this.#completed(known, registry);
    } catch (error) {
      if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n${this.#callers}`;
      throw error;
    }
  }

  #completed(known: Known, registry: JobRegistry): Schedule {
    const job = this.#job(registry);
    const place = this.#place('', this.#name ?? job);
    const name = this.#name ?? scheduleName(job, place);
    const cadence = this.#span ?? (this.#cron && cronIn(this.#cron, this.#zone ?? UTC, place));
    if (cadence === undefined || cadence === '')
      throw invalidSchedule(
        'Queue.schedule()',
        name,
        "It does not say when: add daily(), every('15m'), cron('0 3 * * *') or the like.",
      );
    const timing = together({ cadence, missed: this.#missed, overlap: this.#overlap }, place);
    const { origin } = this;
    const other = known.get(name);
    // The module that declares it was evaluated again.
    if (other !== undefined && other.parts.origin !== origin) throw duplicateSchedule(name, other.parts.origin, origin);
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
    const job: unknown = this.#make();
    if (typeof job !== 'object' || job === null)
      throw invalidSchedule(
        'Queue.schedule()',
        job,
        'The function is to give a job, each time anew: () => new Prune().',
      );
    const definition = definitionOfJob(job, registry);
    checkInstance(job, definition);
    const { name } = definition;
    const refuse = (remedy: string): Error => invalidSchedule('Queue.schedule()', name, remedy);
    if (declaredDebouncing(definition) !== undefined) throw refuse('It has debounce, which would put it off.');
    if ('queue' in job) throw refuse('It pushes itself by a method queue(), and a schedule pushes it.');
    return name;
  }

  #onDays(call: string, days: string): this {
    this.#when(call, `0 0 ${days}`);
    this.#days = days;
    return this;
  }

  #when(call: string, cron: string | undefined): this {
    this.#checkOpen(call);
    if (this.#cron !== undefined || this.#span !== undefined)
      throw invalidSchedule(
        `${call}()`,
        cron ?? 'a span',
        'It says already when: declare a second schedule, with a name of its own.',
      );
    this.#cron = cron;
    return this;
  }

  #whole(call: string, value: number, least: number, most: number): void {
    if (Number.isInteger(value) && value >= least && value <= most) return;
    throw invalidSchedule(`${call}()`, value, `Give a whole number from ${least} to ${most}.`);
  }

  /** @param call empty: the whole of it is looked at */
  #place(call: string, given: unknown): Place {
    if (call !== '') this.#checkOpen(call);
    const subject = call === '' ? `the schedule '${String(given)}'` : `${call}() of a schedule`;
    return { subject, refuse: (value, remedy) => invalidSchedule(subject, value, sentence(remedy)) };
  }

  #checkOpen(call: string): void {
    if (this.#isComplete) throw scheduleDeclared(this.#name ?? this.origin, call);
  }
}

function sentence(phrase: string): string {
  return `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
}
