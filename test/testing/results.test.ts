import { Job, Queue } from 'onqueue';
import { type FakeQueue, runJob } from 'onqueue/testing';

let queue: FakeQueue;

beforeEach(() => {
  Queue.configure({ connections: { main: { driver: 'redis' } } });
  queue = Queue.fake();
});

afterEach(async () => {
  queue.restore();
  await Queue.close();
});

@Job({ keepResult: '1h' })
class Add extends Job {
  constructor(
    readonly a: number,
    readonly b: number,
  ) {
    super();
  }
  handle(): { readonly sum: number; readonly at: Date } {
    if (this.b === 0) throw new RangeError('nothing to add');
    return { sum: this.a + this.b, at: new Date(0) };
  }
}

@Job({ keepResult: '1h' })
class GivesAFunction extends Job {
  handle(): unknown {
    return () => 1;
  }
}

it('Queue.result() gives the results of jobs that a drain has run', async () => {
  const id = await Add.dispatch(1, 2);
  const broken = await Add.dispatch(1, 0);

  await queue.drain();

  expect(await Queue.result(id)).toEqual({ sum: 3, at: new Date(0) });
  await expect(Queue.result(broken)).rejects.toMatchObject({ code: 'E_JOB_FAILED', facts: { name: 'RangeError' } });
});

it('a waiting Queue.result() is woken when a drain ends the job', async () => {
  const id = await Add.dispatch(1, 2);
  const result = Queue.result(id, { within: '30s' });

  await queue.drain();

  expect(await result).toMatchObject({ sum: 3 });
});

it('runJob() reports a result that could not be kept', async () => {
  const { outcome, value, reported } = await runJob(new GivesAFunction());

  expect([outcome, typeof value]).toEqual(['completed', 'function']);
  expect(reported).toEqual([expect.objectContaining({ code: 'E_UNSERIALIZABLE_VALUE' })]);
});
