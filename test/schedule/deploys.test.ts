/** During a deploy, workers of both versions keep schedules. */
import '../../src/composition';
import type { QueueManager } from '../../src/application/queue-manager';
import { elapse } from '../support/application';
import { Fleet, prune } from './fleet';

let fleet: Fleet;

beforeEach(() => {
  fleet = new Fleet();
});

afterEach(() => fleet.end());

const keep = (manager: QueueManager): (() => Promise<void>) => fleet.keep(manager);

describe('a deploy that changes a schedule', () => {
  const former = prune((one) => one.cron('*/5 * * * *'), 'former');
  const later = prune((one) => one.cron('*/5 * * * *').onQueue('low'), 'later');

  test('lets the process that started last decide, and fires only one version', async () => {
    keep(fleet.process(former));
    await elapse(fleet.clock, 290);
    keep(fleet.process(later));
    await elapse(fleet.clock, 15);
    expect([await fleet.sent(), await fleet.sent('low')]).toEqual([[], ['12:05:00']]);
    await elapse(fleet.clock, 600);
    expect((await fleet.sent()).length).toBe(0);
    // The process that stands down logs it now and then.
    expect(fleet.log.messages('info')).toHaveLength(3);
    expect(fleet.log.messages('info')[0]).toContain("declares the schedule 'prune' in another way");
  });

  test('loses no occurrence that is due at the moment of the change', async () => {
    keep(fleet.process(former));
    await fleet.clock.advance('299990ms');
    keep(fleet.process(later));
    await elapse(fleet.clock, 5);
    expect([...(await fleet.sent()), ...(await fleet.sent('low'))]).toEqual(['12:05:00']);
  });

  test('is not undone by an older process that has not noticed it yet', async () => {
    // It looks every four seconds, and also at each full minute.
    await fleet.clock.advance('4s');
    keep(fleet.process(prune((one) => one.cron('* * * * *'), 'former')));
    await elapse(fleet.clock, 53);
    keep(fleet.process(prune((one) => one.every('1m').onQueue('low'), 'later')));
    await elapse(fleet.clock, 10);
    expect([await fleet.sent(), await fleet.sent('low')]).toEqual([[], ['12:01:00']]);
  });

  test('fires nothing for a time that has passed, even if it was not due at that time before', async () => {
    keep(fleet.process(prune((one) => one.daily().at('12:30'))));
    await elapse(fleet.clock, 1200);
    keep(fleet.process(prune((one) => one.daily().at('12:10'))));
    await elapse(fleet.clock, 1800);
    expect(await fleet.sent()).toEqual([]);
  });

  test('is undone by a remaining older process when the newer ones have died', async () => {
    keep(fleet.process(former));
    await elapse(fleet.clock, 1);
    const newer = fleet.process(later);
    const end = newer.schedules.keep();
    await elapse(fleet.clock, 30);
    // The process was killed: it reports nothing more.
    fleet.fault = (call, carryOut) => (call === 'put' ? Promise.resolve() : carryOut());
    await end();
    fleet.fault = (_call, carryOut) => carryOut();
    await elapse(fleet.clock, 300);
    expect([await fleet.sent(), await fleet.sent('low')]).toEqual([['12:05:00'], []]);
  });
});
