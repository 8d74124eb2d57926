import { late } from '../../src/base/late-parts';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import type { ConnectionConfig } from '../../src/connections/driver';
import type { FailedLink } from '../../src/job/job-context';
import { testApplication, type TestApplication } from '../support/application';

let ran: string[];
let causes: (FailedLink | undefined)[];

@Job()
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

@Job()
class Tells extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
    causes.push(this.job.cause);
    told = this.job.batch?.id;
  }
}
let told: string | undefined;

@Job()
class Breaks extends Job {
  handle(): void {
    if (broken) throw new Error('it broke');
    ran.push('mended');
  }
}
let broken: boolean;

@Job()
class Adds extends Job {
  constructor(readonly fails: number) {
    super();
  }
  tries(): number {
    return 5;
  }
  handle(): void {
    this.job.batch?.add([new Note('added'), [new Note('first'), new Note('second')]]);
    if (this.attempts <= this.fails) throw new Error('not yet');
  }
}

@Job()
class AddsNow extends Job {
  async handle(): Promise<void> {
    ran.push(`added ${await this.job.batch?.addNow(notes(3))}`);
  }
}

@Job()
class Cancels extends Job {
  async handle(): Promise<void> {
    ran.push(`cancelled ${await this.job.batch?.cancel()}`);
  }
}

@Job()
class Grows extends Job {
  handle(): void {
    this.appendToChain(new Note('appended'));
  }
}

@Job({ connection: 'other' })
class Elsewhere extends Note {}

@Job({ unique: { by: (job: One) => job.key } })
class One extends Job {
  constructor(readonly key: string) {
    super();
  }
  handle(): void {
    ran.push('one');
  }
}

function* notes(count: number): Generator<Note> {
  for (let number = 1; number <= count; number += 1) yield new Note(`note-${number}`);
}

const MEMORY: ConnectionConfig = { driver: 'memory', retryAfter: 30 };
let application: TestApplication;

function given(connections: Record<string, ConnectionConfig> = { memory: MEMORY, other: MEMORY }): void {
  application = testApplication({ connections, default: Object.keys(connections)[0]! });
}

async function work(connection?: string, queue = 'default'): Promise<void> {
  await new Worker({ connection, queue, stopWhenEmpty: true }, application.manager).run();
}

const countsOf = async (id: string) => {
  const batch = await application.manager.batches.get(id);
  return batch && [batch.pending, batch.completed, batch.failed, batch.skipped];
};

const CALLBACKS = { then: new Tells('then'), catch: new Tells('catch'), finally: new Tells('finally') };

const watched = (jobs: Parameters<TestApplication['bus']['batch']>[0]) =>
  application.bus.batch(jobs).then(CALLBACKS.then).catch(CALLBACKS.catch).finally(CALLBACKS.finally);

beforeEach(() => {
  [ran, causes, told, broken] = [[], [], undefined, true];
  given();
  late.dispatcher = application.bus;
});
afterEach(() => application.manager.close());

