/** Several queues on one worker: in strict order, or by weight so that none starves. */
import { Job, Queue, silentLogger, Worker } from 'onqueue';

const seen: string[] = [];

@Job()
class Handled extends Job {
  constructor(readonly label: string) {
    super();
  }

  async handle(): Promise<void> {
    seen.push(this.label);
  }
}

const jobs = (label: string, count: number): Handled[] => Array.from({ length: count }, () => new Handled(label));

async function main(): Promise<void> {
  Queue.configure({ connections: { memory: { driver: 'memory' } }, logger: silentLogger });

  // The queue comes from the dispatch, else from the job's `onQueue`, else from `@Job({ queue })`.
  await Handled.dispatch('low').onQueue('low');
  await Handled.dispatch('default');
  await Handled.dispatch('high').onQueue('high');
  await new Worker({ queue: 'high,default,low', drain: true }).run();
  console.log(`strictly in order: ${seen.splice(0).join(', ')}`);

  // Each queue holds 80 jobs, and the worker runs 80 in all: about three from `high` for each one from `low`.
  await Queue.bulk(jobs('high', 80), 'high');
  await Queue.bulk(jobs('low', 80), 'low');
  await new Worker({ queue: 'high:3,low:1', fair: true, maxJobs: 80 }).run();
  const fair = seen.splice(0);
  const high = fair.filter((label) => label === 'high').length;
  console.log(`fair: ${fair.length} jobs ran, both queues got their turn: ${high > 0 && high < fair.length}`);

  // Two workers in one process: one only for urgent jobs, one for all.
  const workers = [
    new Worker({ queue: 'high', concurrency: 2, drain: true }),
    new Worker({ queue: ['high', 'low'], concurrency: 5, drain: true }),
  ];
  await Promise.all(workers.map((worker) => worker.run()));
  console.log(`two workers shared the other ${seen.length}`);
  for (const queue of ['high', 'default', 'low']) console.log(`${queue}: ${await Queue.size(queue)} left`);
  await Queue.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
