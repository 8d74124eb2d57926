/** Reading in haste: what refuses the connection is told at once, and nothing is left behind. */
import { unlessRefused } from '../../../src/connections/kit/haste';
import { TestClock } from '../../../src/testing/test-clock';

const REFUSED = Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' });

let clock: TestClock;

beforeEach(() => {
  clock = new TestClock();
});

it('an answer leaves no timer behind', async () => {
  expect(await unlessRefused(clock, Promise.resolve('served'), () => undefined)).toBe('served');
  expect(clock.pending).toBe(0);
});

it('an error leaves no timer behind either', async () => {
  const failing = Promise.reject(new Error('gone'));
  await expect(unlessRefused(clock, failing, () => undefined)).rejects.toThrow('gone');
  expect(clock.pending).toBe(0);
});

it('a refusal that comes while somebody waits is told within the fifth of a second', async () => {
  let looks = 0;
  const refusal = (): Error | undefined => ((looks += 1) > 3 ? REFUSED : undefined);
  const told = unlessRefused(clock, new Promise(() => undefined), refusal).catch((error: unknown) => error);
  await clock.advance('1s');
  expect(await told).toBe(REFUSED);
  expect([looks, clock.pending]).toEqual([4, 0]);
});
