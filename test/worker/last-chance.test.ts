import { noCounters } from '../../src/payload/counters';
import { LastChance } from '../../src/worker/last-chance';

const crashed = (crashes: number) => ({ ...noCounters, crashes });

it('a job that chose to have fewer crashes than any class is missed until the worker heeds that', () => {
  const lastChance = new LastChance([]);

  expect(lastChance.crashes).toBe(2);
  expect([lastChance.hasMissed(crashed(1), 2), lastChance.hasMissed(crashed(1), 2)]).toEqual([true, true]);
  expect(lastChance.crashes).toBe(2);

  lastChance.heed(2);

  expect(lastChance.crashes).toBe(1);
  expect(lastChance.hasMissed(crashed(1), 2)).toBe(false);
});

it.each([
  ['has never crashed', 0, 1],
  ['may crash as often as it likes', 1, 0],
  ['has another chance', 1, 3],
  ['comes alone as it is', 2, 3],
])('a job is not missed that %s', (_why, crashes, maxCrashes) => {
  expect(new LastChance([]).hasMissed(crashed(crashes), maxCrashes)).toBe(false);
});
