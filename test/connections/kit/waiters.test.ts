import { Waiters } from '../../../src/connections/kit/waiters';
import { systemClock } from '../../../src/base/clock';

const never = new AbortController().signal;
const listening = () => ({ listen: jest.fn(() => () => undefined), left: jest.fn() });

describe('the waiters of a connection', () => {
  it('are closed with it, which ends their waits', async () => {
    const waiters = new Waiters('main', systemClock);
    const own = listening();
    const waiter = waiters.open(own);
    const wait = waiter.wait(60, never);

    await waiters.close();

    await wait;
    expect(own.left).toHaveBeenCalledTimes(1);
    await expect(waiter.wait(1, never)).rejects.toMatchObject({ code: 'E_CONNECTION_CLOSED' });
  });

  it('are forgotten when they are closed first', async () => {
    const waiters = new Waiters('main', systemClock);
    const own = listening();

    await waiters.open(own).close();
    expect(waiters.size).toBe(0);
    await waiters.close();

    expect(own.left).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['a wake-up', (wake: () => void) => wake()],
    ['the end of its time', () => undefined],
  ])('stop listening after %s', async (_, act) => {
    const leave = jest.fn();
    const waiter = new Waiters('main', systemClock).open({
      listen: (wake) => {
        act(wake);
        return leave;
      },
    });

    await waiter.wait(0.01, never);

    expect(leave).toHaveBeenCalledTimes(1);
  });

  it('reject with an error of the listening connection', async () => {
    const waiter = new Waiters('main', systemClock).open({
      listen: (wake) => {
        wake(new Error('deaf'));
        return () => undefined;
      },
    });

    await expect(waiter.wait(1, never)).rejects.toThrow('deaf');
  });
});
