/**
 * Schedules: a report of each night, and a weekly one that tidies up.
 *
 *     npm run sample -- nightly-report         a week in no time, on the clock of a fake
 *     npm run sample -- nightly-report live    three seconds of a real worker, on SQLite or by REDIS_URL on Redis: start it in two
 *                                              terminals, and each occurrence runs in one of them
 */
import { Job, Queue, silentLogger, Worker } from 'onqueue';
import { TestClock } from 'onqueue/testing';
import { NightlyReport } from './jobs';

/** Four days around the night in which clocks are put forward: 02:30 is left out then, and comes up at 03:00. */
async function travel(): Promise<void> {
  for (const { wall, isClockChange } of await Queue.schedules.occurrences('NightlyReport', {
    from: new Date('2027-03-27'),
    count: 3,
  })) {
    console.log(`comes up at ${wall}${isClockChange ? ', clocks change' : ''}`);
  }
  const queue = Queue.fake({ clock: new TestClock(new Date('2027-03-26T12:00:00Z')) });
  await queue.travelTo(new Date('2027-03-29T12:00:00Z'));
  console.log(`${queue.pushed(NightlyReport).length} reports were sent`);
  await queue.drain();
  queue.restore();
}

async function live(): Promise<void> {
  @Job()
  class Tick extends Job {
    async handle(): Promise<void> {
      console.log(`tick ${this.job.occurrence?.at.toISOString()}`);
    }
  }
  Queue.configure({ logger: silentLogger });
  Queue.schedule(() => new Tick())
    .every('1s')
    .name('tick');
  const { address } = Queue.connection();
  console.log(`a worker keeps the schedules in ${address}`);
  await new Worker({ maxJobs: 3 }).run();
  for (const { name, declared, last } of await Queue.schedules.list()) {
    console.log(`${name}: ${declared?.cadence ?? 'nobody declares it'}, last ${last?.toISOString() ?? 'never yet'}`);
  }
  await Queue.close();
}

const run = process.argv[2] === 'live' ? live : travel;

run().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
