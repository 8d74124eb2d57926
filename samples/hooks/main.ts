/** Hooks observe the runs of jobs, middleware wraps them, and `createPayloadUsing` adds a field to every job. */
import { Job, type JobContext, Queue, silentLogger, Worker } from 'onqueue';

const QUEUE = 'pictures';

/** Middleware is an onion: the code before `next()` runs before the job, the code after it runs afterwards. */
async function announced(job: JobContext, next: () => Promise<unknown>): Promise<void> {
  console.log(`  { for ${String(job.payload['tenant'])}`);
  try {
    await next();
  } finally {
    console.log('  }');
  }
}

@Job({ queue: QUEUE, tries: 2 })
class Resize extends Job {
  constructor(readonly picture: string) {
    super();
  }

  middleware() {
    return [announced];
  }

  async handle(): Promise<void> {
    if (this.picture === 'broken.png') throw new Error('no picture');
    if (this.picture === 'late.png' && this.attempts === 1) throw new Error('not there yet');
    console.log(`    ${this.picture}`);
  }
}

async function main(): Promise<void> {
  Queue.configure({ connections: { memory: { driver: 'memory' } }, logger: silentLogger });

  Queue.createPayloadUsing(() => ({ tenant: 'museum' }));
  Queue.before(({ job }) => console.log(`before, attempt ${job.attempts}`));
  Queue.after(() => console.log('after'));
  Queue.exceptionOccurred(({ exception }) => console.log(`exception: ${exception.message}`));
  Queue.failing(({ job }) => console.log(`failing: ${job.name} after ${job.attempts} attempts`));
  Queue.stopping(({ reason }) => console.log(`stopping: ${reason}`));
  // A hook that throws does not change a job's outcome. Its error is reported here.
  Queue.onError((error) => console.log(`reported: ${(error as Error).message}`));
  const remove = Queue.after(() => {
    remove();
    throw new Error('a hook that fails, once');
  });

  for (const picture of ['cat.png', 'late.png', 'broken.png']) {
    await Resize.dispatch(picture);
    await new Worker({ queue: QUEUE, drain: true }).run();
  }
  await Queue.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
