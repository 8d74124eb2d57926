import { systemClock } from '../../src/base/clock';
import { TestClock } from '../../src/testing/test-clock';

const START = 1_700_000_000_000;

describe('the test clock', () => {
  it('stands still until it is moved', async () => {
    const clock = new TestClock(new Date(START));
    expect([clock.now(), clock.monotonic()]).toEqual([START, 0]);
    await clock.advance('2h');
    expect([clock.now(), clock.monotonic()]).toEqual([START + 7_200_000, 7_200_000]);
  });

  it('starts at the present unless told otherwise', () => {
    const before = systemClock.now();
    const started = new TestClock().now();
    expect(started).toBeGreaterThanOrEqual(before);
    expect(started).toBeLessThanOrEqual(systemClock.now());
  });

  it('fires timers in the order of their times, each at its time', async () => {
    const clock = new TestClock(0);
    const calls: [string, number][] = [];
    const call = (name: string) => () => void calls.push([name, clock.now()]);
    clock.after(300, call('third'));
    clock.after(100, call('first'));
    clock.after(200, call('second'));
    clock.after(100, call('first as well'));
    clock.after(1_001, call('too late'));
    await clock.advance('1s');
    expect(calls).toEqual([
      ['first', 100],
      ['first as well', 100],
      ['second', 200],
      ['third', 300],
    ]);
    expect(clock.pending).toBe(1);
  });

  it('also fires timers that are set meanwhile, even by code that a timer woke', async () => {
    const clock = new TestClock(0);
    const moments: number[] = [];
    const wait = (milliseconds: number) => new Promise<void>((resolve) => void clock.after(milliseconds, resolve));
    const loop = (async () => {
      for (const pause of [100, 200, 300]) {
        await wait(pause);
        moments.push(clock.now());
      }
    })();
    await clock.advance(1);
    await loop;
    expect(moments).toEqual([100, 300, 600]);
  });

  it('does not fire cancelled timers', async () => {
    const clock = new TestClock();
    const callback = jest.fn();
    clock.after(100, callback).cancel();
    await clock.advance('1m');
    expect(callback).not.toHaveBeenCalled();
    expect(clock.pending).toBe(0);
  });

  it('adds up moves that are not awaited', async () => {
    const clock = new TestClock(0);
    await Promise.all([clock.advance(1), clock.advance(2)]);
    expect(clock.now()).toBe(3_000);
  });

  it('moves under the fake timers of a test runner', async () => {
    jest.useFakeTimers();
    try {
      const clock = new TestClock(0);
      await clock.advance(1);
      expect(clock.now()).toBe(1_000);
    } finally {
      jest.useRealTimers();
    }
  });

  it('refuses an invalid duration', async () => {
    await expect(new TestClock().advance('soon' as never)).rejects.toMatchObject({ code: 'E_INVALID_DURATION' });
  });
});
