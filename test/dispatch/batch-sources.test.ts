import { late } from '../../src/base/late-parts';
import type { BatchSource } from '../../src/job/job-context';
import { endOfTurn } from '../../src/base/clock';
import { Job } from '../../src/job/job';
import { Transaction } from '../../src/dispatch/transaction';
import type { AfterCommitError } from '../../src/dispatch/errors';
import { testApplication, until, type TestApplication } from '../support/application';

@Job()
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {}
}

let application: TestApplication;
let isClosed: boolean;

beforeEach(() => {
  application = testApplication();
  late.dispatcher = application.bus;
  isClosed = false;
});
afterEach(() => application.manager.close());

function* notes(count: number): Generator<Note> {
  for (let number = 1; number <= count; number += 1) yield new Note(`note-${number}`);
}

/** Yields the given number of jobs, then something that is not a job. */
function* spoiled(good: number): Generator<Note> {
  try {
    yield* notes(good);
    yield 42 as never;
  } finally {
    isClosed = true;
  }
}

/** A custom iterator. */
const sourceOf = (next: () => unknown): BatchSource => ({ [Symbol.asyncIterator]: () => ({ next }) }) as never;

const dispatch = async (source: BatchSource) => application.bus.batch(source).dispatch();

describe('the source of a batch', () => {
  it('can be dispatched once if it is a generator, and any number of times if it is a list', async () => {
    const once = application.bus.batch(notes(2));
    expect((await once.dispatch()).total).toBe(2);
    await expect(once.dispatch()).rejects.toMatchObject({ code: 'E_INVALID_BATCH' });
    const list = application.bus.batch([...notes(2)]);
    expect([(await list.dispatch()).total, (await list.dispatch()).total]).toEqual([2, 2]);
  });

  it.each([
    ['its first entry is not a job', 0, 'E_INVALID_BATCH'],
    ['a later entry is not a job', 1500, 'E_BATCH_INCOMPLETE'],
  ])('is closed if %s', async (_what, good, code) => {
    await expect(dispatch(spoiled(good))).rejects.toMatchObject({ code });
    expect(isClosed).toBe(true);
  });

  it('is closed if the store refuses the first of its jobs', async () => {
    jest.spyOn(application.manager.driver(), 'push').mockRejectedValue(new Error('it is away'));
    await expect(dispatch(spoiled(1500))).rejects.toThrow('it is away');
    expect(isClosed).toBe(true);
  });

  it('is closed if it adds something that is not a job, or adds to a batch that has ended', async () => {
    const batch = await dispatch([new Note('first')]);
    await expect(batch.add(spoiled(1))).rejects.toMatchObject({ code: 'E_INVALID_BATCH' });
    expect(isClosed).toBe(true);
    isClosed = false;
    await batch.cancel();
    await expect(batch.add(spoiled(1500))).rejects.toMatchObject({ code: 'E_BATCH_ENDED' });
    expect(isClosed).toBe(true);
  });

  it('may give promises that are not native ones', async () => {
    const results = [{ value: new Note('a') }, { value: new Note('b') }, { done: true }];
    const source = sourceOf(() => ({ then: (resolve: (result: unknown) => void) => resolve(results.shift()) }));
    expect(await dispatch(source)).toMatchObject({ total: 2 });
  });

  it.each([undefined, null, 42])('is refused if it gives %p instead of an iterator result', async (result) => {
    let asked = 0;
    const source = sourceOf(() => {
      asked += 1;
      return asked < 10 ? result : { done: true };
    });
    await expect(dispatch(source)).rejects.toMatchObject({ code: 'E_INVALID_BATCH' });
    expect(asked).toBe(1);
  });

  it('lets other work run while it gives no jobs', async () => {
    let isSent = false;
    const others = (async () => {
      let turns = 0;
      for (; !isSent; turns += 1) await endOfTurn();
      return turns;
    })();
    await dispatch(Array.from({ length: 50_000 }, () => false as const).values());
    isSent = true;
    expect(await others).toBeGreaterThan(100);
  });

  it('keeps its batch open while it gives no jobs', async () => {
    const hold = jest.spyOn(application.manager.driver().batches!, 'hold');
    function* barren(): Generator<Note | false> {
      yield new Note('a');
      for (let given = 0; given < 300; given += 1) {
        void application.clock.advance(1);
        yield false;
      }
    }
    expect(await dispatch(barren())).toMatchObject({ total: 1 });
    expect(hold).toHaveBeenCalled();
  });

  it('reports how many jobs were added before its batch ended', async () => {
    const batch = await dispatch([new Note('first')]);
    async function* ending(): AsyncGenerator<Note> {
      yield* notes(1500);
      await batch.cancel();
      yield* notes(1000);
    }
    const added = batch.add(ending());
    await expect(added).rejects.toMatchObject({ code: 'E_BATCH_ENDED' });
    await expect(added).rejects.toThrow(/^behind the first 1000 jobs, which are in: The batch/);
    expect(await batch.refresh()).toMatchObject({ total: 1001 });
  });
});

