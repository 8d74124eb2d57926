import { pauseAfter } from '../../src/base/clock';

const backoff = { first: 50, longest: 1000 };

it('pauses double up to the longest one', () => {
  const most = (): number => 1;
  expect([0, 1, 2, 3, 4, 5, 6, 1000].map((attempt) => pauseAfter(attempt, backoff, most))).toEqual([
    50, 100, 200, 400, 800, 1000, 1000, 1000,
  ]);
});

it('jitter shortens a pause by up to a half', () => {
  expect(pauseAfter(1, backoff, () => 0)).toBe(50);
  expect(pauseAfter(1, backoff, () => 0.5)).toBe(75);
});
