import { StoreClock } from '../../src/base/clock';
import { TestClock } from '../../src/testing/test-clock';

const HOUR = 3_600_000;

describe('the clock of a store', () => {
  it('is that of this process until the store has answered, and then advances from its answer', async () => {
    const clock = new TestClock();
    const store = new StoreClock(clock);
    expect(store.now()).toBe(clock.now());

    const told = clock.now() - HOUR;
    store.told(told);
    await clock.advance('30s');

    expect(store.now()).toBe(told + 30_000);
  });

  it('is asked once a minute, and concurrent callers share one question', async () => {
    const clock = new TestClock();
    const store = new StoreClock(clock);
    const ask = jest.fn(async () => clock.now() + HOUR);

    const first = await Promise.all([store.current(ask), store.current(ask)]);
    await clock.advance('60s');
    const second = await store.current(ask);
    await clock.advance('1s');
    await store.current(ask);

    expect(first).toEqual([second - 60_000, second - 60_000]);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it('is asked again if an answer was long under way, as when this process was frozen', async () => {
    const clock = new TestClock();
    const store = new StoreClock(clock);
    const ask = jest.fn(async () => clock.now() + HOUR);
    ask.mockImplementationOnce(async () => {
      const now = clock.now() + HOUR;
      await clock.advance('30s');
      return now;
    });

    expect(await store.current(ask)).toBe(clock.now() + HOUR);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it('is believed in the end if it always answers late', async () => {
    const clock = new TestClock();
    const store = new StoreClock(clock);
    const ask = jest.fn(async () => {
      const now = clock.now();
      await clock.advance('1s');
      return now;
    });

    expect(await store.current(ask)).toBe(clock.now() - 1000);
    expect(ask).toHaveBeenCalledTimes(3);
  });

  it('is asked again after the machine has slept, when the monotonic clock stood still', async () => {
    const clock = new TestClock();
    let slept = 0;
    const now = clock.now.bind(clock);
    const awake = Object.assign(clock, { now: () => now() + slept });
    const store = new StoreClock(awake);
    await store.current(async () => awake.now());
    slept = HOUR;

    expect(await store.current(async () => awake.now())).toBe(awake.now());
  });

  it('is asked again after a failure', async () => {
    const clock = new TestClock();
    const store = new StoreClock(clock);

    await expect(store.current(() => Promise.reject(new Error('away')))).rejects.toThrow('away');

    expect(await store.current(async () => 5)).toBe(5);
  });
});
