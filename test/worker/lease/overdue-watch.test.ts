import { TestClock } from '../../../src/testing/test-clock';
import { OverdueWatch } from '../../../src/worker/lease/thread/blocked';

interface Held {
  readonly overdueAt: number;
}

let clock: TestClock;
let held: Held[];
let asked: number;
let blocked: number;
let watch: OverdueWatch;

beforeEach(() => {
  clock = new TestClock();
  held = [];
  asked = 0;
  blocked = 0;
  watch = new OverdueWatch({
    clock,
    overdue: () => (held.length === 0 ? undefined : held.some(({ overdueAt }) => overdueAt <= clock.monotonic())),
    ask: () => (asked += 1),
    blocked: () => (blocked += 1),
  });
});

it('asks the worker when a job is overdue, and considers it blocked after two seconds without an answer', async () => {
  held = [{ overdueAt: 1000 }, { overdueAt: 60_000 }];
  watch.start();

  await clock.advance('900ms');
  expect(asked).toBe(0);
  await clock.advance('100ms');
  expect(asked).toBe(1);
  await clock.advance('1900ms');
  expect(blocked).toBe(0);
  await clock.advance('100ms');
  expect(blocked).toBe(1);
});

it('does not consider a worker blocked that answers, however long its job is overdue', async () => {
  held = [{ overdueAt: 1000 }];
  watch.start();

  for (let second = 0; second < 20; second += 1) {
    await clock.advance('1s');
    watch.answered();
  }

  expect(asked).toBeGreaterThan(1);
  expect(blocked).toBe(0);
});

it('does not ask a worker whose jobs have no timeout', async () => {
  held = [{ overdueAt: Infinity }];
  watch.start();

  await clock.advance('1h');

  expect(asked).toBe(0);
});

it('stops looking when there are no jobs', async () => {
  watch.start();
  await clock.advance('500ms');
  held = [{ overdueAt: 1 }];

  await clock.advance('10s');

  expect(asked).toBe(0);
});
