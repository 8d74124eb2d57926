/** Steps and cursors, on a memory store with a clock that the test moves; the other stores are in test/faults. */
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import type { RecordStore } from '../../src/connections/record-store';
import { QueueUnavailableError, type Unavailability } from '../../src/connections/errors';
import type { FoundJob } from '../../src/operations/found-job';
import { Queue } from '../../src/application/queue';
import { runJob } from '../../src/testing';
import { LeaseLostError } from '../../src/worker/errors';
import { Worker } from '../../src/worker/worker';
import { elapse, Gate, testApplication, type TestApplication, until } from '../support/application';

let application: TestApplication;
/** What jobs noted. */
let ran: string[];
/** What the next run does. */
let script: (job: Long) => Promise<unknown>;

beforeEach(() => {
  application = testApplication();
  ran = [];
});

afterEach(() => application.manager.close());

@Job({ tries: 5, timeout: 0, checkpoints: true })
class Long extends Job {
  constructor(readonly file = 'a.csv') {
    super();
  }

  handle(): Promise<unknown> {
    return script(this);
  }
}

@Job({ tries: 2, checkpoints: { steps: 4 } })
class Counted extends Long {}

@Job({ tries: 2, checkpoints: false })
class Without extends Long {}

@Job()
class WithData extends Job {
  constructor(data: object) {
    super();
    Object.assign(this, data);
  }

  handle(): void {
    const { step, checkpoint } = this as unknown as { readonly step: number; readonly checkpoint: string };
    ran.push(`${step} ${checkpoint}`);
  }
}

const records = (): RecordStore => application.manager.driver().records!;
const recordOf = (id: string): Promise<string | undefined> => records().get('checkpoint', `memory:${id}`);
const work = (): Promise<string> => new Worker({ stopWhenEmpty: true }, application.manager).run();
const find = (id: string): Promise<FoundJob> => application.manager.connection().find(id);

/** A step that notes that it ran. */
const noted =
  <T>(name: string, value: T): (() => T) =>
  () => {
    ran.push(name);
    return value;
  };

async function errorOf(run: (job: Long) => Promise<unknown>, job: Long = new Long()): Promise<Error> {
  let thrown: unknown;
  script = async (running) => {
    try {
      await run(running);
    } catch (error) {
      thrown = error;
    }
  };
  await application.bus.dispatch(job);
  await work();
  return thrown as Error;
}

