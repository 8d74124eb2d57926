/** A worker that keeps a schedule and runs its jobs. Nothing else dispatches them. */
import { Job, Queue, silentLogger, Worker } from 'onqueue';

@Job({ queue: 'ticks' })
class Tick extends Job {
  async handle(): Promise<void> {
    console.log(`tick ${this.job.occurrence?.at.toISOString()}`);
  }
}

Queue.schedule(() => new Tick())
  .every('1s')
  .name('tick');

export async function run(): Promise<void> {
  Queue.configure({ logger: silentLogger });
  console.log(`a worker keeps its schedule in ${Queue.connection().address}`);
  await new Worker({ queue: 'ticks', maxJobs: 3 }).run();
  const [tick] = await Queue.schedules.list();
  console.log(`${tick?.declared?.cadence}, last ${tick?.last?.toISOString()}`);
  await Queue.close();
}
