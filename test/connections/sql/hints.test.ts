import { Hints } from '../../../src/connections/sql/waiters';
import { TestClock } from '../../../src/testing/test-clock';

describe('hints', () => {
  let clock: TestClock;
  let hints: Hints;
  let woken: number;
  let unwatched: number;

  beforeEach(() => {
    clock = new TestClock();
    [woken, unwatched] = [0, 0];
    hints = new Hints(clock, () => (unwatched += 1));
  });

  const listen = (queues: readonly string[], mayHaveMissed = false): (() => void) =>
    hints.listen(queues, () => (woken += 1), mayHaveMissed);

  it('end the next wait if nobody waited when they came', () => {
    listen(['a'])();
    hints.hint('a');

    listen(['a'])();
    expect(woken).toBe(1);
    listen(['a'])();
    expect(woken).toBe(1);
  });

  it('reach a worker that looks while another one of its process waits', () => {
    const looks = listen(['a']);
    const waits = listen(['a']);
    looks();
    hints.hint('a');
    expect(woken).toBe(1);

    listen(['a'])();
    expect(woken).toBe(2);
    waits();
    listen(['a'])();
    expect(woken).toBe(2);
  });

  it('may have been missed by the first wait for some queues, but not by a wait for the same ones in another order', () => {
    listen(['a', 'b'], true)();
    expect(woken).toBe(1);

    listen(['b', 'a'], true)();
    expect(woken).toBe(1);
  });

  it('are watched for a while after the last wait', async () => {
    listen(['a'])();
    await clock.advance('9s');
    listen(['b'])();
    await clock.advance('9s');
    expect([hints.areWatched, unwatched]).toEqual([true, 0]);

    await clock.advance('1s');
    expect([hints.areWatched, unwatched]).toEqual([false, 1]);
  });
});