describe('a step', () => {
  it('runs once in all attempts, and later ones get what it gave, with its types', async () => {
    const seen: unknown[] = [];
    script = async (job) => {
      seen.push(await job.step('load', noted('load', { at: new Date(5), rows: new Map([[1n, undefined]]) })));
      seen.push(await job.step('nothing', noted('nothing', undefined)));
      if (job.attempts < 3) throw new Error('not yet');
    };
    await application.bus.dispatch(new Long());

    await work();

    expect(ran).toEqual(['load', 'nothing']);
    const loaded = { at: new Date(5), rows: new Map([[1n, undefined]]) };
    expect(seen).toStrictEqual([loaded, undefined, loaded, undefined, loaded, undefined]);
  });

  it('that throws keeps nothing, and may be tried again in the same run', async () => {
    script = async (job) => {
      await job.step('load', () => Promise.reject(new Error('no network'))).catch(noted('failed', undefined));
      await job.step('load', noted('load', 1));
    };
    await application.bus.dispatch(new Long());

    await work();

    expect(ran).toEqual(['failed', 'load']);
  });

  it('is there before it resolves, and the record is gone when the job has completed', async () => {
    let during: string | undefined;
    script = async (job) => {
      await job.step('load', noted('load', 7));
      during = await recordOf(job.id as string);
    };
    const id = await application.bus.dispatch(new Long());

    await work();

    expect(during).toContain('"name":"load"');
    expect(await recordOf(id)).toBeUndefined();
  });

  it('of a cancelled job leaves no record', async () => {
    script = async (job) => {
      await job.step('load', noted('load', 7));
      await application.manager.connection().cancel(job.id as string);
      await new Promise((_resolve, reject) =>
        job.signal.addEventListener('abort', () => reject(job.signal.reason as Error)),
      );
    };
    const id = await application.bus.dispatch(new Long());
    const working = work();
    await until(application.clock, () => ran.length === 1);
    await elapse(application.clock, 2);
    await working;

    expect(await recordOf(id)).toBeUndefined();
  });

  it.each(['the job', 'its batch'])('leaves no record if %s is cancelled while it waits', async (what) => {
    script = async (job) => job.release(await job.step('load', () => '1s'));
    const batch = await application.bus.batch([new Long()]).dispatch();
    await new Worker({ maxJobs: 1 }, application.manager).run();
    const [left] = await records().list('checkpoint', { limit: 9 });
    const cancel = (): Promise<unknown> => application.manager.connection().cancel(left!.id.slice('memory:'.length));
    await (what === 'the job' ? cancel() : batch.cancel());
    await application.clock.advance('2s');
    await work();
    expect(await records().list('checkpoint', { limit: 9 })).toEqual([]);
  });

  it('that a deploy renames runs anew, and one that it drops is ignored', async () => {
    script = async (job) => {
      await job.step('download', noted('download', 1));
      await job.step('resize', noted('resize', 2));
      script = async (later) => {
        await later.step('download 2', noted('download 2', 1));
        await later.step('upload', noted('upload', 3));
      };
      throw new Error('deployed');
    };
    await application.bus.dispatch(new Long());

    await work();

    expect(ran).toEqual(['download', 'resize', 'download 2', 'upload']);
  });

  it('has a key that is the same in each attempt', async () => {
    script = async (job) => {
      ran.push(job.stepKey('charge'));
      if (job.attempts === 1) throw new Error('again');
    };
    const id = await application.bus.dispatch(new Long());

    await work();

    expect(ran).toEqual([`${id}:charge`, `${id}:charge`]);
  });

  it('moves the progress on, if the job said how many there are', async () => {
    script = async (job) => {
      await job.step('one', noted('one', 1));
      await job.step('two', noted('two', 2));
      throw new Error('stop');
    };
    const id = await application.bus.dispatch(new Counted());
    await work();
    await application.clock.advance('2s');

    expect((await find(id)).progress).toMatchObject({ value: 0.5, text: 'two' });
  });
});

describe('a cursor', () => {
  it('is kept for the next attempt, whenever it was written', async () => {
    const from: unknown[] = [];
    script = async (job) => {
      from.push(job.checkpointed<number>('rows'));
      for (let row = 0; row < 10; row += 1) await job.checkpoint('rows', job.attempts * 100 + row);
      if (job.fence === 2) return job.job.defer();
      if (job.attempts < 4) throw new Error('again');
      return undefined;
    };
    await application.bus.dispatch(new Long());

    await work();

    // A deferred run costs no try, so there are two with the same number.
    expect(from).toEqual([undefined, 109, 209, 209, 309]);
  });

  it('is written at most once a second, and also if nothing follows', async () => {
    const gate = new Gate();
    const { replace } = records();
    const writes: string[] = [];
    records().replace = (record, ...rest) => {
      writes.push(record.value);
      return replace.call(records(), record, ...rest);
    };
    script = async (job) => {
      for (let row = 1; row <= 50; row += 1) await job.checkpoint('rows', row);
      ran.push('done');
      await gate.opened;
    };
    await application.bus.dispatch(new Long());
    const working = work();
    await until(application.clock, () => ran.length === 1);
    expect(writes).toHaveLength(1);

    await elapse(application.clock, 1);

    expect(writes).toHaveLength(2);
    expect(writes[1]).toContain('"command":50');
    gate.open();
    await working;
  });

  it('is taken when it is given: what changes afterwards is not kept', async () => {
    const seen: unknown[] = [];
    script = async (job) => {
      seen.push(job.checkpointed('place'));
      const place = { row: 1 };
      await job.checkpoint('first', 0);
      await job.checkpoint('place', place);
      place.row = 2;
      if (job.attempts === 1) throw new Error('again');
    };
    await application.bus.dispatch(new Long());

    await work();

    expect(seen).toEqual([undefined, { row: 1 }]);
  });
});

