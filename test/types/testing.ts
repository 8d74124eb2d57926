/** What must and must not compile with the test kit. Checked by the compiler; never run. */
import { Job, Queue } from 'onqueue';
import { type DrainReport, runJob } from 'onqueue/testing';

@Job()
class Add extends Job {
  constructor(
    readonly left: number,
    readonly right: number,
  ) {
    super();
  }

  async handle(): Promise<number> {
    return this.left + this.right;
  }
}

@Job()
class Guarded {
  protected constructor(readonly secret: string) {}
}

// Works without importing anything from the test kit.
using queue = Queue.fake();

queue.assertPushed(Add, (job, { queue, delay }) => job.left > delay && queue === 'default');
queue.assertPushed(Add, 2);
queue.assertPushedOn('default', Add, (job) => job.right === 2);
queue.assertSkipped(Add, (job) => job.right === 2);
queue.assertPushed(Guarded, (job) => job.secret === '');
queue.assertChained([Add, Guarded, new Add(1, 2)]);
export const lefts: number[] = queue.pushed(Add).map(({ job }) => job.left);
export const report: Promise<DrainReport> = queue.drain({ delayed: true, timeout: '1m' });
export const sum: Promise<number | undefined> = runJob(new Add(1, 2)).then(({ value }) => value);
export const next: Promise<readonly string[]> = runJob(new Add(1, 2), { chain: [new Add(3, 4)] }).then((run) =>
  run.next.map(({ name }) => name),
);
export const left: Promise<number> = runJob(new Add(1, 2)).then(({ job }) => job.left);

// @ts-expect-error -- a field that the job does not have
queue.assertPushed(Add, (job) => job.middle === 0);

// @ts-expect-error -- a predicate must return a boolean
queue.assertPushed(Add, (job) => void job.left);

// @ts-expect-error -- a promise would always count as true
queue.assertPushed(Add, async (job) => job.left === 1);

// @ts-expect-error -- a class instead of a list
queue.assertChained(Add);

// @ts-expect-error -- a name instead of a class
queue.assertChained(['Add']);

// @ts-expect-error -- a class instead of an instance
void runJob(new Add(1, 2), { chain: [Add] });

// @ts-expect-error -- the arguments are exchanged
queue.assertPushedOn(Add, 'default');

// @ts-expect-error -- not a duration
void queue.advance('10 minutes');

// @ts-expect-error -- an unknown option
void queue.drain({ delay: true });

// @ts-expect-error -- a token without a stub
void runJob(new Add(1, 2), { stubs: [Add] });

// @ts-expect-error -- the class instead of an instance
void runJob(Add);
