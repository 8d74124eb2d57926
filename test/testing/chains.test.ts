import { AssertionError } from 'node:assert';
import { Job, Queue, Worker } from 'onqueue';
import { runJob } from 'onqueue/testing';
import { RunScript, seen, SendReport, SendWelcome } from './jobs';

@Job()
class Fetch extends Job {
  constructor(readonly url: string) {
    super();
  }
  handle(): void {
    seen.push(`fetch ${this.url}`);
  }
}

@Job()
class Resize extends Job {
  constructor(
    readonly width: number,
    readonly at = new Date(0),
  ) {
    super();
  }
  handle(): void {
    seen.push(`resize ${this.width}`);
    if (this.width > 1000) throw new Error('too wide');
    if (this.width < 100) this.appendToChain(new SendReport('small').delay('1m'));
  }
}

@Job()
class Alert extends Job {
  handle(): void {
    seen.push(`alert ${this.job.cause?.message}`);
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

beforeEach(() => Queue.configure({ default: 'main', connections: { main: memory, other: memory } }));

afterEach(async () => {
  seen.length = 0;
  RunScript.script = () => undefined;
  await Queue.close();
});

describe('assertChained', () => {
  it('passes for a chain of exactly these jobs, given as classes or with data, in order', async () => {
    using queue = Queue.fake();
    await Queue.chain([new Fetch('a'), new Resize(80, new Date(5)), new SendReport('x')]).dispatch();

    queue.assertChained([Fetch, Resize, SendReport]);
    queue.assertChained([new Fetch('a'), Resize, new SendReport('x')]);
    queue.assertChained([Fetch, new Resize(80, new Date(5)), SendReport]);
    for (const other of [
      [Fetch],
      [Fetch, Resize],
      [Resize, Fetch, SendReport],
      [Fetch, Resize, SendReport, Alert],
      [Fetch, new Resize(80), SendReport],
      [new Fetch('b'), Resize, SendReport],
    ]) {
      expect(() => queue.assertChained(other)).toThrow(AssertionError);
    }
  });

  it('says which chain was not pushed, and shows what was, with all its links', async () => {
    using queue = Queue.fake();
    await Queue.chain([new Fetch('a'), new SendReport('x').onConnection('other')])
      .catch(new Alert())
      .dispatch();

    expect(complaint(() => queue.assertChained([Fetch, new SendReport('y')]))).toBe(
      "No chain of Fetch, SendReport { name: 'y' } was pushed. What was pushed:\n" +
        "  1. Fetch { url: 'a' } on the queue 'default' of 'main'\n" +
        "     then SendReport { name: 'x' } on 'reports' of 'other'\n" +
        "     if one fails Alert {} on 'default' of 'main'",
    );
  });

  it('passes for a single job without followers', async () => {
    using queue = Queue.fake();
    await Fetch.dispatch('a');
    queue.assertChained([Fetch]);
    expect(() => queue.assertChained([Resize])).toThrow(AssertionError);
  });

  it.each([
    ['something that is not a list', Fetch, 'E_NOT_A_JOB'],
    ['an empty list', [], 'E_INVALID_CHAIN'],
    ['a string', ['Fetch'], 'E_NOT_A_JOB'],
    ['a function', [() => true], 'E_NOT_A_JOB'],
    ['a class that is not a job', [class Stray {}], 'E_UNDECORATED_JOB'],
  ])('refuses %s, which would never be found', (_what, jobs, code) => {
    using queue = Queue.fake();
    expect(() => queue.assertChained(jobs as [])).toThrow(expect.objectContaining({ code }));
  });
});

describe('a chain under a fake', () => {
  it('counts as its first link, and as each further one when its turn comes', async () => {
    using queue = Queue.fake();
    await Queue.chain([new Fetch('a'), new Resize(800)]).dispatch();

    expect(queue.pushes.map(({ name }) => name)).toEqual(['Fetch']);
    queue.assertNotPushed(Resize);
    await queue.drain();
    expect(queue.pushed(Resize)).toMatchObject([{ job: { width: 800 } }]);
  });

  it('is drained completely, even across connections, and reports only the runs of its links', async () => {
    using queue = Queue.fake();
    await Queue.chain([new Fetch('a'), new SendReport('b').onConnection('other'), new Resize(800)]).dispatch();

    const { completed, released, failed } = await queue.drain();

    expect(seen).toEqual(['fetch a', 'sent b', 'resize 800']);
    expect(completed.map(({ name, connection, next }) => [name, connection, next.map((job) => job.name)])).toEqual([
      ['Fetch', 'main', ['SendReport', 'Resize']],
      ['SendReport', 'other', ['Resize']],
      ['Resize', 'main', []],
    ]);
    expect([released, failed]).toEqual([[], []]);
    expect(queue.pushes.map(({ name }) => name)).toEqual(['Fetch', 'SendReport', 'Resize']);
  });

  it('dispatches its catch job when a link fails', async () => {
    using queue = Queue.fake();
    await Queue.chain([new Fetch('a'), new Resize(2000), new SendReport('never')])
      .catch(new Alert())
      .dispatch();

    const { failed } = await queue.drain();

    expect(seen).toEqual(['fetch a', 'resize 2000', 'alert too wide']);
    expect(failed).toMatchObject([{ name: 'Resize', next: [{ name: 'Alert', job: new Alert() }] }]);
  });

  it('can also be run by a worker in the test', async () => {
    using queue = Queue.fake();
    await Queue.chain([new Fetch('a'), new Resize(800)]).dispatch();
    await new Worker({ stopWhenEmpty: true }).run();
    expect(seen).toEqual(['fetch a', 'resize 800']);
    queue.assertPushed(Resize);
  });

  it('sends a link that is not faked to its real connection', async () => {
    const queue = Queue.fake({ only: [Fetch, SendReport] });
    await Queue.chain([new Fetch('a'), new Resize(80), new SendReport('b')]).dispatch();
    await Queue.chain([new Fetch('c'), new SendReport('d').onConnection('other')]).dispatch();
    await queue.drain();
    expect(seen).toEqual(['fetch a', 'fetch c', 'sent d']);
    queue.assertNotPushed(Resize);
    queue.restore();
    expect(await Queue.size('default')).toBe(1);
  });

  it('sends no link that is not faked for a job whose outcome was refused', async () => {
    const queue = Queue.fake({ only: [RunScript] });
    RunScript.script = async () => void (await Queue.clear());
    await Queue.chain([new RunScript(), new Fetch('a')]).dispatch();

    expect((await queue.drain()).lost).toMatchObject([{ name: 'RunScript' }]);
    queue.restore();
    expect(await Queue.size('default')).toBe(0);
  });
});

describe('runJob', () => {
  it('returns what would follow, including what the job added', async () => {
    const { outcome, next } = await runJob(new Resize(80), { chain: [new Alert(), new Fetch('b').onQueue('slow')] });

    expect(outcome).toBe('completed');
    expect(next).toMatchObject([
      { name: 'Alert', connection: 'main', queue: 'default', delay: 0 },
      { name: 'Fetch', queue: 'slow', job: new Fetch('b') },
      { name: 'SendReport', queue: 'reports', delay: 60, job: { name: 'small' } },
    ]);
    expect(next[2]!.job).toBeInstanceOf(SendReport);
  });

  it('returns no followers for a failed attempt', async () => {
    RunScript.script = (job) => {
      job.appendToChain(new Alert());
      throw new Error('broken');
    };
    expect(await runJob(new RunScript(), { tries: 2 })).toMatchObject({ outcome: 'released', next: [] });
    expect(await runJob(new RunScript())).toMatchObject({ outcome: 'failed', next: [] });
  });

  it('does not call the hook queued', async () => {
    const queued = jest.fn();
    Queue.queued(queued);
    await runJob(new Alert(), { chain: [new Fetch('b')] });
    expect(queued).not.toHaveBeenCalled();
  });

  it('refuses a chain with something that is not a job', async () => {
    await expect(runJob(new SendWelcome('a'), { chain: [Fetch as never] })).rejects.toMatchObject({
      code: 'E_INVALID_CHAIN',
    });
  });
});