describe('a job that has failed', () => {
  it('leaves no record of a first attempt that has kept nothing', async () => {
    script = () => Promise.reject(new Error('before any step'));
    const id = await application.manager.connection().push(new Long());
    await new Worker({ maxJobs: 1 }, application.manager).run();

    expect(await recordOf(id)).toBeUndefined();
  });

  const fail = async (): Promise<string> => {
    script = async (job) => {
      await job.step('load', noted('load', 1));
      job.fail('no more');
    };
    const id = await application.bus.dispatch(new Long());
    await work();
    script = async (job) => {
      await job.step('load', noted('load again', 1));
    };
    return id;
  };

  it('shows its steps, and goes on where it was when it is retried', async () => {
    const id = await fail();

    expect((await find(id)).steps).toEqual([{ name: 'load', at: new Date(application.clock.now()), ms: 0 }]);
    await application.manager.failed.retry(id);
    await work();

    expect(ran).toEqual(['load']);
    expect((await find(id)).steps).toBeUndefined();
  });

  it.each([
    ['alone', (id: string) => application.manager.failed.forget(id)],
    ['with others', () => application.manager.failed.forget({ name: 'Long' })],
  ])('leaves no record when it is forgotten, %s', async (_how, forget) => {
    const id = await fail();
    expect(Number(await forget(id))).toBe(1);
    expect(await recordOf(id)).toBeUndefined();
  });

  it.each([
    ['by its id', (id: string) => application.manager.failed.retry(id, { fromStart: true })],
    ['with all', () => application.manager.failed.retry('all', { fromStart: true })],
    ['with others', () => application.manager.failed.retry({ name: 'Long' }, { fromStart: true })],
  ])('begins anew if it is retried from the start, %s', async (_how, retry) => {
    const id = await fail();

    await retry(id);
    expect((await find(id)).steps).toBeUndefined();
    await work();

    expect(ran).toEqual(['load', 'load again']);
  });
});

describe('a run whose job somebody else has', () => {
  const takenOver = JSON.stringify({ fence: 9, steps: [], cursors: [] });

  it('writes nothing, and is told so', async () => {
    let after: string | undefined;
    const error = await errorOf(async (job) => {
      await job.step('one', noted('one', 1));
      const id = job.id as string;
      await records().put([{ kind: 'checkpoint', id: `memory:${id}`, value: takenOver }], 60);
      try {
        await job.step('two', noted('two', 2));
      } finally {
        after = await recordOf(id);
      }
    });

    expect(error).toBeInstanceOf(LeaseLostError);
    expect(after).toBe(takenOver);
  });

  it('writes nothing after that one has ended the job and its record is gone', async () => {
    const { manager, clock } = application;
    const gate = new Gate();
    let thrown: unknown;
    script = async (job) => {
      await job.step('one', noted('one', 1));
      await gate.opened;
      thrown = await job.checkpoint('rows', 5).catch((error: unknown) => error);
      return job.step('two', noted('two', 2));
    };
    const id = await application.bus.dispatch(new Long());
    const working = work();
    await until(clock, () => ran.length === 1);
    // Somebody has cleared the queue: the store says that the job is gone.
    await manager.connection().clear();
    await records().put([{ kind: 'checkpoint', id: `memory:${id}`, value: '' }], 0);

    await elapse(clock, 2);
    gate.open();
    await working;

    expect(thrown).toBeInstanceOf(LeaseLostError);
    expect(await recordOf(id)).toBeUndefined();
  });

  it('can write nothing once a later run has begun, which claims the record before it starts', async () => {
    let claimed: string | undefined;
    script = async (job) => {
      claimed = await recordOf(job.id as string);
      if (job.attempts === 1) throw new Error('again');
    };
    await application.bus.dispatch(new Long());

    await work();

    expect(claimed).toBe('{"fence":2,"steps":[],"cursors":[]}');
  });
});

