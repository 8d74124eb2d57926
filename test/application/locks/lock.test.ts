import { MemoryConnection } from '../../../src/connections/memory/connection';
import { MemoryStore } from '../../../src/connections/memory/store';
import { Lock } from '../../../src/application/lock';
import { TestClock } from '../../../src/testing/test-clock';
import { Gate } from '../../support/application';

function given() {
  const clock = new TestClock();
  const { locks } = new MemoryConnection('memory', new MemoryStore('memory', clock));
  return { clock, locks, lock: (name = 'report') => new Lock(name, '10s', () => locks, clock) };
}

describe('a lock', () => {
  it('is held by one holder at a time', async () => {
    const { lock } = given();
    const first = lock();

    expect(await first.acquire()).toBe(true);
    expect(await lock().acquire()).toBe(false);
    expect(await lock('another').acquire()).toBe(true);
    expect(await first.release()).toBe(true);
    expect(await lock().acquire()).toBe(true);
  });

  it('expires after its time, and its former holder cannot release it', async () => {
    const { clock, lock } = given();
    const [first, second] = [lock(), lock()];
    await first.acquire();

    await clock.advance('11s');

    expect(await second.acquire()).toBe(true);
    expect(await first.release()).toBe(false);
    expect(await first.renew()).toBe(false);
    expect(await lock().acquire()).toBe(false);
  });

  it('lasts longer when it is renewed', async () => {
    const { clock, lock } = given();
    const first = lock();
    await first.acquire();
    await clock.advance('9s');

    expect(await first.renew('1m')).toBe(true);
    await clock.advance('59s');

    expect(await lock().acquire()).toBe(false);
  });

  it('runs a function while it is held, and is released if that throws', async () => {
    const { lock } = given();

    const value = await lock().get(async () => [await lock().get(() => 'inner'), 'outer']);
    const thrown = lock().get(() => Promise.reject(new Error('no')));

    await expect(thrown).rejects.toThrow('no');
    expect(value).toEqual([undefined, 'outer']);
    expect(await lock().acquire()).toBe(true);
  });

  it('can be waited for', async () => {
    const { clock, lock } = given();
    const first = lock();
    await first.acquire();

    const waiting = lock().block('5s', () => 'mine');
    await clock.advance('2s');
    await first.release();
    await clock.advance('1s');

    expect(await waiting).toBe('mine');
  });

  it('rejects after the wait with its name', async () => {
    const { clock, lock } = given();
    await lock().acquire();

    const waiting = lock()
      .block('5s', () => 'mine')
      .catch((error: unknown) => error);
    await clock.advance('6s');

    expect(await waiting).toMatchObject({
      code: 'E_LOCK_TIMEOUT',
      message: expect.stringContaining(`'report' was not free within 5 s`) as string,
    });
  });

  it('rejects after the wait if its store does not answer, and is released if it is taken after all', async () => {
    const { clock, lock, locks } = given();
    const gate = new Gate();
    const acquire = locks.acquire.bind(locks);
    jest.spyOn(locks, 'acquire').mockImplementationOnce((...asked) => gate.opened.then(() => acquire(...asked)));

    const waiting = lock()
      .block('5s', () => 'mine')
      .catch((error: unknown) => error);
    await clock.advance('5s');

    expect(await waiting).toMatchObject({
      code: 'E_LOCK_TIMEOUT',
      message: expect.stringContaining('its store did not answer') as string,
    });
    gate.open();
    await clock.advance('1s');
    expect(await lock().acquire()).toBe(true);
  });

  it.each([
    ['', '10s'],
    ['report', 0],
  ] as const)('needs a name and a duration: %p, %p', (name, ttl) => {
    expect(() => new Lock(name, ttl, () => never(), new TestClock())).toThrow(
      expect.objectContaining({ code: 'E_INVALID_LOCK' }),
    );
  });
});

function never(): never {
  throw new Error('The store was asked.');
}
