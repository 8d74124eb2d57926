/**
 * Delayed jobs, jobs that are retried, and a job that runs out of tries until its cause is fixed.
 *
 * The jobs live in this process, so the sample leaves nothing behind.
 */
import { Job, Queue, silentLogger, Worker } from 'onqueue';

const QUEUE = 'reports';
/** `PrintReport` fails until the printer has paper. */
const printer = { hasPaper: false };

@Job({ queue: QUEUE })
class Remind extends Job {
  constructor(readonly text: string) {
    super();
  }

  async handle(): Promise<void> {
    console.log(`reminder: ${this.text}`);
  }
}

// Waits 100 ms after the first failure and 200 ms after every later one. Jitter varies each delay by up to a tenth.
@Job({ queue: QUEUE, tries: 4, backoff: { delays: ['100ms', '200ms'], jitter: 0.1 } })
class FetchFigures extends Job {
  async handle(): Promise<void> {
    if (this.attempts < 3) throw new Error(`the service is busy (attempt ${this.attempts})`);
    console.log(`figures fetched in attempt ${this.attempts}`);
  }
}

@Job({ queue: QUEUE, tries: 2, backoff: '100ms' })
class PrintReport extends Job {
  async handle(): Promise<void> {
    if (!printer.hasPaper) throw new Error('the printer has no paper');
    console.log(`report printed in attempt ${this.attempts}`);
  }

  async failed(error: Error): Promise<void> {
    console.log(`report given up: ${error.message}`);
  }
}

@Job({ queue: QUEUE, tries: 0 })
class WaitForFile extends Job {
  async handle(): Promise<void> {
    // Not a failure, only too early: the job decides itself when to look again.
    if (this.attempts < 3) return this.release('100ms');
    console.log(`file found in attempt ${this.attempts}`);
  }
}

const work = (): Promise<string> => new Worker({ queue: QUEUE, drain: true }).run();

async function main(): Promise<void> {
  Queue.configure({ connections: { memory: { driver: 'memory' } }, logger: silentLogger });
  Queue.exceptionOccurred(({ job, exception }) => console.log(`${job.name} failed: ${exception.message}`));

  await Remind.dispatch('in 800 ms').delay('800ms');
  await Remind.dispatch('at a moment').delay(new Date(Date.now() + 400));
  await Remind.dispatch('at once');
  await FetchFigures.dispatch();
  await PrintReport.dispatch();
  await WaitForFile.dispatch();
  const { ready, delayed } = await Queue.counts(QUEUE);
  console.log(`${ready} jobs are ready, ${delayed} are delayed`);
  await work();

  const failed = await Queue.failed.list({ queue: QUEUE });
  console.log(
    `failed for good: ${failed.map(({ name, attempts }) => `${name} after ${attempts} attempts`).join(', ')}`,
  );
  printer.hasPaper = true;
  console.log(`the printer has paper again; jobs retried: ${await Queue.failed.retry('all')}`);
  await work();

  console.log(`left: ${await Queue.size(QUEUE)} jobs, ${(await Queue.failed.list()).length} failed ones`);
  await Queue.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
