/** Jobs that an earlier release has left behind do not silence their schedules. */
import '../../src/composition';
import type { PendingSchedule } from '../../src/schedule/schedule';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { elapse, until } from '../support/application';
import { overlapKey, withTies } from '../../src/payload/ties';
import { Fleet, prune, ran } from './fleet';
import { reserveFrom, settleIn } from '../support/exchange';

@Job()
class Breaks extends Job {
  handle(): void {
    throw new Error('the warehouse is down');
  }
}

let fleet: Fleet;
beforeEach(() => {
  ran.length = 0;
  fleet = new Fleet();
});
afterEach(() => fleet.end());

const on = (queue: string) => prune((one: PendingSchedule) => one.everyMinute().onQueue(queue));

describe('an occurrence', () => {
  test('replaces one that waits on a queue to which the schedule no longer sends', async () => {
    const stop = fleet.keep(fleet.process(on('old')));
    await elapse(fleet.clock, 130);
    expect(await fleet.sent('old')).toEqual(['12:01:00']);
    await stop();
    const store = new MemoryConnection('main', fleet.store);
    const [job] = (await reserveFrom(store, { queues: ['old'], limit: 1, lease: 60 })).reservations;
    await settleIn(store, [{ outcome: 'released', reservation: job!, delay: 3600, counters: job!.counters }]);

    fleet.keep(fleet.process(on('new')));
    await elapse(fleet.clock, 60);
    expect(await fleet.sent('old')).toEqual([]);
    expect(await fleet.sent('new')).toEqual(['12:03:00']);
  });

  test('is skipped while that one runs', async () => {
    const stop = fleet.keep(fleet.process(on('old')));
    await elapse(fleet.clock, 65);
    await stop();
    const store = new MemoryConnection('main', fleet.store);
    await reserveFrom(store, { queues: ['old'], limit: 1, lease: 3600 });

    fleet.keep(fleet.process(on('new')));
    await elapse(fleet.clock, 65);
    expect(await fleet.sent('new')).toEqual([]);
  });
});

test('an occurrence of a class that the new release does not know keeps the next ones away only until a worker meets it', async () => {
  const ties = { unique: { key: overlapKey('prune'), until: 'end' as const } };
  const payload = '{"displayName":"OldPrune","job":"onqueue","data":{},"id":"old","attempts":0}';
  const store = new MemoryConnection('main', fleet.store);
  await store.push('default', [{ payload: withTies(payload, ties), ties }]);
  const manager = fleet.process(prune((one) => one.everyMinute()));
  const worker = new Worker({}, manager);
  const run = worker.run();
  await elapse(fleet.clock, 185);

  expect(ran).toHaveLength(3);
  const [listed] = (await manager.schedules.list()).filter(({ name }) => name === 'prune');
  expect(listed).toMatchObject({ skipped: 0, heldBy: undefined });
  await worker.stop();
  await run;
});

describe('the list of schedules', () => {
  test('names the job because of which occurrences are skipped, and says why it is there', async () => {
    const manager = fleet.process(on('nobody'));
    fleet.keep(manager);
    await elapse(fleet.clock, 130);

    const [listed] = (await manager.schedules.list()).filter(({ name }) => name === 'prune');
    expect(listed).toMatchObject({
      skipped: 1,
      last: new Date(Date.UTC(2027, 0, 1, 12, 1)),
      heldBy: {
        name: 'Prune',
        queue: 'nobody',
        state: 'ready',
        why: "it waits on 'nobody', which no live worker works",
      },
    });

    const worker = new Worker({ queue: 'nobody' }, manager);
    const run = worker.run();
    await until(fleet.clock, () => worker.health().outcomes.completed === 1);
    const [after] = (await manager.schedules.list()).filter(({ name }) => name === 'prune');
    expect(after).toMatchObject({ heldBy: undefined });
    await worker.stop();
    await run;
  });
});

test('all failed occurrences of a schedule can be sent back, and hold up no new ones', async () => {
  const manager = fleet.process((of) =>
    of
      .schedule(() => new Breaks())
      .name('breaks')
      .everyMinute(),
  );
  const worker = new Worker({}, manager);
  const run = worker.run();
  for (let minute = 1; minute <= 3; minute += 1) {
    await elapse(fleet.clock, 61);
    await until(fleet.clock, () => fleet.store.failed.size === minute);
  }
  await worker.stop();
  await run;

  expect(await manager.failed.retry('all')).toBe(3);
  expect(await fleet.sent()).toHaveLength(3);
  expect(fleet.store.failed.size).toBe(0);
  expect(fleet.store.unique.size).toBe(0);
});