describe('a batch', () => {
  it('runs its jobs, then its callbacks', async () => {
    const batch = await watched([new Note('a'), false, [new Note('b'), new Note('c')], null])
      .name('notes')
      .dispatch();
    expect(batch).toMatchObject({ name: 'notes', pending: 3, total: 3, progress: 0, isFinished: false, isOpen: false });

    await work();
    expect(ran.toSorted()).toEqual(['a', 'b', 'c', 'finally', 'then']);
    expect(ran.indexOf('b')).toBeLessThan(ran.indexOf('c'));
    expect(told).toBe(batch.id);
    expect(await batch.refresh()).toMatchObject({ completed: 3, progress: 1, isFinished: true, isCancelled: false });
  });

  it('reports the job that failed first, cancels the others, and continues the chain of that job when it is retried', async () => {
    const batch = await watched([[new Breaks(), new Note('behind')], new Note('a'), new Breaks()]).dispatch();
    await new Worker({ stopWhenEmpty: true, concurrency: 1 }, application.manager).run();
    expect(ran.toSorted()).toEqual(['catch', 'finally']);
    expect(causes[0]).toMatchObject({ name: 'Breaks', message: 'it broke' });
    expect(await countsOf(batch.id)).toEqual([0, 0, 1, 3]);

    broken = false;
    ran = [];
    expect(await batch.retryFailed()).toBe(1);
    await work();
    expect(ran).toEqual(['mended', 'behind']);
    expect(await countsOf(batch.id)).toEqual([0, 2, 0, 2]);
  });

  it('runs its other jobs if failures are allowed', async () => {
    const batch = await watched([new Breaks(), new Note('a')])
      .allowFailures()
      .dispatch();
    await work();
    expect(ran.toSorted()).toEqual(['a', 'catch', 'finally']);
    broken = false;
    expect(await application.manager.batches.retryFailed(batch.id)).toBe(1);
    await work();
    expect(ran.slice(3).toSorted()).toEqual(['mended', 'then']);
    expect(await countsOf(batch.id)).toEqual([0, 2, 0, 0]);
  });

  it('finishes at once if it has no jobs', async () => {
    const batch = await watched([]).dispatch();
    expect(batch).toMatchObject({ total: 0, progress: 1, isFinished: true });
    await work();
    expect(ran.toSorted()).toEqual(['finally', 'then']);
    expect(await batch.refresh()).toMatchObject({ total: 0, progress: 1, isFinished: true });
  });

  it('takes the jobs that a job adds once, when that job succeeds', async () => {
    const batch = await watched([new Adds(2)]).dispatch();
    await work();
    expect(ran.toSorted()).toEqual(['added', 'finally', 'first', 'second', 'then']);
    expect(await countsOf(batch.id)).toEqual([0, 4, 0, 0]);
  });

  it('takes jobs from addNow() at once, even from a generator', async () => {
    const batch = await watched([new AddsNow()]).dispatch();
    await work();
    expect(ran.toSorted()).toEqual(['added 3', 'finally', 'note-1', 'note-2', 'note-3', 'then']);
    expect(await countsOf(batch.id)).toEqual([0, 4, 0, 0]);
  });

  it('counts the links that its jobs append to their chains', async () => {
    const batch = await watched([[new Grows(), new Note('b')]]).dispatch();
    await work();
    expect(ran).toEqual(['b', 'appended', 'then', 'finally']);
    expect(await countsOf(batch.id)).toEqual([0, 3, 0, 0]);
  });

  it('does not take jobs that a callback adds, because a callback is not a job of the batch', async () => {
    await application.bus
      .batch([new Note('a')])
      .then(new Adds(0))
      .dispatch();
    await work();
    expect(ran).toEqual(['a']);
    expect(await application.manager.failed.list()).toMatchObject([{ name: 'Adds' }]);
  });

  it('is reported as incomplete if its source hangs after the store has failed', async () => {
    async function* hanging(): AsyncGenerator<Note> {
      yield* notes(1200);
      await application.manager.driver().close();
      yield* notes(1000);
      await new Promise(() => undefined);
    }
    await expect(watched(hanging()).dispatch()).rejects.toMatchObject({ code: 'E_BATCH_INCOMPLETE' });
  });

  it('can be cancelled by one of its jobs, and then takes no more jobs', async () => {
    const batch = await watched([new Cancels(), new Note('a')]).dispatch();
    await new Worker({ stopWhenEmpty: true, concurrency: 1 }, application.manager).run();
    expect(ran).toEqual(['cancelled true', 'finally']);
    expect(await batch.cancel()).toBe(false);
    await expect(batch.add([new Note('late')])).rejects.toMatchObject({ code: 'E_BATCH_ENDED' });
    expect(await batch.refresh()).toMatchObject({ isCancelled: true, skipped: 1 });
  });

  it('takes jobs from outside until it has ended', async () => {
    const batch = await watched([new Note('a')]).dispatch();
    expect(await batch.add([new Note('b'), new Note('c')])).toBe(2);
    await work();
    expect(ran.toSorted()).toEqual(['a', 'b', 'c', 'finally', 'then']);
    await expect(batch.add([new Note('late')])).rejects.toMatchObject({
      code: 'E_BATCH_ENDED',
      facts: { end: 'finished' },
    });
  });

  it('dispatches its progress callback after every so many jobs', async () => {
    await application.bus.batch(notes(5)).progress(new Tells('tick'), { every: 2 }).dispatch();
    await new Worker({ stopWhenEmpty: true, concurrency: 1 }, application.manager).run();
    expect(ran.filter((text) => text === 'tick')).toHaveLength(2);
  });

  it('dispatches each progress callback to another connection with a new id', async () => {
    const tick = new Tells('tick').onConnection('other').delay(5);
    await application.bus.batch(notes(3)).progress(tick, { every: 1 }).dispatch();
    await new Worker({ stopWhenEmpty: true, concurrency: 1 }, application.manager).run();
    await application.clock.advance(10);
    await work('other');
    expect(ran.filter((text) => text === 'tick')).toHaveLength(3);
  });

  it('takes more than a thousand jobs from a generator in several calls and counts them all', async () => {
    const batch = await watched(notes(1200)).dispatch();
    expect(batch).toMatchObject({ pending: 1200 });
    expect(await batch.refresh()).toMatchObject({ pending: 1200, isOpen: false });
    expect(await application.manager.connection().counts('default')).toMatchObject({ ready: 1200, delayed: 0 });
    await work();
    expect(ran.slice(-2)).toEqual(['then', 'finally']);
    expect(await countsOf(batch.id)).toEqual([0, 1200, 0, 0]);
  });

  it('is cancelled if its generator throws, and finishes when its time to be sealed is over', async () => {
    async function* broken(): AsyncGenerator<Note> {
      yield* notes(1500);
      throw new Error('no more paper');
    }
    const dispatch = watched(broken()).dispatch();
    const error = await dispatch.catch((error: unknown) => error as { code: string; facts: { batch: string } });
    expect(error).toMatchObject({ code: 'E_BATCH_INCOMPLETE', facts: { queued: 1000 } });
    await application.clock.advance(70);
    await work();
    expect(ran.toSorted()).toEqual(['catch', 'finally']);
    expect(causes[0]?.message).toMatch(/^E_BATCH_INCOMPLETE: 1000 jobs of the batch/);
    expect(await countsOf((error as { facts: { batch: string } }).facts.batch)).toEqual([0, 0, 0, 1000]);
  });

  it('does not count jobs that a unique key keeps out', async () => {
    const batch = await watched([new One('a'), new One('a'), new One('b')]).dispatch();
    expect(batch.pending).toBe(2);
    await work();
    expect(await countsOf(batch.id)).toEqual([0, 2, 0, 0]);
  });

  it('carries callbacks to other connections over the queue of its jobs, on which workers run', async () => {
    const batch = application.bus.batch([new Note('a').onQueue('notes')]);
    await batch.finally(new Tells('finally').onConnection('other')).dispatch();
    await work('memory', 'notes');
    await work('other');
    expect(ran).toEqual(['a', 'finally']);
  });

  it('dispatches its callbacks to other queues and connections', async () => {
    await application.bus
      .batch([new Note('a')])
      .then(new Tells('then').onQueue('reports'))
      .finally(new Tells('finally').onConnection('other'))
      .dispatch();
    await work();
    expect(ran).toEqual(['a']);
    await work(undefined, 'reports');
    await work('other');
    expect(ran).toEqual(['a', 'then', 'finally']);
  });

  it('lists its callbacks with their destinations and whether they were sent', async () => {
    const batch = await application.bus
      .batch([new Note('a'), new Note('b')])
      .then(new Tells('then').onQueue('reports'))
      .catch(new Tells('catch'))
      .finally(new Tells('finally').onConnection('other').onQueue('far'))
      .progress(new Tells('progress'), { every: 2 })
      .dispatch();
    const expected = [
      { on: 'then', name: 'Tells', queue: 'reports', connection: 'memory' },
      { on: 'catch', name: 'Tells', queue: 'default', connection: 'memory' },
      { on: 'finally', name: 'Tells', queue: 'far', connection: 'other' },
      { on: 'progress', name: 'Tells', queue: 'default', connection: 'memory', every: 2 },
    ];
    expect(await batch.callbacks()).toMatchObject(expected.map((one) => ({ ...one, isSent: false })));

    await work();

    const callbacks = (await (await batch.refresh())?.callbacks()) ?? [];
    expect(callbacks).toMatchObject(expected.map((one) => ({ ...one, isSent: one.on !== 'catch' })));
    const { jobs } = await application.manager.connection('other').jobs('far');
    expect(jobs.map(({ id }) => id)).toEqual([callbacks[2]?.id]);
    await application.clock.advance('1s');
    await application.manager.batches.prune({ olderThan: 0 });
    expect(await batch.callbacks()).toEqual([]);
  });

  it('is not pruned without an age', async () => {
    const prune = application.manager.batches.prune.bind(application.manager.batches) as (options?: object) => unknown;
    for (const given of [undefined, {}, { unfinished: true }])
      await expect(prune(given)).rejects.toMatchObject({ code: 'E_INVALID_DURATION' });
  });

  it('runs its jobs one after the other on a sync connection', async () => {
    given({ sync: { driver: 'sync' } });
    late.dispatcher = application.bus;
    const batch = await watched([new Note('a'), [new Note('b'), new Note('c')]]).dispatch();
    expect(ran).toEqual(['a', 'b', 'c', 'then', 'finally']);
    expect(batch).toMatchObject({ completed: 3, isFinished: true });
    ran = [];
    const failing = await watched([new Breaks(), new Note('a')]).dispatch();
    expect(ran).toEqual(['catch', 'finally']);
    expect(failing).toMatchObject({ failed: 1, skipped: 1, isCancelled: true });
  });
});

