import type { Connection } from '../../src/connections/contract';
import { TestClock } from '../../src/testing/test-clock';
import { StoreWatch } from '../../src/worker/store-watch';

let clock: TestClock;
let looks: number;
let answer: () => Promise<readonly string[]>;
let watch: StoreWatch;
/** By the clock, when a reserve was last answered. */
let heardAt: number;

beforeEach(() => {
  clock = new TestClock();
  looks = 0;
  heardAt = -Infinity;
  answer = async () => [];
  const paused = (): Promise<readonly string[]> => {
    looks += 1;
    return answer();
  };
  watch = new StoreWatch({ control: { paused } } as unknown as Connection, 'default', clock, {
    get sinceLastPoll() {
      return (clock.monotonic() - heardAt) / 1000;
    },
  });
});

afterEach(() => watch.close());

const never = (): Promise<never> => new Promise(() => undefined);

it('asks the store for nothing while nobody asks for the health, and for a while after', async () => {
  await clock.advance('60s');
  expect(looks).toBe(0);

  expect(watch.answers).toBe(true);
  await clock.advance('5s');
  expect(looks).toBe(6);
  await clock.advance('60s');
  expect(looks).toBe(30);
});

it('asks nothing of a store that answers the worker anyway, and follows an outage after that as soon', async () => {
  for (let second = 0; second < 10; second += 1) {
    heardAt = clock.monotonic();
    expect(watch.answers).toBe(true);
    await clock.advance('0.9s');
  }
  expect(looks).toBe(0);

  heardAt = clock.monotonic();
  answer = never;
  await clock.advance('2s');
  expect(watch.answers).toBe(false);
});

it('follows an outage within two seconds, both ways, however long the calls of the driver wait', async () => {
  expect(watch.answers).toBe(true);
  await clock.advance('0.1s');
  let back!: () => void;
  answer = () => new Promise((resolve) => (back = () => resolve([])));

  await clock.advance('1.9s');
  expect(watch.answers).toBe(false);
  await clock.advance('60s');
  expect(watch.answers).toBe(false);

  back();
  await clock.advance(0);
  expect(watch.answers).toBe(true);
});

it('a call that is given up does not end an outage, and one that is refused at once is none', async () => {
  expect(watch.answers).toBe(true);
  answer = async () => {
    throw new Error('NOPERM');
  };
  await clock.advance('3s');
  expect(watch.answers).toBe(true);

  answer = () => new Promise((_, reject) => void clock.after(5000, () => reject(new Error('no answer'))));
  await clock.advance('2s');
  for (let seconds = 2; seconds < 20; seconds += 1) {
    expect(watch.answers).toBe(false);
    await clock.advance('1s');
  }
});

it('looks no more once it is closed', async () => {
  expect(watch.answers).toBe(true);
  watch.close();
  answer = never;

  await clock.advance('60s');

  expect(watch.answers).toBe(true);
  expect(looks).toBe(0);
});
