/** What must and must not compile with batches. Checked by the compiler; never run. */
import { type Batch, Job, Queue } from 'onqueue';
import { runJob } from 'onqueue/testing';

@Job()
class Resize extends Job {
  constructor(readonly width: number) {
    super();
  }
  async handle(): Promise<void> {
    this.job.batch?.add([new Resize(1), [new Resize(2), new Resize(3)], false]);
    await this.job.batch?.addNow(widths());
    // @ts-expect-error -- the job may not be in a batch
    this.job.batch.add([new Resize(1)]);
    // @ts-expect-error -- a class instead of an instance
    this.job.batch?.add([Resize]);
    // @ts-expect-error -- a job instead of a list
    this.job.batch?.add(new Resize(1));
  }
}

function* widths(): Generator<Resize> {
  yield new Resize(1);
}

async function* later(): AsyncGenerator<Resize | Resize[]> {
  yield [new Resize(1), new Resize(2)];
}

const isLate = Date.now() > 0;

export const sent: Promise<Batch> = Queue.batch([new Resize(1), [new Resize(2)], isLate && new Resize(3), null])
  .name('thumbnails')
  .allowFailures()
  .then(new Resize(4))
  .catch(new Resize(5))
  .finally(new Resize(6))
  .progress(new Resize(7), { every: 10 })
  .dispatch();
void Queue.batch(widths()).dispatch();
void Queue.batch(later()).onQueue('images').dispatch();
void Queue.chain([new Resize(1), Queue.batch([new Resize(2)])]).dispatch();

export async function awaited(): Promise<void> {
  const batch = await Queue.batch([new Resize(1)]).dispatch();
  await batch.add([new Resize(2)]);
  // @ts-expect-error -- awaiting the batch instead of its dispatch would send nothing
  // oxlint-disable-next-line typescript/await-thenable
  await Queue.batch([new Resize(1)]);
  // @ts-expect-error -- the same, with a callback
  // oxlint-disable-next-line typescript/await-thenable
  await Queue.batch([new Resize(1)]).then(new Resize(2));
}

// @ts-expect-error -- a closure: it cannot travel
void Queue.batch([new Resize(1)]).then(() => undefined);
// @ts-expect-error -- a class instead of an instance
void Queue.batch([new Resize(1)]).catch(Resize);
// @ts-expect-error -- `every` is missing
void Queue.batch([new Resize(1)]).progress(new Resize(2));
// @ts-expect-error -- a job instead of a list
void Queue.batch(new Resize(1));
// @ts-expect-error -- a class instead of an instance
void Queue.batch([Resize]);
// @ts-expect-error -- a closure
void Queue.batch([() => undefined]);
// @ts-expect-error -- a string
void Queue.batch(['Resize']);

using queue = Queue.fake();
queue.assertBatched([Resize, new Resize(1), [Resize, new Resize(2)]]);
queue.assertChained([Resize, [Resize, [new Resize(1), Resize]], Resize]);
queue.assertBatched(({ name, jobs, callbacks }) => name === '' && jobs[0]?.chain.length === callbacks.then.length);
export const widthsOf: readonly (string | undefined)[] = queue.batches.flatMap(({ jobs }) =>
  jobs.map(({ name }) => name),
);
export const added: Promise<number> = runJob(new Resize(1), { batch: true }).then((run) => run.added.length);
// @ts-expect-error -- a class instead of a list
queue.assertBatched(Resize);
// @ts-expect-error -- a promise would always count as true
queue.assertBatched(async ({ name }) => name === '');
// @ts-expect-error -- a name instead of a class
queue.assertBatched(['Resize']);
// @ts-expect-error -- the batch is made for the job
void runJob(new Resize(1), { batch: 'thumbnails' });
