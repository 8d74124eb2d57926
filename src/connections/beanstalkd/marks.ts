/**
 * Where a job's counters are kept: in its priority, the one number that a release can change along with it.
 *
 * The body of a job never changes in a beanstalkd, and the server counts reservations, not why they ended. So of the 32
 * bits of a priority the upper 10 are the user's, and the lower 22 say what the reservations so far came to:
 *
 *     | priority 10 | free releases 8 | attempts 5 | exceptions 5 | timeouts 4 |
 *
 * They are counted down from all ones: a job that was released stands before fresh ones of its priority, as it does by its
 * age. What the body says is added to them. A reservation that they do not account for was a crash: its worker was lost
 * with its connection, or was silent for longer than the lease. A release by a client of somebody else is told from one
 * by `releases` of the server, and counts as an attempt.
 */
import type { Counters } from '../../payload/counters';
import { noCounters } from '../../payload/counters';

/** 0 is left to clients of others: their small numbers are not taken for marks. */
const LOWEST_PRIORITY = 1;

/** What the marks can say of a job, beside what its body says. */
type Marks = Omit<Counters, 'crashes'>;

/** The largest value of each, from the lowest bits up. */
const MOST: Readonly<Marks> = { timeouts: 15, exceptions: 31, attempts: 31, releases: 255 };
const FIELDS = Object.entries(MOST) as readonly (readonly [name: keyof Marks, most: number])[];

const SPAN = 2 ** 22;

/** What the server says of a reserved job. */
export interface JobFacts {
  /** As it is sent, with the marks in it. */
  readonly priority: number;
  /** This reservation included. */
  readonly reserves: number;
  readonly releases: number;
}

/** How a job that was never released is sent. */
export const freshPriority = (priority: number): number => priority * SPAN + SPAN - 1;

/** What the reservations before this one came to, to be added to what the body says. */
export function pastOf({ priority, reserves, releases }: JobFacts): Counters {
  const past = reserves - 1;
  let marks = marksOf(priority);
  if (marks.attempts + marks.releases > past || marks.timeouts > marks.exceptions) marks = noCounters;
  const accounted = marks.attempts + marks.releases;
  const foreign = Math.min(Math.max(releases - accounted, 0), past - accounted);
  return { ...marks, attempts: marks.attempts + foreign, crashes: past - accounted - foreign };
}

/**
 * The priority of a job that is given back with these counters: what they are beyond those of its body. Undefined: the
 * marks have no room for it, or it would not come back with these.
 */
export function releasedPriority(facts: JobFacts, beyond: Counters): number | undefined {
  const { attempts, releases, crashes } = beyond;
  const fits = FIELDS.every(([name, most]) => beyond[name] >= 0 && beyond[name] <= most);
  const agrees = crashes >= 0 && attempts + releases + crashes === facts.reserves;
  if (!fits || !agrees || beyond.timeouts > beyond.exceptions) return undefined;
  return marked(facts, beyond);
}

/** The same, as near as it comes: attempts for which there is no room count as free releases, not as crashes. */
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

/** Given back unseen: this reservation is one more that cost nothing. */
export function unseenPriority(facts: JobFacts): number {
  const past = pastOf(facts);
  return nearestPriority(facts, { ...past, releases: past.releases + 1 });
}

/** Set aside for good; a kick gives it all its tries again. */
export const buriedPriority = (facts: JobFacts): number =>
  nearestPriority(facts, { ...noCounters, releases: facts.reserves });

/** What the user chose, or the nearest to what a client of somebody else did. */
export const userPriority = ({ priority }: JobFacts): number => Math.max(Math.floor(priority / SPAN), LOWEST_PRIORITY);

/** What the body of a job says and what its marks say, together. */
export function sumOf(one: Counters, other: Counters, sign: 1 | -1 = 1): Counters {
  return {
    attempts: one.attempts + sign * other.attempts,
    crashes: one.crashes + sign * other.crashes,
    exceptions: one.exceptions + sign * other.exceptions,
    timeouts: one.timeouts + sign * other.timeouts,
    releases: one.releases + sign * other.releases,
  };
}

/** What counters are beyond those of the body: the part that the marks are to say. */
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