describe('the record', () => {
  it('may be removed by hand, or replaced by something else: the next write mends it', async () => {
    const kept: (string | undefined)[] = [];
    for (const value of ['', 'no JSON', '{"fence":"x"}', '[]']) {
      script = async (job) => {
        const record = { kind: 'checkpoint', id: `memory:${job.id as string}`, value };
        await job.step('one', noted('one', 1));
        await records().put([record], value === '' ? 0 : 60);
        await job.step('two', noted('two', 2));
        kept.push(await recordOf(job.id as string));
      };
      await application.bus.dispatch(new Long());
      await work();
    }

    expect(kept).toHaveLength(4);
    for (const text of kept) expect(text).toMatch(/"name":"one".*"name":"two"/);
  });

  it('that nobody can read counts as empty for the next attempt', async () => {
    script = async (job) => {
      await job.step('one', noted('one', 1));
      const record = { kind: 'checkpoint', id: `memory:${job.id as string}`, value: '{"steps":7}' };
      if (job.attempts > 1) return;
      await records().put([record], 60);
      throw new Error('again');
    };
    const id = await application.bus.dispatch(new Long());

    await work();

    expect(ran).toEqual(['one', 'one']);
    expect((await find(id)).state).toBe('completed');
  });

  it('that cannot be read because the store is away puts the job off, at no cost in tries', async () => {
    const away: Unavailability = {
      connection: 'memory',
      store: 'memory',
      address: 'x',
      consequence: 'it waits',
      deadline: 60,
    };
    const { get } = records();
    let isAway = true;
    records().get = async (kind, id) => {
      if (isAway && kind === 'checkpoint') throw new QueueUnavailableError(away);
      return get.call(records(), kind, id);
    };
    const attempts: number[] = [];
    script = async (job) => {
      attempts.push(job.attempts);
      if (job.attempts === 1) throw new Error('again');
    };
    await application.bus.dispatch(new Long());
    await work();
    expect(attempts).toEqual([1]);

    isAway = false;
    await application.clock.advance('6s');
    await work();

    expect(attempts).toEqual([1, 2]);
  });
});

