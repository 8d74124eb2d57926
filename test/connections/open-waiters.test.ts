import { OpenWaiters } from '../../src/connections/kit/open-waiters';
import type { Waiter } from '../../src/connections/contract';

const fakeWaiter = (): Waiter & { readonly close: jest.Mock } => ({
  wait: jest.fn(async () => undefined),
  close: jest.fn(async () => undefined),
});

describe('the waiters of a connection', () => {
  it('end with it', async () => {
    const waiters = new OpenWaiters();
    const waiter = fakeWaiter();
    waiters.add(waiter);

    await waiters.close();

    expect(waiter.close).toHaveBeenCalledTimes(1);
  });

  it('are let go when they are closed before', async () => {
    const waiters = new OpenWaiters();
    const waiter = fakeWaiter();

    await waiters.add(waiter).close();
    expect(waiters.size).toBe(0);
    await waiters.close();

    expect(waiter.close).toHaveBeenCalledTimes(1);
  });
});
