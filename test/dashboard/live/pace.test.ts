import { Live } from '../../../src/dashboard/live';
import type { PageContext, View } from '../../../src/dashboard/view';
import { TestClock } from '../../../src/testing/test-clock';

const SEEN: View = { title: 'Overview', parts: {}, data: {} };

/** Watches a page whose checks of the store behave as given, the last one repeatedly. Returns their number. */
function watched(clock: TestClock, ...goes: readonly (() => Promise<View>)[]): () => number {
  let looks = 0;
  const open = new Live(clock).watch({ viewer: { role: 'viewer' }, here: './' } as PageContext, () => {
    looks += 1;
    return goes[Math.min(looks, goes.length) - 1]!();
  });
  open({ send: () => true, end: () => undefined });
  return () => looks;
}

describe('checks of a store for live pages', () => {
  it('are less frequent the longer they take, except for the first one after an outage', async () => {
    const clock = new TestClock();
    const looks = watched(
      clock,
      () => Promise.resolve({ ...SEEN, trouble: 'The store is away.' }),
      () => new Promise((resolve) => clock.after(3000, () => resolve(SEEN))),
    );

    await clock.advance('2s');
    expect(looks()).toBe(1);
    await clock.advance('2s');
    await clock.advance('3s');
    expect(looks()).toBe(2);
    await clock.advance('2s');
    expect(looks()).toBe(3);
    await clock.advance('3s');
    await clock.advance('4s');
    expect(looks()).toBe(3);
    await clock.advance('1s');
    expect(looks()).toBe(4);
  });

  it('of one store are not delayed by pages of another store that does not answer', async () => {
    const clock = new TestClock();
    const live = new Live(clock);
    const looks = { away: 0, there: 0 };
    const away = (): Promise<View> => {
      looks.away += 1;
      return new Promise((resolve) => clock.after(5000, () => resolve({ ...SEEN, trouble: 'The store is away.' })));
    };
    const there = async (): Promise<View> => {
      looks.there += 1;
      return SEEN;
    };
    const watch = (here: string, look: () => Promise<View>): void => {
      const context = { viewer: { role: 'viewer' }, here } as PageContext;
      live.watch(context, look)({ send: () => true, end: () => undefined });
    };
    for (let place = 0; place < 50; place += 1) watch(`queue?name=away-${place}`, away);
    watch('queue?name=there', there);

    for (let seconds = 0; seconds < 68; seconds += 1) await clock.advance('1s');

    // A first round of 10 seconds, and then one every 7.
    expect(looks).toEqual({ away: 50 * 9, there: 9 });
    live.close();
  });
});
