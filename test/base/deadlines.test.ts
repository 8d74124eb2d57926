import { TestClock } from '../../src/testing/test-clock';
import { Deadline, Deadlines } from '../../src/base/clock';

let clock: TestClock;
let deadlines: Deadlines;
let expired: string[];

beforeEach(() => {
  clock = new TestClock(0);
  deadlines = new Deadlines(clock);
  expired = [];
});

function set(name: string, milliseconds: number): Deadline {
  const key = new Deadline(() => expired.push(`${name} at ${clock.now()}`));
  deadlines.set(key, milliseconds);
  return key;
}

it('each deadline expires once, at its time', async () => {
  set('late', 300);
  set('early', 100);

  await clock.advance('1s');

  expect(expired).toEqual(['early at 100', 'late at 300']);
});

it('a removed deadline does not expire', async () => {
  const key = set('gone', 100);
  set('other', 200);

  deadlines.remove(key);
  await clock.advance('1s');

  expect(expired).toEqual(['other at 200']);
});

it('a deadline that is set again expires at its new time only', async () => {
  const key = set('moved', 100);

  deadlines.set(key, 500);
  await clock.advance('1s');

  expect(expired).toEqual(['moved at 500']);
});

it('many deadlines use one timer', () => {
  for (let count = 0; count < 1000; count += 1) set(`job ${count}`, 1000 + count);

  expect(clock.pending).toBe(1);
});

it('closing leaves no timer, and no deadline expires', async () => {
  set('open', 100);

  deadlines.close();

  expect(clock.pending).toBe(0);
  await clock.advance('1s');
  expect(expired).toEqual([]);
});
