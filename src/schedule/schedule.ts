/** One schedule as declared: what sends which job, when, and where to. */
import { hash } from 'node:crypto';
import { declaredIn, relativeFile } from '../base/class';
import type { Milliseconds } from '../base/clock';
import type { Duration } from '../job/duration';
import { duplicateSchedule } from '../job/errors';
import { definitionToSend } from '../job/instance';
import { checkQueueName, count, type Place, placeOf } from '../job/option-kinds';
import type { MissedPolicy, OverlapPolicy } from '../job/options';
import { PendingChain } from '../job/pending';
import type { JobInstance, JobRegistry } from '../job/registry';
import { declaredDebouncing } from '../job/resolve-options';
import { overlapKey } from '../payload/ties';
import {
  type Cadence,
  cronIn,
  LATEST,
  missed,
  overlap,
  scheduleName,
  span,
  SPANS_HAVE_NO_ZONE,
  type Timing,
  together,
  UTC,
  zone,
  type Zone,
} from './cadence';
import { invalidSchedule, scheduleDeclared } from './errors';

interface ScheduleParts extends Timing {
  readonly name: string;
  /** The name of the job that it sends. */
  readonly job: string;
  /** The connection, if it names one. */
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly make: () => object;
  /** Where it was declared, for display. */
  readonly origin: string;
  /** Undefined if it is declared. */
  readonly stored?: StoredPart | undefined;
}

interface StoredPart {
  /** The moment from which on its times hold: earlier ones are none of its occurrences. */
  readonly since: Milliseconds;
  /** The whole record. */
  readonly text: string;
}

export class Schedule {
  /** What it sends, except the job's data. A process with another spec runs another version of the program. */
  readonly spec: string;
  /** The spec, hashed. */
  readonly digest: string;
  /** The unique key that the job of an occurrence holds, so that the next occurrence can be skipped. */
  readonly overlapKey: string;

  constructor(readonly parts: ScheduleParts) {
    const { name, job, connection, queue, cadence, missed, overlap } = parts;
    const said = [
      `${cadence.text}: ${job}`,
      connection === undefined ? '' : `connection ${connection}`,
      queue === undefined ? '' : `queue ${queue}`,
      `missed ${missed.policy} within ${missed.within} s`,
      overlap === undefined ? '' : `overlap ${overlap}`,
    ];
    this.spec = said.filter((part) => part !== '').join(', ');
    this.digest = hash('sha256', this.spec, 'base64url').slice(0, 12);
    this.overlapKey = overlapKey(name);
  }

  get name(): string {
    return this.parts.name;
  }

  /** Up to `most` occurrences after `after`, up to `to`, the earliest first. */
  between(after: Milliseconds, to: Milliseconds, most: number): Milliseconds[] {
    const found: Milliseconds[] = [];
    let at = this.parts.cadence.next(after);
    while (at !== undefined && at <= to && found.length < most) {
      found.push(at);
      at = this.parts.cadence.next(at);
    }
    return found;
  }

  /** The last `most` of these. Looks back in growing steps: a short span may have millions. */
  lastBetween(after: Milliseconds, to: Milliseconds, most: number): Milliseconds[] {
    if (this.between(after, to, 1).length === 0) return [];
    for (let back = FIRST_LOOK; ; back *= 2) {
      const from = Math.max(after, to - back);
      const found = this.between(from, to, Infinity);
      if (found.length >= most || from === after) return found.slice(-most);
    }
  }
}

const FIRST_LOOK: Milliseconds = 1000;

export type Weekday = 'sun' | 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat';

const WEEKDAYS: readonly string[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] satisfies Weekday[];

/** The existing schedules, by name. */
type Known = ReadonlyMap<string, Schedule>;

/**
 * `Queue.schedule(() => new Prune('30d')).daily().at('03:00')`: a schedule that is being declared.
 *
 * There is no final call: the schedule is complete one microtask after it was begun. A wrong argument makes its own call
 * throw. Errors that only the whole shows, such as a name that another schedule has, are unhandled rejections, whose stack
 * leads to where the schedule was begun.
 */
export class PendingSchedule {
  readonly #make: () => JobInstance;
  readonly #site: Error;
  readonly #file: string | undefined;
  /** `refused`: one of its calls was refused, and nothing is declared. */
  #state: 'open' | 'refused' | 'complete' = 'open';
  #name: string | undefined;
  /** A cron text, or a span. */
  #when: string | Cadence | undefined;
  /** The fields of a cron after the time of day. Undefined if the days are given in another way. */
  #days: string | undefined;
  #zone: Zone | undefined;
  #missed = LATEST;
  #overlap: OverlapPolicy | undefined;
  #connection: string | undefined;
  #queue: string | undefined;

  /** @param caller the function that was called: the stack tells where @throws E_INVALID_SCHEDULE */
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

