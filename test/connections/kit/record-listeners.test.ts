import { RecordListeners } from '../../../src/connections/kit/record-listeners';
import { TestClock } from '../../../src/testing/test-clock';

let clock: TestClock;
let ears: { readonly join: jest.Mock; readonly leave: jest.Mock; readonly close: jest.Mock };
let listeners: RecordListeners;

beforeEach(() => {
  clock = new TestClock();
  ears = { join: jest.fn(() => false), leave: jest.fn(), close: jest.fn() };
  listeners = new RecordListeners(clock, ears);
});

describe('those who listen for records', () => {
  it('share what they hear by: it joins each name once, and leaves it with the last', () => {
    const [one, two] = [listeners.listen('a', jest.fn()), listeners.listen('a', jest.fn())];
    one.stop();
    one.stop();
    expect(ears.join.mock.calls).toEqual([['a']]);
    expect(ears.leave).not.toHaveBeenCalled();

    two.stop();

    expect(ears.leave.mock.calls).toEqual([['a']]);
    expect(listeners.size).toBe(0);
  });

  it('leave it open for some seconds, and for who comes meanwhile', async () => {
    listeners.listen('a', jest.fn()).stop();
    await clock.advance('4s');
    const next = listeners.listen('b', jest.fn());
    await clock.advance('10s');
    expect(ears.close).not.toHaveBeenCalled();

    next.stop();
    await clock.advance('4s');
    expect(ears.close).not.toHaveBeenCalled();
    await clock.advance('1s');

    expect(ears.close).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
  });

  it('are woken when it hears, when it hears no more, and when it was closed', () => {
    const seen: (readonly [what: string, isHeard: boolean])[] = [];
    const own = listeners.listen('a', () => seen.push(['a', own.isHeard]));
    const deaf = listeners.listen('b', () => seen.push(['b', deaf.isHeard]));

    listeners.opened('a');
    listeners.wake('a');
    listeners.lost();
    listeners.opened('a');
    listeners.close();

    expect(seen).toEqual([
      ['a', true],
      ['a', true],
      ['a', false],
      ['a', true],
      ['a', false],
      ['b', false],
    ]);
    expect(clock.pending).toBe(0);
  });

  it('hear at once what somebody listens for already, and nothing once all is closed', () => {
    listeners.listen('a', jest.fn());
    listeners.opened('a');
    expect(listeners.listen('a', jest.fn()).isHeard).toBe(true);
    listeners.close();

    const late = listeners.listen('c', jest.fn());
    late.stop();

    expect(late.isHeard).toBe(false);
    expect(ears.join).toHaveBeenCalledTimes(1);
  });
});
