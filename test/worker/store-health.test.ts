import type { Connection } from '../../src/connections/contract';
import { NOTHING } from '../../src/connections/kit/connection';
import { silentLogger } from '../../src/base/logger';
import { TestClock } from '../../src/testing/test-clock';
import { StoreHealth } from '../../src/worker/health';

let clock: TestClock;
let looks: number;
let answer: () => Promise<readonly string[]>;
let store: StoreHealth;

beforeEach(() => {
  clock = new TestClock();
  looks = 0;
  answer = async () => [];
  const paused = (): Promise<readonly string[]> => {
    looks += 1;
    return answer();
  };
  const connection = { control: { paused }, diagnose: async () => [] } as unknown as Connection;
  store = new StoreHealth({ clock, random: () => 1, logger: silentLogger }, connection, 'default', () => undefined);
});

afterEach(() => store.close());

const never = (): Promise<never> => new Promise(() => undefined);

it('asks the store only while somebody reads the health, and for half a minute after', async () => {
  await clock.advance('60s');
  expect(looks).toBe(0);

  expect(store.seen(1).isTroubled).toBe(false);
  await clock.advance('5s');
  expect(looks).toBe(6);
  await clock.advance('60s');
  expect(looks).toBe(30);
});

it('does not ask a store that answers the worker anyway, and still notices an outage within two seconds', async () => {
  for (let second = 0; second < 10; second += 1) {
    store.heard(NOTHING.reply);
    expect(store.seen(1).isTroubled).toBe(false);
    await clock.advance('0.9s');
  }
  expect(looks).toBe(0);

  store.heard(NOTHING.reply);
  answer = never;
  await clock.advance('2s');
  expect(store.seen(1).isTroubled).toBe(true);
});

it('notices the start and the end of an outage within two seconds, however long calls of the driver wait', async () => {
  expect(store.seen(1).isTroubled).toBe(false);
  await clock.advance('0.1s');
  let back!: () => void;
  answer = () => new Promise((resolve) => (back = () => resolve([])));

  await clock.advance('1.9s');
  expect(store.seen(1).isTroubled).toBe(true);
  await clock.advance('60s');
  expect(store.seen(1).isTroubled).toBe(true);

  back();
  await clock.advance(0);
  expect(store.seen(1).isTroubled).toBe(false);
});

it('a call that is given up does not end an outage, and a call that is refused at once is no outage', async () => {
  expect(store.seen(1).isTroubled).toBe(false);
  answer = async () => {
    throw new Error('NOPERM');
  };
  await clock.advance('3s');
  expect(store.seen(1).isTroubled).toBe(false);

  answer = () => new Promise((_, reject) => void clock.after(5000, () => reject(new Error('no answer'))));
  await clock.advance('2s');
  for (let seconds = 2; seconds < 20; seconds += 1) {
    expect(store.seen(1).isTroubled).toBe(true);
    await clock.advance('1s');
  }
});

it('stops asking once it is closed', async () => {
  expect(store.seen(1).isTroubled).toBe(false);
  store.close();
  answer = never;

  await clock.advance('60s');

  expect(store.seen(1).isTroubled).toBe(false);
  expect(looks).toBe(0);
});