describe('a dispatch of a batch', () => {
  const note = new Note('a');

  it.each([
    ['the same job twice', [note, note], 'E_INVALID_BATCH'],
    ['a number', [note, 42], 'E_INVALID_BATCH'],
    ['a class', [note, Note], 'E_INVALID_BATCH'],
    ['an empty chain', [note, []], 'E_INVALID_BATCH'],
    ['a plain object', [note, { text: 'plain' }], 'E_INVALID_BATCH'],
    ['a value that is not a list', 42, 'E_INVALID_BATCH'],
    ['a job of another connection', [note, new Note('c').onConnection('other')], 'E_BATCH_ELSEWHERE'],
    ['a link of another connection', [[note, new Note('c').onConnection('other')]], 'E_BATCH_ELSEWHERE'],
  ])('refuses %s before anything is sent', async (_what, jobs, code) => {
    await expect((async () => watched(jobs as Note[]).dispatch())()).rejects.toMatchObject({ code });
    expect(await application.manager.connection().size('default')).toBe(0);
    expect(await application.manager.batches.list()).toEqual([]);
  });

  it.each([{ limit: -1 }, { limit: 1.5 }, { limit: Number.NaN }, { offset: -1 }, { limit: '10' as never }])(
    'refuses to list batches with %p',
    async (options) => {
      await expect(application.manager.batches.list(options)).rejects.toMatchObject({
        code: 'E_INVALID_LISTING',
        message: expect.stringMatching(/^Batches cannot be listed with (limit|offset) .*whole number/),
      });
    },
  );

  it('pushes its jobs to its own connection, whatever connection their classes name', async () => {
    const batch = await application.bus
      .batch([new Elsewhere('a')])
      .onConnection('memory')
      .dispatch();
    await work('memory');
    expect(ran).toEqual(['a']);
    expect(batch.connection).toBe('memory');
  });

  it.each([
    ['a generator function', () => watched(notes as never).dispatch(), /call it, as in/],
    ['progress without a count', () => watched([note]).progress(new Note('b'), undefined!).dispatch(), /every: 100/],
  ])('refuses %s and names the remedy', async (_what, dispatch, remedy) => {
    await expect((async () => dispatch())()).rejects.toThrow(remedy);
  });

  it('refuses to be awaited before dispatch() was called', async () => {
    const pending = application.bus.batch([new Note('a')]) as unknown as Promise<void>;
    await expect((async () => pending)()).rejects.toMatchObject({ code: 'E_NOT_DISPATCHED' });
  });
});
