import '../../src/composition';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, until } from '../support/application';

const ran: (readonly [string, string, number])[] = [];
beforeEach(() => void (ran.length = 0));

@Job()
class Prune extends Job {
  constructor(readonly age: string) {
    super();
  }
  handle(): void {
    const { occurrence } = this.job;
    ran.push([this.age, occurrence!.schedule, occurrence!.at.getTime()]);
  }
}

test('a worker sends the job of a schedule at its moments, and runs it', async () => {
  const { manager, clock } = testApplication();
  manager
    .schedule(() => new Prune('30d'))
    .every('30s')
    .name('prune');
  const worker = new Worker({}, manager);
  const run = worker.run();
  const begun = clock.now();
  await elapse(clock, 65);
  await until(clock, () => ran.length >= 2);
  const first = Math.ceil((begun + 1) / 30_000) * 30_000;
  expect(ran).toEqual([
    ['30d', 'prune', first],
    ['30d', 'prune', first + 30_000],
  ]);
  await worker.stop();
  await run;
  await manager.close();
});
