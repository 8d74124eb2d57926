import { shortSpanText, spanText } from '../../src/base/span';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [999.6, '1 s'],
  [1000, '1 s'],
  [3240, '3.2 s'],
  [9949, '9.9 s'],
  [9999, '10 s'],
  [59_999, '59 s'],
  [MINUTE, '1 min'],
  [125_000, '2 min 5 s'],
  [2 * HOUR - 1, '1 h 59 min'],
  [2 * HOUR, '2 h'],
  [DAY + 4 * HOUR + 59 * MINUTE, '1 d 4 h'],
  [400 * DAY, '400 d'],
])('a span of %d ms is written with two units at most: %s', (span, text) => {
  expect(spanText(span)).toBe(text);
});

it.each([
  [0, '0s'],
  [999.9, '0s'],
  [1999, '1s'],
  [9999, '9s'],
  [12_345, '12s'],
  [2 * HOUR - 1, '1h 59m'],
  [3 * DAY, '3d'],
])('on a terminal a span of %d ms is written in whole seconds: %s', (span, text) => {
  expect(shortSpanText(span)).toBe(text);
});

it('never writes as many of a unit as the next one has', () => {
  const written = Array.from({ length: 30_000 }, (_, place) => spanText(place * 7));

  expect(written.filter((text) => /^(60 s|1000 ms|60 min|24 h)/.test(text))).toEqual([]);
});
