/** How long commands show their progress. */
import type { MemoryConnection } from '../../src/connections/memory/connection';
import { fromLeft, Pace, progressLine, withoutTotal } from '../../src/cli/progress';
import { visibleWidth } from '../../src/cli/output';
import { TestClock } from '../../src/testing/test-clock';
import { until } from '../support/application';
import { CommandKit } from './kit/command-kit';

const LINE = '\r\u001B[K';

describe('the progress line of a long command', () => {
  let kit: CommandKit;
  let left: number;
  let finish: (cleared: number) => void;

  beforeEach(() => {
    kit = new CommandKit();
    kit.columns = 80;
    left = 1000;
    const finished = new Promise<number>((resolve) => (finish = resolve));
    const slow = (store: MemoryConnection): MemoryConnection =>
      new Proxy(store, {
        get(target, name) {
          const counts = async () => ({ ready: left, delayed: 0, reserved: 0 });
          if (name === 'queues') return { ...target.queues, clear: () => finished, counts };
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    kit.connectors = { memory: () => slow(kit.store.duplicate()) };
  });

  afterEach(() => kit.close());

  const clearing = async (...line: readonly string[]) => {
    const ended = kit.run('clear', ...line);
    await until(kit.clock, () => kit.clock.pending > 0);
    return { ended };
  };
  const moves = async (by: number): Promise<void> => {
    left -= by;
    await kit.clock.advance('250ms');
  };

  it('has a bar, the rate and the remaining time, and is removed at the end', async () => {
    const { ended } = await clearing();
    await moves(100);
    await moves(150);
    finish(1000);

    const { stdout, stderr } = await ended;
    expect(stderr.split(LINE).slice(1)).toEqual([
      'Clearing default [##------------------] 10% of 1,000, 400/s, 2s left',
      'Clearing default [#####---------------] 25% of 1,000, 500/s, 1s left',
      '',
    ]);
    expect(stdout).toBe('Removed 1000 jobs from default.\n');
  });

  it.each([
    [61, 'Clearing default [#####-----] 50% of 1,000, 2,000/s, 1s left'],
    [60, 'Clearing default: 50% of 1,000, 2,000/s, 1s left'],
    [40, 'Clearing default: 50% of 1,000, 2,000/s'],
    [20, '50% of 1,000'],
    [8, '50% of '],
  ])('fits into %d columns', async (columns, line) => {
    kit.columns = columns;
    const { ended } = await clearing();
    await moves(500);
    finish(1);

    expect((await ended).stderr.split(LINE)[1]).toBe(line);
    expect(visibleWidth(line)).toBeLessThan(columns);
  });

  it('does not appear for quick commands', async () => {
    const { ended } = await clearing();
    finish(1);

    expect((await ended).stderr).not.toContain(LINE);
  });

  it.each([
    ['without a terminal', undefined, []],
    ['with --json', 80, ['--json']],
  ])('does not appear %s', async (_, columns, line) => {
    kit.columns = columns;
    const ended = kit.run('clear', ...line);
    await kit.clock.advance('1s');
    finish(1);

    expect((await ended).stderr).not.toContain('Clearing');
  });
});

describe('the pace of a command', () => {
  it('is that of the last seconds, and is left out if nothing moves', async () => {
    const clock = new TestClock();
    const pace = new Pace(clock);
    const after = async (time: `${number}s`, done: number): Promise<string[]> => {
      await clock.advance(time);
      return pace.facts({ done, total: 10_000 });
    };

    expect(pace.facts({ done: 0, total: 10_000 })).toEqual([]);
    expect(await after('1s', 0)).toEqual([]);
    expect(await after('9s', 1000)).toEqual(['100/s', '1m 30s left']);
    expect(await after('10s', 1001)).toEqual(['6/min', '1d left']);
    expect(await after('10s', 10_000)).toEqual(['900/s']);
    expect(await after('60s', 10_000)).toEqual([]);
  });

  it('gives no remaining time if the total is unknown', async () => {
    const clock = new TestClock();
    const pace = new Pace(clock);
    const measure = withoutTotal(fromLeft(async () => 100 - clock.monotonic() / 1000));
    pace.facts(await measure());
    await clock.advance('2s');

    expect(pace.facts(await measure())).toEqual(['1/s']);
  });
});

describe('the progress of a command', () => {
  it('is never below zero or above the total', async () => {
    const counts = [10, 12, 0];
    const measure = fromLeft(async () => counts.shift() ?? 0);

    expect([await measure(), await measure(), await measure()]).toEqual([
      { done: 0, total: 10 },
      { done: 0, total: 10 },
      { done: 10, total: 10 },
    ]);
    expect(progressLine('', { done: 12, total: 10 }, ['all'], 40)).toBe('[####################] all');
  });

  it('shows only the elapsed time if the progress is unknown', () => {
    expect(progressLine('Looking at redis', undefined, ['12s so far'], 60)).toBe('Looking at redis: 12s so far');
  });
});
