import * as fc from '../../support/properties';
import {
  buriedPriority,
  freshPriority,
  nearestPriority,
  pastOf,
  releasedPriority,
  unseenPriority,
  userPriority,
} from '../../../src/connections/beanstalkd/marks';
import { noCounters } from '../../../src/payload/counters';

const LARGEST = 2 ** 32 - 1;
const LARAVEL = 1024;
const fresh = freshPriority(512);

/** Counters that a worker may give a job back with, and the number of reservations until then. */
const givenBack = fc
  .record({
    attempts: fc.nat(31),
    releases: fc.nat(255),
    crashes: fc.nat(50),
    exceptions: fc.nat(31),
    timeouts: fc.nat(15),
  })
  .filter(({ exceptions, timeouts }) => timeouts <= exceptions)
  .map((counters) => ({ counters, reserves: counters.attempts + counters.releases + counters.crashes }));

it('a job comes back with the counters that it was given back with, plus a crash for each later reservation', () => {
  fc.assert(
    fc.property(givenBack, fc.integer({ min: 1, max: 1023 }), fc.nat(5), ({ counters, reserves }, user, crashed) => {
      const before = { priority: freshPriority(user), reserves, releases: 0 };
      const priority = releasedPriority(before, counters)!;
      const releases = counters.attempts + counters.releases;
      const past = pastOf({ priority, reserves: reserves + crashed + 1, releases });
      expect(past).toEqual({ ...counters, crashes: counters.crashes + crashed });
      expect(userPriority({ ...before, priority })).toBe(user);
      expect(priority).toBeGreaterThanOrEqual(0);
      expect(priority).toBeLessThanOrEqual(freshPriority(user));
    }),
  );
});

it('the most and the least urgent jobs have priorities that the protocol allows', () => {
  expect(freshPriority(1)).toBeGreaterThan(LARAVEL);
  expect(freshPriority(1023)).toBe(LARGEST);
});

it.each([
  ['more free releases', { releases: 256 }],
  ['more attempts', { attempts: 32 }],
  ['more exceptions', { attempts: 31, exceptions: 32 }],
  ['more timeouts', { attempts: 31, exceptions: 31, timeouts: 16 }],
  ['fewer attempts than its body', { attempts: -1, crashes: 1 }],
])('%s do not fit into a priority, which is then clipped', (_what, some) => {
  const counters = { ...noCounters, ...some };
  const reserves = counters.attempts + counters.releases + counters.crashes;
  const facts = { priority: fresh, reserves, releases: 0 };

  expect(releasedPriority(facts, counters)).toBeUndefined();
  expect(userPriority({ ...facts, priority: nearestPriority(facts, counters) })).toBe(512);
});

it('counters that do not add up to the reservations do not fit into a priority, which could not restore them', () => {
  const facts = { priority: fresh, reserves: 3, releases: 0 };

  expect(releasedPriority(facts, { ...noCounters, attempts: 1 })).toBeUndefined();
  expect(releasedPriority(facts, { ...noCounters, attempts: 4, crashes: -1 })).toBeUndefined();
  expect(releasedPriority(facts, { ...noCounters, attempts: 3, timeouts: 1 })).toBeUndefined();
});

it('a release by a foreign client counts as an attempt, and a reservation that ended without one as a crash', () => {
  expect(pastOf({ priority: LARAVEL, reserves: 4, releases: 2 })).toEqual({ ...noCounters, attempts: 2, crashes: 1 });
  expect(pastOf({ priority: LARGEST, reserves: 4, releases: 3 })).toEqual({ ...noCounters, attempts: 3 });
});

it('a priority of a foreign client is not read as counters', () => {
  const reserves = 1000;

  expect(pastOf({ priority: LARAVEL, reserves, releases: 999 })).toMatchObject({ releases: 0, exceptions: 0 });
  expect(pastOf({ priority: 2 ** 31, reserves: 2, releases: 1 })).toEqual({ ...noCounters, attempts: 1 });
});

it('attempts that do not fit count as free releases, never as crashes', () => {
  const counters = { ...noCounters, attempts: 40, crashes: 2, exceptions: 40, timeouts: 20 };
  const priority = nearestPriority({ priority: fresh, reserves: 42, releases: 39 }, counters);

  expect(pastOf({ priority, reserves: 43, releases: 40 })).toEqual({
    attempts: 31,
    releases: 9,
    crashes: 2,
    exceptions: 31,
    timeouts: 15,
  });
});

it('a job that was given back without being run has one more free release', () => {
  const facts = { priority: fresh, reserves: 3, releases: 1 };
  const priority = unseenPriority(facts);

  expect(pastOf({ priority, reserves: 4, releases: 2 })).toEqual({
    ...noCounters,
    attempts: 1,
    crashes: 1,
    releases: 1,
  });
});

it('a job that was buried and kicked has all its tries and a growing fence', () => {
  const priority = buriedPriority({ priority: fresh, reserves: 4, releases: 2 });

  expect(pastOf({ priority, reserves: 5, releases: 2 })).toEqual({ ...noCounters, releases: 4 });
});
