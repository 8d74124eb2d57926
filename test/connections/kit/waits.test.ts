import { systemClock } from '../../../src/base/clock';
import { LOOK_AGAIN, polled, Waits } from '../../../src/connections/kit/connection';
import type { ReserveReply, Wanted } from '../../../src/connections/contract';
import { TestClock } from '../../../src/testing/test-clock';

const never = { listen: () => () => undefined };
const wanted: Wanted = { queues: ['mail'], limit: 1, lease: 60, within: 300 };
const nothing: ReserveReply = { reservations: [], setAside: [], nextIn: Infinity };

describe('the waits of a connection', () => {
  it('end with it, and none begins after that', async () => {
    const waits = new Waits(systemClock);
    const reserve = jest.fn(async () => nothing);
    const wait = waits.reserve(wanted, never, reserve);

    waits.close();

    expect(await wait).toBe(LOOK_AGAIN);
    expect(await waits.reserve(wanted, never, reserve)).toBe(LOOK_AGAIN);
    expect(reserve).not.toHaveBeenCalled();
  });

  it.each([
    ['a wake-up', (wake: () => void) => wake()],
    ['the end of its time', () => undefined],
  ])('stop listening after %s', async (_, act) => {
    const leave = jest.fn();
    const listen = (wake: () => void): (() => void) => {
      act(wake);
      return leave;
    };

    await new Waits(systemClock).reserve({ ...wanted, within: 0.01 }, { listen }, async () => nothing);

    expect(leave).toHaveBeenCalledTimes(1);
  });

  it('reject with an error of whatever they listen to', async () => {
    const listen = (wake: (error: Error) => void): (() => void) => {
      wake(new Error('deaf'));
      return () => undefined;
    };

    const reply = new Waits(systemClock).reserve(wanted, { listen }, async () => nothing);
    await expect(reply).rejects.toThrow('deaf');
  });

  it('reserve nothing if they were ended, because whoever ended them has something else to do', async () => {
    const end = new AbortController();
    const reserve = jest.fn(async () => nothing);
    const reply = new Waits(systemClock).reserve({ ...wanted, signal: end.signal }, never, reserve);
    end.abort();

    expect(await reply).toBe(LOOK_AGAIN);
    expect(reserve).not.toHaveBeenCalled();
  });
});

describe('a store that is polled', () => {
  it('is looked at until it has something', async () => {
    const clock = new TestClock();
    const replies = [nothing, nothing, { ...nothing, nextIn: 0 }];
    const look = jest.fn(async () => replies.shift()!);
    const reply = polled({ ...wanted, lookEvery: 5 }, look, clock);

    await clock.advance('9s');
    expect(look).toHaveBeenCalledTimes(2);
    await clock.advance('1s');

    expect((await reply).nextIn).toBe(0);
  });

  it('is looked at when a delayed job is due', async () => {
    const clock = new TestClock();
    const replies = [
      { ...nothing, nextIn: 0.7 },
      { ...nothing, nextIn: 0 },
    ];
    const reply = polled({ ...wanted, lookEvery: 5 }, async () => replies.shift()!, clock);

    await clock.advance('700ms');

    expect((await reply).nextIn).toBe(0);
  });

  it('is looked at a last time when the wait is over, and no more when it was ended', async () => {
    const clock = new TestClock();
    const look = jest.fn(async () => nothing);
    const end = new AbortController();
    const replies = [
      polled({ ...wanted, within: 3, lookEvery: 5 }, look, clock),
      polled({ ...wanted, signal: end.signal }, look, clock),
    ];
    end.abort();
    await clock.advance('3s');

    expect(await Promise.all(replies)).toEqual([nothing, nothing]);
    expect(look).toHaveBeenCalledTimes(3);
    expect(clock.pending).toBe(0);
  });

  it('is not asked for jobs by a call that only waits', async () => {
    const clock = new TestClock();
    const look = jest.fn(async () => nothing);
    const reply = polled({ ...wanted, limit: 0 }, look, clock);
    await clock.advance('1s');

    expect(await reply).toBe(LOOK_AGAIN);
    expect(look).not.toHaveBeenCalled();
  });
});
