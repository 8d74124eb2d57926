import { AssertionError } from 'node:assert';
import { Job, Queue } from 'onqueue';
import { type FakeQueue, runJob } from 'onqueue/testing';
import { MakeInvoice, MakeReport, seen, SendReport } from './jobs';

@Job()
class Resize extends Job {
  constructor(readonly width: number) {
    super();
  }
  async handle(): Promise<void> {
    seen.push(`resize ${this.width}`);
    if (this.width > 2000) this.job.batch?.add([new Tell('lost')]);
    if (this.width > 1000) throw new Error('too wide');
    if (this.width === 10) this.job.batch?.add([new Tell('grown'), [new Tell('one'), new Tell('two')]]);
    if (this.width === 20) seen.push(`added ${await this.job.batch?.addNow([new Tell('now')])}`);
    if (this.width === 30) await this.job.batch?.cancel();
  }
}

@Job()
class Tell extends Job {
  constructor(readonly what: string) {
    super();
  }
  handle(): void {
    seen.push([this.what, this.job.cause?.message].filter(Boolean).join(': '));
  }
}

const memory = { driver: 'memory' } as const;
const complaint = (assert: () => void): string => {
  try {
    assert();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
  throw new Error('No assertion failed.');
};

let queue: FakeQueue;

beforeEach(() => {
  Queue.configure({ default: 'main', connections: { main: memory, other: memory } });
  queue = Queue.fake();
});

afterEach(async () => {
  queue.restore();
  seen.length = 0;
  await Queue.close();
});

describe('assertBatched', () => {
  it('passes for a batch of exactly these jobs, given as classes or with data, with chains as lists, in order', async () => {
    await Queue.batch([new Resize(1), new SendReport('x'), [new Resize(2), new Tell('b')]]).dispatch();

    queue.assertBatched([Resize, SendReport, [Resize, Tell]]);
    queue.assertBatched([new Resize(1), [SendReport], [Resize, new Tell('b')]]);
    for (const other of [
      [],
      [Resize, SendReport],
      [Resize, SendReport, Resize],
      [SendReport, Resize, [Resize, Tell]],
      [Resize, SendReport, [Resize, Tell], Tell],
      [new Resize(2), SendReport, [Resize, Tell]],
      [Resize, SendReport, [Resize, new Tell('c')]],
    ]) {
      expect(() => queue.assertBatched(other)).toThrow(AssertionError);
    }
  });

  it('passes for a batch that the predicate accepts, which gets its name, jobs, callbacks and options', async () => {
    const { id } = await Queue.batch([[new Resize(1), new Tell('b')], new MakeReport('x')])
      .name('import')
      .allowFailures()
      .then(new Tell('all').delay('1m'))
      .finally(new SendReport('end').onConnection('other').delay('2m'))
      .progress(new Tell('more'), { every: 10 })
      .dispatch();

    queue.assertBatched(({ name, jobs }) => name === 'import' && jobs.length === 2);
    expect(() => queue.assertBatched(({ allowsFailures }) => !allowsFailures)).toThrow(AssertionError);
    expect(queue.batches).toMatchObject([
      {
        ...{ id, name: 'import', connection: 'main', allowsFailures: true, every: 10 },
        jobs: [
          { name: 'Resize', job: { width: 1 }, chain: [{ job: { what: 'b' } }] },
          { name: 'MakeReport', chain: [] },
        ],
        callbacks: {
          then: [{ job: { what: 'all' }, delay: 60, connection: 'main' }],
          catch: [],
          finally: [{ job: { name: 'end' }, delay: 120, connection: 'other', queue: 'reports' }],
          progress: [{ job: { what: 'more' } }],
        },
      },
    ]);
  });

  it('says which batch was not dispatched, and shows those that were', async () => {
    expect(complaint(() => queue.assertBatched([]))).toBe(
      'No batch of no jobs was dispatched. No batch was dispatched.',
    );
    await Queue.batch([new Resize(1), [new Resize(2), new Tell('b')]])
      .name('import')
      .dispatch();

    expect(complaint(() => queue.assertBatched([[Tell, new Resize(3)]]))).toBe(
      "No batch of Tell → Resize { width: 3 } was dispatched. What was dispatched:\n  1. the batch 'import' on 'main'\n" +
        "     Resize { width: 1 } on the queue 'default' of 'main'\n" +
        "     Resize { width: 2 } on the queue 'default' of 'main'\n" +
        "     then Tell { what: 'b' } on 'default' of 'main'",
    );
  });

  it.each([
    ['a class instead of a list', Resize, 'E_NOT_A_JOB'],
    ['a string', ['Resize'], 'E_NOT_A_JOB'],
    ['a class that is not a job', [class Stray {}], 'E_UNDECORATED_JOB'],
  ])('refuses %s, which would never be found', (_what, jobs, code) => {
    expect(() => queue.assertBatched(jobs as [])).toThrow(expect.objectContaining({ code }));
  });
});

describe('assertNothingBatched', () => {
  it('passes until a batch is dispatched, whatever else is pushed', async () => {
    await Queue.chain([new Resize(1), new Tell('b')]).dispatch();
    queue.assertNothingBatched();

    await Queue.batch([]).dispatch();
    expect(complaint(() => queue.assertNothingBatched())).toContain('A batch was dispatched, and none should be.');
    queue.assertBatched([]);
  });
});

describe('a batch under a fake', () => {
  it('can be looked up, added to and cancelled, and counts as its jobs', async () => {
    const batch = await Queue.batch([new Resize(1), [new Resize(2), new Tell('b')]]).dispatch();

    expect(await batch.add([new Tell('later')])).toBe(1);
    expect(await batch.refresh()).toMatchObject({ total: 4, pending: 4 });
    queue.assertPushed(Resize, 2);
    queue.assertBatched([Resize, [Resize, Tell], new Tell('later')]);
    expect(await batch.cancel()).toBe(true);
    const { cancelled } = await queue.drain();
    expect(cancelled.map(({ name }) => name)).toEqual(['Resize', 'Resize', 'Tell']);
    expect(await Queue.batches.get(batch.id)).toMatchObject({ skipped: 4, isFinished: true });
  });

  it('is drained completely: links, added jobs and callbacks, even on another connection', async () => {
    const batch = await Queue.batch([new Resize(10), new Resize(20), [new Resize(1), new Tell('b')]])
      .then(new SendReport('all').onConnection('other'))
      .finally(new Tell('end'))
      .dispatch();

    const { completed, failed } = await queue.drain();

    expect(seen.slice(0, 4)).toEqual(['resize 10', 'resize 20', 'added 1', 'resize 1']);
    expect(seen.slice(4).toSorted()).toEqual(['b', 'end', 'grown', 'now', 'one', 'sent all', 'two']);
    expect(failed).toEqual([]);
    const [grown, , first] = completed;
    expect(grown).toMatchObject({
      next: [],
      added: [
        { job: { what: 'grown' }, chain: [] },
        { job: { what: 'one' }, chain: [{ job: { what: 'two' } }] },
      ],
    });
    expect(first).toMatchObject({ next: [{ job: { what: 'b' } }] });
    expect(await batch.refresh()).toMatchObject({ completed: 8, isFinished: true });
    queue.assertPushed(SendReport, 1);
    queue.assertPushed(Tell, (tell) => tell.what === 'end');
  });

  it('dispatches its catch job when one job fails, and skips the others', async () => {
    const batch = await Queue.batch([new Resize(2000), new Resize(1)])
      .catch(new Tell('broken'))
      .dispatch();

    const { failed, cancelled } = await queue.drain();

    expect(seen).toEqual(['resize 2000', 'broken: too wide']);
    expect([failed.length, cancelled.length]).toEqual([1, 1]);
    expect(await batch.refresh()).toMatchObject({ failed: 1, skipped: 1, isCancelled: true });
    expect(await batch.retryFailed()).toBe(1);
  });

  it('is complete and in order even if it takes several calls', async () => {
    const widths = Array.from({ length: 250 }, (_, place) => place + 100);
    const batch = await Queue.batch(
      widths.map((width) => (width % 2 ? new Resize(width) : new SendReport(`${width}`))),
    ).dispatch();

    expect(queue.batches[0]!.jobs.map(({ job }) => (job as Resize).width ?? Number((job as SendReport).name))).toEqual(
      widths,
    );
    await queue.drain();
    expect(await batch.refresh()).toMatchObject({ completed: 250, isFinished: true, isOpen: false });
  });

  it('is matched by a list inside a chain, with classes or data, even as the first link', async () => {
    const batch = () => Queue.batch([new Resize(1), [new Resize(2), new Tell('b')]]);
    await Queue.chain([new Tell('first'), batch(), new Tell('last')]).dispatch();
    await Queue.chain([batch(), new SendReport('x')]).dispatch();

    queue.assertChained([Tell, [new Resize(1), [Resize, new Tell('b')]], Tell]);
    queue.assertChained([[Resize, [Resize, Tell]], SendReport]);
    for (const other of [
      [Tell, Tell],
      [Tell, Resize, Tell],
      [Tell, [Resize], Tell],
      [Tell, [new Resize(3), [Resize, Tell]], Tell],
      [[Tell], [Resize, [Resize, Tell]], Tell],
    ]) {
      expect(() => queue.assertChained(other)).toThrow(AssertionError);
    }
    expect(queue.pushes.map(({ name }) => name)).toEqual(['Tell']);
    expect(complaint(() => queue.assertChained([[Tell], Resize]))).toBe(
      'No chain of a batch of Tell, Resize was pushed. What was pushed:\n' +
        "  1. Tell { what: 'first' } on the queue 'default' of 'main'\n" +
        "     then a batch of Resize { width: 1 }, Resize { width: 2 } on 'default' of 'main'\n" +
        "     then Tell { what: 'last' } on 'default' of 'main'\n" +
        "  2. a batch of Resize { width: 1 }, Resize { width: 2 } on the queue 'default' of 'main'\n" +
        "     then SendReport { name: 'x' } on 'reports' of 'main'",
    );
  });

  it('is dispatched when its turn in a chain comes, and then shows what follows it', async () => {
    await Queue.chain([new Tell('first'), Queue.batch([new Resize(1)]).name('inner'), new Tell('last')]).dispatch();
    queue.assertNothingBatched();

    const { completed } = await queue.drain();

    queue.assertBatched([Resize]);
    expect(queue.batches).toMatchObject([{ name: 'inner', callbacks: { next: [{ job: { what: 'last' } }] } }]);
    expect(completed.map(({ name }) => name)).toEqual(['Tell', 'Resize', 'Tell']);
  });

  it('leaves out a job whose unique key is held', async () => {
    await MakeInvoice.dispatch(1);

    const batch = await Queue.batch([new MakeInvoice(1), new MakeInvoice(2)]).dispatch();

    expect(batch.total).toBe(1);
    queue.assertBatched([new MakeInvoice(2)]);
    queue.assertNotPushed(MakeInvoice, (_job, { id }) => id === batch.id);
    queue.assertPushed(MakeInvoice, 2);
  });

  it('is dispatched when its transaction commits, and not at all if that fails', async () => {
    const send = () =>
      Queue.batch([new Resize(1)])
        .afterCommit()
        .dispatch();
    const failing = async () => {
      await send();
      throw new Error('rolled back');
    };

    await Queue.transaction(async () => {
      await send();
      expect(queue.batches).toEqual([]);
    });
    await expect(Queue.transaction(failing)).rejects.toThrow('rolled back');

    expect(queue.batches).toMatchObject([{ jobs: [{ job: { width: 1 } }] }]);
  });
});

describe('a batch under a partial fake', () => {
  it('is faked completely with its callbacks if one of its jobs is, because it cannot be counted in parts', async () => {
    queue.restore();
    const real = await Queue.batch([new SendReport('real')]).dispatch();
    queue = Queue.fake({ only: [Resize] });
    const batch = await Queue.batch([[new SendReport('a'), new SendReport('b')], new Resize(1)])
      .then(new Tell('all'))
      .dispatch();
    await batch.add([new SendReport('c')]);
    await real.add([new SendReport('real')]);

    await queue.drain();

    expect(seen.toSorted()).toEqual(['all', 'resize 1', 'sent a', 'sent b', 'sent c']);
    expect(await batch.refresh()).toMatchObject({ completed: 4, isFinished: true });
    queue.restore();
    expect(await Queue.size('reports')).toBe(2);
    expect((await Queue.batches.list()).map(({ id, pending }) => [id, pending])).toEqual([[real.id, 2]]);
  });
});

describe('runJob with a batch', () => {
  beforeEach(() => queue.restore());

  it('returns what the job added, with its chains, and sends nothing', async () => {
    const { outcome, added, batch } = await runJob(new Resize(10), { batch: true });

    expect(outcome).toBe('completed');
    expect(added).toMatchObject([
      { job: { what: 'grown' } },
      { job: { what: 'one' }, chain: [{ job: { what: 'two' } }] },
    ]);
    expect(batch).toMatchObject({ pending: 1, isCancelled: false });
    expect(await Queue.size()).toBe(0);
  });

  it('returns what the job added at once, whatever the outcome', async () => {
    const { added, batch } = await runJob(new Resize(20), { batch: true });

    expect(seen).toEqual(['resize 20', 'added 1']);
    expect(added).toMatchObject([{ job: { what: 'now' } }]);
    expect(batch).toMatchObject({ pending: 2 });
    expect(await Queue.size()).toBe(0);
  });

  it('returns nothing that a failed job would have added', async () => {
    expect(await runJob(new Resize(3000), { batch: true })).toMatchObject({ outcome: 'failed', added: [] });
  });

  it('shows that the job cancelled its batch', async () => {
    expect((await runJob(new Resize(30), { batch: true })).batch).toMatchObject({ isCancelled: true });
  });

  it('counts the chain after the job', async () => {
    const { batch, next } = await runJob(new Resize(1), { batch: true, chain: [new Tell('b')] });

    expect(batch).toMatchObject({ pending: 2 });
    expect(next).toMatchObject([{ job: { what: 'b' } }]);
  });

  it('gives the job no batch without the option', async () => {
    expect(await runJob(new Resize(10))).toMatchObject({ outcome: 'completed', added: [], batch: undefined });
  });
});