  /** At multiples of a span since 1970 in UTC. @throws E_INVALID_SCHEDULE, E_INVALID_DURATION */
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
      this.#comesUp(`${count(0, 59)(minute, place)} * * * *`, place);
    });
  }

  /** At midnight, or at the time given by `at()`. */
  daily(): this {
    return this.#say('daily', (place) => this.#comesUpOn('* * *', place));
  }

  /** From Monday to Friday, at midnight or at the time given by `at()`. */
  weekdays(): this {
    return this.#say('weekdays', (place) => this.#comesUpOn('* * 1-5', place));
  }

  /** Each week on this day, at midnight or at the time given by `at()`. @throws E_INVALID_SCHEDULE */
  weekly(day: Weekday): this {
    return this.#say('weekly', (place) => {
      const number = WEEKDAYS.indexOf(day);
      if (number < 0) throw place.refuse(day, `give one of ${WEEKDAYS.join(', ')}`);
      this.#comesUpOn(`* * ${number}`, place);
    });
  }

  /** On this day of each month that has it, at midnight or at the time given by `at()`. @throws E_INVALID_SCHEDULE */
  monthly(day = 1): this {
    return this.#say('monthly', (place) => {
      this.#comesUpOn(`${count(1, 31)(day, place)} * *`, place);
    });
  }

  /** The time of day, `'03:00'`, after `daily()`, `weekdays()`, `weekly()` or `monthly()`. @throws E_INVALID_SCHEDULE */
  at(time: string): this {
    return this.#say('at', (place) => {
      const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
      if (hour === undefined) throw place.refuse(time, "give a time of day, such as '03:00'");
      if (this.#days === undefined)
        throw place.refuse(time, 'there is no day: write daily(), weekdays(), weekly() or monthly() before it');
      this.#when = `${Number(minute)} ${Number(hour)} ${this.#days}`;
    });
  }

  /** The time zone of the times. Default: UTC. @throws E_INVALID_SCHEDULE */
  timezone(name: string): this {
    return this.#say('timezone', (place) => {
      const found = zone(name, place);
      if (typeof this.#when === 'object') throw place.refuse(name, SPANS_HAVE_NO_ZONE);
      this.#zone = found;
    });
  }

  /** The name of the schedule. Default: the name of the job. @throws E_INVALID_SCHEDULE */
  name(name: string): this {
    return this.#say('name', (place) => (this.#name = scheduleName(name, place)));
  }

  /**
   * What happens to occurrences that nobody sent in time: `'latest'` sends the newest one, up to an hour late; `'skip'` the
   * same, up to a minute late; `'all'` sends up to 100, up to a day late. `within` sets another limit. Default: `'latest'`.
   * @throws E_INVALID_SCHEDULE, E_INVALID_DURATION
   */
  missed(policy: MissedPolicy, within?: Duration): this {
    return this.#say('missed', (place) => (this.#missed = missed([policy, within], place)));
  }

  /**
   * What happens to an occurrence while the job of the previous one waits, runs or will be tried again. Default: `'skip'` if
   * the store supports unique keys and `missed` is not `'all'`. @throws E_INVALID_SCHEDULE
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
   * Later calls are refused. Undefined if a call was refused, and has thrown. @throws what is wrong with the whole, with the
   * stack of where it was begun
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
    const place = placeOf(`the schedule '${this.#name ?? job}'`, invalidSchedule);
    const name = this.#name ?? scheduleName(job, place);
    const when = this.#when;
    if (when === undefined)
      throw placeOf(this.origin, invalidSchedule).refuse(
        name,
        "it does not say when: add daily(), every('15m'), cron('0 3 * * *') or the like",
      );
    const cadence = typeof when === 'string' ? cronIn(when, this.#zone ?? UTC, place) : when;
    const timing = together({ cadence, missed: this.#missed, overlap: this.#overlap }, place);
    const { origin } = this;
    const other = known.get(name);
    // From the same file, in a later turn: the file was evaluated again, perhaps with other lines above.
    if (other !== undefined && fileOf(other.parts.origin) !== fileOf(origin))
      throw duplicateSchedule(name, other.parts.origin, origin);
    const [connection, queue, make] = [this.#connection, this.#queue, this.#make];
    return new Schedule({ ...timing, name, job, connection, queue, make, origin });
  }

  /** Where the declaration begins. */
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
    const place = placeOf('Queue.schedule()', invalidSchedule);
    const job: unknown = this.#make();
    if (typeof job !== 'object' || job === null)
      throw place.refuse(job, 'the function has to return a new job each time: () => new Prune()');
    if (job instanceof Promise)
      throw place.refuse('a promise', 'the function has to return the job itself; handle() can await what it needs');
    return scheduledName(job, registry, place);
  }

  /** @throws E_SCHEDULE_DECLARED, and what `say` throws */
  #say(call: string, say: (place: Place) => unknown): this {
    if (this.#state === 'complete') throw scheduleDeclared(this.#name ?? this.origin, call);
    this.#state = 'refused';
    say(placeOf(`${call}() of a schedule`, invalidSchedule));
    this.#state = 'open';
    return this;
  }

  #comesUp(when: string | Cadence, place: Place): void {
    if (this.#when !== undefined)
      throw place.refuse(
        typeof when === 'string' ? when : when.text,
        'the schedule has a time already; declare another schedule',
      );
    this.#when = when;
  }

  #comesUpOn(days: string, place: Place): void {
    this.#comesUp(`0 0 ${days}`, place);
    this.#days = days;
  }
}

/** The name of a job that schedules can send. @throws what is wrong with it */
export function scheduledName(job: unknown, registry: JobRegistry, place: Place): string {
  if (typeof job !== 'object' || job === null) throw place.refuse(job, 'give the job: new Prune()');
  if (job instanceof PendingChain) throw place.refuse('a chain', 'give one job; its handle() can send the chain');
  const definition = definitionToSend(job, registry);
  const { name } = definition;
  if (declaredDebouncing(definition) !== undefined) throw place.refuse(name, 'it has debounce, which would put it off');
  if ('queue' in job) throw place.refuse(name, 'it pushes itself by a method queue(), and a schedule pushes it');
  return name;
}

/** The origin without line and column. */
function fileOf(origin: string): string {
  return origin.replace(/:\d+:\d+$/, '');
}
