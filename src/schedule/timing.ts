/** When a schedule is due, and what happens to late and overlapping occurrences: shared by `@Job()` and the builder. */
import type { Seconds } from '../base/clock';
import { durationSeconds } from '../job/duration';
import { isName, NAME_RULE, membersOf, type Kind, type Place } from '../job/option-kinds';
import type { MissedPolicy, OverlapPolicy, ScheduleOptions } from '../job/options';
import { cronIn, span, UTC, zone, type Cadence } from './cadence';

export interface Missed {
  readonly policy: MissedPolicy;
  /** How late a missed occurrence may be sent. */
  readonly within: Seconds;
}

export interface Timing {
  readonly cadence: Cadence;
  readonly missed: Missed;
  /** Undefined if not given. */
  readonly overlap: OverlapPolicy | undefined;
}

/** The default limits. */
const WITHIN: Readonly<Record<MissedPolicy, Seconds>> = { latest: 3600, skip: 60, all: 24 * 3600 };

export const LATEST: Missed = { policy: 'latest', within: WITHIN.latest };

/** The longest limit: the state of a schedule is kept for that long, and each occurrence leaves a mark until then. */
const LONGEST_LOOK: Seconds = 7 * 24 * 3600;

/** A name is part of a key in the store, together with the moment. */
const LONGEST_NAME = 200;

const members = membersOf<keyof ScheduleOptions>(
  ['cron', 'every', 'timezone', 'name', 'missed', 'overlap'],
  'give an object with cron or every, and perhaps timezone, name, missed, overlap',
);

/** `schedule` of `@Job()`. */
export const timing: Kind<Timing> = (value, place) => {
  const { cron, every, timezone, name, missed: late, overlap: twice } = members(value, place);
  if ((cron === undefined) === (every === undefined)) throw place.refuse(value, 'give one of the two: cron or every');
  if (every !== undefined && timezone !== undefined) throw place.refuse(value, SPANS_HAVE_NO_ZONE);
  if (name !== undefined) scheduleName(name, place);
  const cadence =
    every === undefined
      ? cronIn(cron, timezone === undefined ? UTC : zone(timezone, place), place)
      : span(every, place);
  const missedPolicy = late === undefined ? LATEST : missed(Array.isArray(late) ? late : [late], place);
  const overlapPolicy = twice === undefined ? undefined : overlap(twice, place);
  return together({ cadence, missed: missedPolicy, overlap: overlapPolicy }, place);
};

export const SPANS_HAVE_NO_ZONE =
  'every counts from 1970 in UTC, whatever clocks show; leave timezone out, or write a cron';

export const scheduleName: Kind<string> = (value, place) => {
  if (isName(value) && value.length <= LONGEST_NAME) return value;
  throw place.refuse(value, `a name has ${NAME_RULE.replace(/\d\d+/, String(LONGEST_NAME))}`);
};

/** The policy, and optionally the limit. */
export const missed: Kind<Missed> = (value, place) => {
  const [policy, within, ...more] = value as readonly unknown[];
  if (typeof policy !== 'string' || !Object.hasOwn(WITHIN, policy) || more.length > 0)
    throw place.refuse(
      value,
      "for what was missed, give 'latest', 'skip' or 'all', and perhaps how far back is looked",
    );
  const known = policy as MissedPolicy;
  if (within === undefined) return { policy: known, within: WITHIN[known] };
  const seconds = durationSeconds(within, place.subject);
  if (seconds >= 1 && seconds <= LONGEST_LOOK) return { policy: known, within: seconds };
  throw place.refuse(within, 'look back a second or more, and seven days at most');
};

export const overlap: Kind<OverlapPolicy> = (value, place) => {
  if (value === 'skip' || value === 'allow') return value;
  throw place.refuse(value, "for overlap, give 'skip' or 'allow'");
};

/** Refuses combinations that make no sense. */
export function together(timing: Timing, place: Place): Timing {
  if (timing.missed.policy === 'all' && timing.overlap === 'skip')
    throw place.refuse(
      'skip',
      "missed is 'all', and of those that come up together 'skip' would leave all but one out; give 'allow'",
    );
  return timing;
}