describe('mistakes', () => {
  it.each<[string, (job: Long) => Promise<unknown>, string, RegExp]>([
    [
      'two steps of one name',
      async (job) => [await job.step('a', () => 1), await job.step('a', () => 2)],
      'E_DUPLICATE_STEP',
      /two steps called 'a'/,
    ],
    ['two at once', (job) => Promise.all([job.step('a', () => 1), job.step('a', () => 2)]), 'E_DUPLICATE_STEP', /page/],
    ['no name', (job) => job.step('', () => 1), 'E_INVALID_STEP', /Give a name/],
    ['a name of two lines', (job) => job.checkpoint('a\nb', 1), 'E_INVALID_STEP', /checkpoint\(\) of Long/],
    ['a long name', async (job) => job.checkpointed('a'.repeat(101)), 'E_INVALID_STEP', /100 characters/],
    ['no function', (job) => job.step('a', 5 as never), 'E_INVALID_STEP', /step\(name, \(\) =>/],
    [
      'a value that cannot travel',
      (job) => job.step('a', () => ({ on: [() => 1] })),
      'E_UNSERIALIZABLE_VALUE',
      /Long 'a'.*on\[0\]/,
    ],
    [
      'too large a value',
      (job) => job.checkpoint('big', 'x'.repeat(70_000)),
      'E_CHECKPOINT_TOO_LARGE',
      /'big'.* 70\d+ bytes.*65536/,
    ],
  ])('%s: the error says what to do', async (_what, run, code, message) => {
    const error = await errorOf(run);

    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('too large a cursor leaves what was there', async () => {
    const seen: unknown[] = [];
    script = async (job) => {
      seen.push(job.checkpointed('rows'));
      await job.checkpoint('rows', 1);
      await job.checkpoint('rows', 'x'.repeat(70_000));
    };
    await application.bus.dispatch(new Long());
    await work();

    expect(seen.slice(0, 2)).toEqual([undefined, 1]);
  });

  it('a class without the option is told to say so', async () => {
    const error = await errorOf((job) => job.step('a', () => 1), new Without());

    expect(error).toMatchObject({ code: 'E_NO_CHECKPOINTS', message: expect.stringContaining('checkpoints: true') });
  });

  it('a store without records is told which setting names one', async () => {
    application = testApplication({
      connections: { memory: { driver: 'memory' }, none: { driver: 'null' } },
      operations: 'none',
    });
    const error = await errorOf((job) => job.step('a', () => 1));

    expect(error).toMatchObject({ code: 'E_NO_RECORDS', message: expect.stringContaining('`operations`') });
  });

  it.each([1, { steps: 0 }, { steps: 1.5 }, {}, { step: 4 }, 'yes', null])('the option cannot be %j', (checkpoints) => {
    const declare = (): unknown => Job({ checkpoints } as never)(class Wrong extends Job {});

    expect(declare).toThrow(/checkpoints on Wrong.*\{ steps \}/);
  });

  it('after its outcome was recorded, a handler that goes on keeps nothing', async () => {
    const gate = new Gate();
    let thrown: unknown;
    const late = new Gate();
    script = async (job) => {
      void gate.opened.then(async () => {
        thrown = await job.step('late', noted('late', 1)).catch((error: unknown) => error);
        late.open();
      });
    };
    const id = await application.bus.dispatch(new Long());
    await work();

    gate.open();
    await late.opened;

    expect(ran).toEqual([]);
    expect(thrown).toBeInstanceOf(Error);
    expect(await recordOf(id)).toBeUndefined();
  });
});

it('to a job without the option, fields called step and checkpoint are data', async () => {
  await application.bus.dispatch(new WithData({ step: 3, checkpoint: 'x' }));

  await work();

  expect(ran).toEqual(['3 x']);
});

it('a middleware and a first run read nothing: only later runs of jobs with the option do', async () => {
  const { get } = records();
  const read: string[] = [];
  records().get = (kind, id) => {
    read.push(kind);
    return get.call(records(), kind, id);
  };
  script = async (job) => {
    if (job.attempts === 1) throw new Error('again');
  };
  await application.bus.dispatch(new Without());
  await work();
  expect(read).not.toContain('checkpoint');

  await application.bus.dispatch(new Long());
  await work();

  expect(read.filter((kind) => kind === 'checkpoint')).toHaveLength(1);
});

describe('outside a worker', () => {
  it('runJob() runs the steps', async () => {
    script = async (job) => job.step('load', noted('load', 3));

    const { outcome, value } = await runJob(new Long());

    expect({ outcome, value, ran }).toEqual({ outcome: 'completed', value: 3, ran: ['load'] });
  });

  it('drain() of a fake goes on where the attempt before it was', async () => {
    using queue = Queue.fake();
    script = async (job) => {
      await job.step('load', noted('load', 1));
      await job.checkpoint('rows', job.attempts);
      ran.push(String(job.checkpointed('rows')));
      if (job.attempts < 3) throw new Error('again');
    };
    await Long.dispatch();

    const { completed } = await queue.drain();

    expect(ran).toEqual(['load', '1', '2', '3']);
    expect(completed).toHaveLength(1);
  });

  it.each([
    ['dispatchSync()', () => Long.dispatchSync()],
    ['dispatchNow()', () => Long.dispatchNow()],
  ])('%s runs each step, and keeps nothing', async (_call, run) => {
    using _queue = Queue.fake();
    script = async (job) => [await job.step('a', () => 1), await job.checkpoint('b', 2), job.checkpointed('b')];

    expect(await run()).toEqual([1, undefined, 2]);
  });
});

it('a handler and a middleware have the same at their context', async () => {
  const keep = async (job: JobContext): Promise<unknown> => job.step('a', () => job.stepKey('a'));
  script = async (job) => keep(job.job);
  const { value, id } = await runJob(new Long());

  expect(value).toBe(`${id}:a`);
});
