import { TestClock } from '../../../src/testing/test-clock';
import { OverdueWatch } from '../../../src/worker/lease/thread/overdue-watch';

interface Held {
  readonly overdueAt: number;
}

let clock: TestClock;
let held: Held[];
let asked: number;
let blocked: (readonly Held[])[];
let watch: OverdueWatch<Held>;

beforeEach(() => {
  clock = new TestClock();
  held = [];
  asked = 0;
  blocked = [];
  watch = new OverdueWatch<Held>({
    clock,
    held: () => held,
    ask: () => (asked += 1),
    blocked: (overdue) => {
      blocked.push(overdue);
      held = held.filter((one) => !overdue.includes(one));
    },
  });
});

afterEach(() => watch.close());

it('asks the worker when a job is overdue, and calls it blocked after two seconds without an answer', async () => {
  const [late, other] = [{ overdueAt: 1000 }, { overdueAt: 60_000 }];
  held = [late, other];
  watch.start();

  await clock.advance('900ms');
  expect(asked).toBe(0);
  await clock.advance('100ms');
  expect(asked).toBe(1);
  await clock.advance('1900ms');
  expect(blocked).toEqual([]);
  await clock.advance('100ms');
  expect(blocked).toEqual([[late]]);
});

it('does nothing to a worker that answers, however long the job is overdue', async () => {
  held = [{ overdueAt: 1000 }];
  watch.start();

  for (let second = 0; second < 20; second += 1) {
    await clock.advance('1s');
    watch.answered();
  }

  expect(asked).toBeGreaterThan(1);
  expect(blocked).toEqual([]);
});

it('leaves a worker alone whose jobs have no timeout', async () => {
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