it('a dispatch fails if its batch was given up before the last job arrived', async () => {
  const driver = application.manager.driver();
  async function* late(): AsyncGenerator<Note> {
    yield* notes(1000);
    const [batch] = await application.manager.batches.list();
    const now = application.clock.now();
    const clock = jest.spyOn(application.clock, 'now').mockReturnValue(now + 70_000);
    await driver.batches!.seal(batch!.id, undefined, { id: batch!.id, name: '', message: 'it was silent' });
    clock.mockRestore();
  }
  await expect(dispatch(late())).rejects.toMatchObject({ code: 'E_BATCH_INCOMPLETE', facts: { queued: 1000 } });
});

it('a batch in a transaction of the user waits for the first of its jobs', async () => {
  const driver = application.manager.driver();
  driver.within = () => ({ push: async (...pushed) => driver.push(...pushed) });
  async function* slow(): AsyncGenerator<Note> {
    await application.clock.advance(30);
    yield* notes(3);
  }
  const batch = await application.bus.batch(slow()).using({}).dispatch();
  expect(await batch.refresh()).toMatchObject({ pending: 3, isFinished: false });
});

describe('a batch that cannot be sent after a commit', () => {
  const committed = (source: BatchSource): Promise<AfterCommitError> =>
    Transaction.run(async () => application.bus.batch(source).afterCommit().dispatch()).then(
      () => Promise.reject(new Error('it was sent')),
      (error: unknown) => error as AfterCommitError,
    );

  const failingAt = (call: number): void => {
    const driver = application.manager.driver();
    const push = driver.push.bind(driver);
    let calls = 0;
    jest.spyOn(driver, 'push').mockImplementation(async (...pushed) => {
      calls += 1;
      if (calls === call) throw new Error('it is away');
      return push(...pushed);
    });
  };

  it('can be sent again if none of its jobs was queued', async () => {
    failingAt(1);
    const error = await committed([...notes(250)]);
    await error.resend();
    expect(await application.manager.batches.list()).toMatchObject([{ total: 250, isOpen: false }]);
  });

  it('does not hold back other jobs of the commit while its source hangs', async () => {
    const { manager, bus, clock } = application;
    const push = jest.spyOn(manager.driver(), 'push');
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    async function* hanging(): AsyncGenerator<Note> {
      await released;
      yield new Note('late');
    }
    const committing = Transaction.run(async () => {
      await bus.batch(hanging()).afterCommit().dispatch();
      await bus.batch(notes(3)).afterCommit().dispatch();
      await bus.dispatch(new Note('plain')).afterCommit();
    });
    const sent = (): number => push.mock.calls.reduce((sum, [, entries]) => sum + entries.length, 0);
    await until(clock, () => sent() === 4);
    release();
    await committing;
    expect(sent()).toBe(5);
  });

  it.each([
    ['some of its jobs were queued', (): BatchSource => [...notes(250)], 2, [{ total: 99, isCancelled: true }]],
    ['its generator has given some jobs', (): BatchSource => notes(1500), 1, []],
  ])('cannot be sent again if %s', async (_what, source, call, batches) => {
    failingAt(call);
    const error = await committed(source());
    await expect(error.resend()).rejects.toThrow('it is away');
    expect(await application.manager.batches.list()).toMatchObject(batches);
  });
});
