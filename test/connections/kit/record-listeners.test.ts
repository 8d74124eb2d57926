import { RecordListeners } from '../../../src/connections/kit/record-listeners';
import { TestClock } from '../../../src/testing/test-clock';

let clock: TestClock;
let notifications: { readonly join: jest.Mock; readonly leave: jest.Mock; readonly close: jest.Mock };
let listeners: RecordListeners;

beforeEach(() => {
  clock = new TestClock();
  notifications = { join: jest.fn(() => false), leave: jest.fn(), close: jest.fn() };
  listeners = new RecordListeners(clock, notifications);
});

describe('listeners for records', () => {
  it('share one subscription to each name, which ends with the last of them', () => {
    const [one, two] = [listeners.listen('a', jest.fn()), listeners.listen('a', jest.fn())];
    one.stop();
    one.stop();
    expect(notifications.join.mock.calls).toEqual([['a']]);
    expect(notifications.leave).not.toHaveBeenCalled();

    two.stop();

    expect(notifications.leave.mock.calls).toEqual([['a']]);
    expect(listeners.size).toBe(0);
  });

  it('keep the connection open for some seconds after the last one stopped, and for a new one', async () => {
    listeners.listen('a', jest.fn()).stop();
    await clock.advance('4s');
    const next = listeners.listen('b', jest.fn());
    await clock.advance('10s');
    expect(notifications.close).not.toHaveBeenCalled();

    next.stop();
    await clock.advance('4s');
    expect(notifications.close).not.toHaveBeenCalled();
    await clock.advance('1s');

    expect(notifications.close).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
  });

  it('are woken when the subscription starts, when it is lost, and when it is closed', () => {
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

  it('listen at once to a name that is already subscribed, and to nothing after the close', () => {
    listeners.listen('a', jest.fn());
    listeners.opened('a');
    expect(listeners.listen('a', jest.fn()).isHeard).toBe(true);
    listeners.close();

    const late = listeners.listen('c', jest.fn());
    late.stop();

    expect(late.isHeard).toBe(false);
    expect(notifications.join).toHaveBeenCalledTimes(1);
  });
});
