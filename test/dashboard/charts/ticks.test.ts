import { chartFigure, ticksUpTo } from '../../../src/dashboard/parts/chart';
import * as fc from '../../support/properties';

describe('the ticks of an axis', () => {
  it('rise in equal steps from 0 to the maximum, and hardly beyond', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (most) => {
        const ticks = ticksUpTo(most);
        const [first, step = 0] = ticks;
        const last = ticks.at(-1)!;
        expect(first).toBe(0);
        expect(ticks.length).toBeLessThanOrEqual(5);
        expect(last).toBeGreaterThanOrEqual(most * (1 - 1e-9));
        expect(last - step).toBeLessThan(most);
        for (const [place, tick] of ticks.entries()) expect(tick).toBeCloseTo(place * step, 9);
      }),
    );
  });

  it('have no fractions if they count', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (most) => {
        const ticks = ticksUpTo(most, true);
        expect(ticks.every(Number.isInteger)).toBe(true);
        expect(ticks.length).toBeLessThanOrEqual(5);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(most);
      }),
    );
    expect(ticksUpTo(9, true)).toEqual([0, 5, 10]);
  });

  it.each([
    [
      [3, 9],
      ['0', '5', '10'],
    ],
    [
      [3, 8.5],
      ['0', '2.5', '5', '7.5', '10'],
    ],
  ])('of a chart of %j have fractions only if its values have some', (values, ticks) => {
    const at = values.map((_, place) => new Date(place * 60_000));
    const series = [{ label: 'failed', tone: 'bad' as const, values }];
    const figure = chartFigure({ id: 'c', title: 'Failed', at, series, kind: 'bars', text: String }).text;
    const [, axis = ''] = /<div class="scale"[^>]*>(.*?)<\/div>/s.exec(figure) ?? [];
    expect(axis.match(/[\d.]+(?=<)/g)?.toSorted((a, b) => Number(a) - Number(b))).toEqual(ticks);
  });

  it.each([
    [4, [0, 1, 2, 3, 4]],
    [87, [0, 25, 50, 75, 100]],
    [0, [0, 1]],
  ])('are round numbers up to %d', (most, ticks) => {
    expect(ticksUpTo(most)).toEqual(ticks);
  });
});
