import { connectMemory, type MemoryConnection } from '../../../src/connections/memory/connection';
import { TestClock } from '../../../src/testing/test-clock';
import { reserveFrom, waitOn } from '../../support/exchange';

const never = new AbortController().signal;

let clock: TestClock;
let connection: MemoryConnection;

beforeEach(() => {
  clock = new TestClock();
  connection = connectMemory({ driver: 'memory' }, { name: 'memory', clock });
});

afterEach(() => connection.close());

/** Whether the promise has settled after all pending microtasks. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  void promise.then(() => (over = true));
  await clock.advance(0);
  return over;
}

describe('a wait in memory', () => {
  it('wakes when a delayed job becomes due', async () => {
    await connection.push('mail', [{ payload: '{}', delay: 600 }]);
    const wait = waitOn(connection, ['mail'], 3600, never);
    await clock.advance('599s');
    expect(await isOver(wait)).toBe(false);
    await clock.advance('1s');
    expect(await isOver(wait)).toBe(true);
  });

  it('wakes when a lease ends', async () => {
    await connection.push('mail', [{ payload: '{}' }]);
    await reserveFrom(connection, { queues: ['mail'], limit: 1, lease: 60 });
    const wait = waitOn(connection, ['mail'], 3600, never);
    await clock.advance('59s');
    expect(await isOver(wait)).toBe(false);
    await clock.advance('1s');
    expect(await isOver(wait)).toBe(true);
  });

  it('sleeps on when the lease it waited for is renewed', async () => {
    await connection.push('mail', [{ payload: '{}' }]);
    const { reservations } = await reserveFrom(connection, { queues: ['mail'], limit: 1, lease: 60 });
    const wait = waitOn(connection, ['mail'], 3600, never);
    await clock.advance('50s');
    await connection.renew(reservations, 60);
    await clock.advance('50s');
    expect(await isOver(wait)).toBe(false);
    await clock.advance('10s');
    expect(await isOver(wait)).toBe(true);
  });

  it('sleeps on when another queue is pushed to, until its time is over', async () => {
    const wait = waitOn(connection, ['mail'], 10, never);
    await connection.push('other', [{ payload: '{}' }]);
    expect(await isOver(wait)).toBe(false);
    await clock.advance('10s');
    expect(await isOver(wait)).toBe(true);
  });

  it('leaves no timer behind, however its wait ends', async () => {
    const abort = new AbortController();
    await connection.push('mail', [{ payload: '{}', delay: 600 }]);
    const waits = [waitOn(connection, ['mail'], 10, abort.signal), waitOn(connection, ['mail'], 10, never)];
    abort.abort();
    await connection.push('mail', [{ payload: '{}' }]);
    await Promise.all(waits);
    expect(clock.pending).toBe(0);
  });
});
