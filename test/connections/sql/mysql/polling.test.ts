import type { Wanted } from '../../../../src/connections/contract';
import { polling } from '../../../../src/connections/sql/waiters';
import { TestClock } from '../../../../src/testing/test-clock';

const wanted: Wanted = { queues: ['a', 'b'], limit: 0, lease: 60, lookEvery: 1 };

/** How long a wait takes that may take two seconds. */
async function span(clock: TestClock, listening: ReturnType<ReturnType<typeof polling>['listening']>): Promise<number> {
  const begun = clock.monotonic();
  let isOver = false;
  const leave = listening.listen(() => (isOver = true), 2);
  while (!isOver) await clock.advance('50ms');
  leave();
  return clock.monotonic() - begun;
}

describe('a worker that polls', () => {
  it('looks at intervals that double up to its own, also if it asks for its queues in another order each time', async () => {
    const clock = new TestClock();
    const { listening } = polling(clock);
    const spans: number[] = [];
    for (let wait = 0; wait < 7; wait += 1) {
      spans.push(await span(clock, listening({ ...wanted, queues: wait % 2 === 0 ? ['a', 'b'] : ['b', 'a'] })));
    }
    expect(spans).toEqual([50, 100, 200, 400, 800, 1000, 1000]);
  });
});
