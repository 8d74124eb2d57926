/**
 * Keeps a job's counters in its priority, the one number that a release can change.
 *
 * The body of a job never changes in beanstalkd, and the server counts reservations, but not why they ended. So the upper 10
 * of the 32 bits of a priority are the user's, and the lower 22 record how the reservations so far ended:
 *
 *     | priority 10 | free releases 8 | attempts 5 | exceptions 5 | timeouts 4 |
 *
 * They are counted down from all ones, so that a released job comes before fresh ones of its priority, as it does by its
 * age. The counters in the body are added to them. A reservation that they do not account for was a crash: its worker was
 * lost with its connection, or was silent for longer than the lease. A release by another kind of client is recognised by
 * the server's count of `releases`, and counts as an attempt.
 */
import type { Counters } from '../../payload/counters';
import { noCounters } from '../../payload/counters';

/** 0 is left to other clients: their small numbers must not be taken for marks. */
const LOWEST_PRIORITY = 1;

/** The counters that the marks can hold, in addition to those of the body. */
type Marks = Omit<Counters, 'crashes'>;

/** The largest value of each, from the lowest bits up. */
const MOST: Readonly<Marks> = { timeouts: 15, exceptions: 31, attempts: 31, releases: 255 };
const FIELDS = Object.entries(MOST) as readonly (readonly [name: keyof Marks, most: number])[];

const SPAN = 2 ** 22;

/** What the server says about a reserved job. */
export interface JobFacts {
  /** The raw priority, including the marks. */
  readonly priority: number;
  /** Includes this reservation. */
  readonly reserves: number;
  readonly releases: number;
}

/** The priority of a job that was never released. */
export const freshPriority = (priority: number): number => priority * SPAN + SPAN - 1;

/** The counters of the reservations before this one, to be added to those of the body. */
export function pastOf({ priority, reserves, releases }: JobFacts): Counters {
  const past = reserves - 1;
  let marks = marksOf(priority);
  if (marks.attempts + marks.releases > past || marks.timeouts > marks.exceptions) marks = noCounters;
  const accounted = marks.attempts + marks.releases;
  const foreign = Math.min(Math.max(releases - accounted, 0), past - accounted);
  return { ...marks, attempts: marks.attempts + foreign, crashes: past - accounted - foreign };
}

/**
 * The priority of a job that is released with these counters beyond those of its body. Undefined if the marks have no room
 * for them, or the job would come back with different ones.
 */
export function releasedPriority(facts: JobFacts, beyond: Counters): number | undefined {
  const { attempts, releases, crashes } = beyond;
  const fits = FIELDS.every(([name, most]) => beyond[name] >= 0 && beyond[name] <= most);
  const agrees = crashes >= 0 && attempts + releases + crashes === facts.reserves;
  if (!fits || !agrees || beyond.timeouts > beyond.exceptions) return undefined;
  return marked(facts, beyond);
}

/** The nearest possible priority: attempts that do not fit count as free releases, not as crashes. */
export function nearestPriority(facts: JobFacts, beyond: Counters): number {
  const within = (value: number, most: number): number => Math.min(Math.max(value, 0), most);
  const attempts = within(beyond.attempts, Math.min(MOST.attempts, facts.reserves));
  const exceptions = within(beyond.exceptions, MOST.exceptions);
  return marked(facts, {
    attempts,
    releases: within(facts.reserves - attempts - Math.max(beyond.crashes, 0), MOST.releases),
    exceptions,
    timeouts: within(beyond.timeouts, Math.min(MOST.timeouts, exceptions)),
  });
}

/** For a job given back unseen: this reservation counts as free. */
export function unseenPriority(facts: JobFacts): number {
  const past = pastOf(facts);
  return nearestPriority(facts, { ...past, releases: past.releases + 1 });
}

/** For a job that is buried; a kick gives it all its tries again. */
export const buriedPriority = (facts: JobFacts): number =>
  nearestPriority(facts, { ...noCounters, releases: facts.reserves });

/** The user's priority, or the nearest to what another client chose. */
export const userPriority = ({ priority }: JobFacts): number => Math.max(Math.floor(priority / SPAN), LOWEST_PRIORITY);

/** The sum of the counters in the body and in the marks. */
export function sumOf(one: Counters, other: Counters, sign: 1 | -1 = 1): Counters {
  return {
    attempts: one.attempts + sign * other.attempts,
    crashes: one.crashes + sign * other.crashes,
    exceptions: one.exceptions + sign * other.exceptions,
    timeouts: one.timeouts + sign * other.timeouts,
    releases: one.releases + sign * other.releases,
  };
}

/** The part of the counters beyond those of the body, which the marks have to hold. */
export const beyond = (counters: Counters, written: Counters = noCounters): Counters => sumOf(counters, written, -1);

function marked(facts: JobFacts, marks: Marks): number {
  let code = 0;
  for (const [name, most] of FIELDS.toReversed()) code = code * (most + 1) + marks[name];
  return freshPriority(userPriority(facts)) - code;
}

function marksOf(priority: number): Counters {
  if (priority < SPAN) return noCounters;
  let code = SPAN - 1 - (priority % SPAN);
  const marks: Record<string, number> = {};
  for (const [name, most] of FIELDS) {
    marks[name] = code % (most + 1);
    code = Math.floor(code / (most + 1));
  }
  return { ...noCounters, ...marks };
}
