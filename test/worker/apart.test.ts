import { Job } from '../../src/job/job';
import type { RecordStore } from '../../src/connections/record-store';
import { keepSuspicion, type Suspicion } from '../../src/operations/suspicion';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse, Gate, testApplication, type TestApplication, until as untilOn } from '../support/application';

let application: TestApplication;
let gates: Map<string, Gate>;
let running: Set<string>;
let beside: string[];
let order: string[];
let workers: Worker[];

beforeEach(() => {
  application = testApplication();
  gates = new Map();
  running = new Set();
  beside = [];
  order = [];
  workers = [];
});

afterEach(async () => {
  for (const gate of gates.values()) gate.open();
  await Promise.all(workers.map((worker) => worker.stop()));
  await application.manager.close();
});

const gateOf = (text: string): Gate => {
  const gate = gates.get(text) ?? new Gate();
  gates.set(text, gate);
  return gate;
};

/** Notes which jobs run beside it, and ends when its gate is opened. */
@Job()
class Held extends Job {
  declare readonly text: string;
  async handle(): Promise<void> {
    order.push(this.text);
    for (const other of running) beside.push(`${this.text} beside ${other}`);
    running.add(this.text);
    await gateOf(this.text).opened;
    running.delete(this.text);
  }
}

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

const countsBecome = async (ready: number, reserved: number): Promise<void> => {
  const { clock, manager } = application;
  for (
    let counts = await manager.driver().queues.counts('default');
    counts.ready !== ready || counts.reserved !== reserved;
  ) {
    await clock.advance(0);
    counts = await manager.driver().queues.counts('default');
  }
};

const textsOf = async (state: 'ready' | 'delayed' | 'reserved'): Promise<string[]> =>
  (await application.manager.driver().queues.peek!('default', state, 10)).map(({ payload }) => String(payload));

const push = async (text: string, crashes: number, more = ''): Promise<void> => {
  const counters = crashes > 0 ? `"crashes":${crashes},"attempts":0` : '"attempts":0';
  const payload = `{"job":"${Held.name}","data":{"text":"${text}"}${more},"id":"${text}",${counters}}`;
  await application.manager.driver().push('default', [{ payload }]);
};

const start = (options: WorkerOptions = {}): Worker => {
  const worker = new Worker({ concurrency: 10, ...options }, application.manager);
  workers.push(worker);
  void worker.run();
  return worker;
};

/** A synchronous job that releases itself twice before it completes. */
@Job({ tries: 0 })
class Again extends Job {
  handle(): void {
    order.push('again');
    if (order.length < 3) this.release();
  }
}

describe('a job whose next crash is its last', () => {
  it('does not let its worker end before its outcome is settled, even if its handler is synchronous', async () => {
    const payload = `{"job":"${Again.name}","data":{},"id":"again","crashes":2,"attempts":0}`;
    await application.manager.driver().push('default', [{ payload }]);
    const ended = new Worker({ stopWhenEmpty: true, concurrency: 2, rest: '1s' }, application.manager).run();
    await elapse(application.clock, 5);

    expect(await ended).toBe('empty');
    expect(order).toHaveLength(3);
  });

  it('runs alone in its worker, after the jobs that were reserved with it', async () => {
    await push('suspect', 2);
    await push('one', 0);
    await push('two', 0);
    start();

    await until(() => running.has('one') && running.has('two'));
    await push('behind', 0);
    gateOf('one').open();
    gateOf('two').open();
    await until(() => running.has('suspect'));
    await application.clock.advance('20s');
    expect([...running]).toEqual(['suspect']);
    gateOf('suspect').open();
    await until(() => running.has('behind'));

    expect(order).toEqual(['one', 'two', 'suspect', 'behind']);
    expect(beside).toEqual(['two beside one']);
  });

  it('leaves other such jobs at the head of their queue, in their order', async () => {
    await push('long', 0);
    start();
    await until(() => running.has('long'));
    for (const text of ['a', 'b', 'c']) await push(text, 2);
    await push('behind', 0);
    await countsBecome(2, 3);
    await until(() => running.has('behind'));

    expect((await textsOf('ready')).map((text) => JSON.parse(text) as object)).toMatchObject([
      { id: 'b', crashes: 2, releases: 1 },
      { id: 'c', crashes: 2, releases: 1 },
    ]);
  });

  it('is not passed back and forth between busy workers: each holds one and takes no more', async () => {
    for (const text of ['long', 'longer']) {
      await push(text, 0);
      start();
      await until(() => running.has(text));
    }
    for (const text of ['a', 'b', 'c', 'd']) await push(text, 2);
    await countsBecome(2, 4);
    await application.clock.advance('20s');

    const releases = (await textsOf('ready')).map((text) => (JSON.parse(text) as { releases: number }).releases);
    expect(Math.max(...releases)).toBeLessThanOrEqual(2);
  });

  it('waits for the jobs that already run, and none behind it starts meanwhile', async () => {
    await push('long', 0);
    await push('short', 0);
    start();

    await until(() => running.has('long') && running.has('short'));
    await push('suspect', 2);
    await countsBecome(0, 3);
    await push('behind', 0);
    await application.clock.advance('4s');
    gateOf('short').open();
    await application.clock.advance('4s');
    expect([...running]).toEqual(['long']);
    gateOf('long').open();
    await until(() => running.has('suspect'));
    await application.clock.advance('20s');
    expect([...running]).toEqual(['suspect']);
    gateOf('suspect').open();
    await until(() => running.has('behind'));

    expect(beside).toEqual(['short beside long']);
  });

  it('is logged with its name and id if it goes back before its payload was parsed', async () => {
    await push('long', 0);
    const worker = start();
    await until(() => running.has('long'));
    for (const text of ['a', 'b']) await push(text, 2);
    await countsBecome(1, 2);
    const stopped = worker.stop();
    await countsBecome(2, 1);
    gateOf('long').open();
    await stopped;

    const told = application.log.lines.filter(({ message }) => message === `${Held.name} released`);
    // At no cost in tries.
    expect(told).toMatchObject([
      { level: 'debug', facts: { job: Held.name, id: 'b' } },
      { level: 'debug', facts: { job: Held.name, id: 'a' } },
    ]);
    expect(application.log.lines.filter(({ message }) => message.includes('(unreadable)'))).toEqual([]);
  });

  it('does not hold up other workers while it waits', async () => {
    await push('long', 0);
    start();
    await until(() => running.has('long'));
    await push('suspect', 2);
    await countsBecome(0, 2);
    await push('behind', 0);

    start();
    await until(() => running.has('behind'));

    expect([...running]).toEqual(['long', 'behind']);
  });

  describe('beside a job that runs for minutes', () => {
    const stateOf = async (id = 'suspect'): Promise<unknown> => {
      const { state, waitsToRunAlone } = await application.manager.connection().find(id);
      return { state, waitsToRunAlone };
    };
    const warnings = (): string[] => application.log.messages('warn').filter((line) => line.includes('suspect'));

    const endless = ',"timeout":0';

    beforeEach(async () => {
      await push('long', 0, endless);
      start();
      await until(() => running.has('long'));
      await push('suspect', 2, endless);
      await countsBecome(0, 2);
      await push('behind', 0, endless);
    });

    it('waits for ten seconds, which is logged and shown, and goes back for half a minute at no cost', async () => {
      await elapse(application.clock, 9);
      expect([...running]).toEqual(['long']);
      expect(warnings()).toEqual([
        expect.stringMatching(/^Held suspect waits to run alone, .* for 10 s at most\. They are: 1\.$/),
      ]);
      expect(await stateOf()).toEqual({ state: 'running', waitsToRunAlone: true });
      expect(await application.manager.connection().workers()).toMatchObject([
        { waiting: { id: 'suspect', name: 'Held', queue: 'default', attempt: 1 } },
      ]);

      await elapse(application.clock, 3);
      expect([...running]).toEqual(['long', 'behind']);
      expect(await textsOf('delayed')).toEqual([expect.stringMatching(/"crashes":2,"releases":1,"attempts":0}$/)]);
      expect(await stateOf()).toEqual({ state: 'delayed', waitsToRunAlone: true });
      expect((await application.manager.connection().jobs('default', { state: 'delayed' })).jobs).toMatchObject([
        { id: 'suspect', waitsToRunAlone: true },
      ]);
    });

    it('runs alone if its worker has nothing else to do when it comes back', async () => {
      await elapse(application.clock, 12);
      gateOf('long').open();
      gateOf('behind').open();
      await elapse(application.clock, 30);

      expect([...running]).toEqual(['suspect']);
      expect(warnings().at(-1)).toContain('runs apart from all others');
      expect(await stateOf()).toEqual({ state: 'running', waitsToRunAlone: undefined });
    });

    it('runs beside the others the third time, which is logged, and other jobs go on starting', async () => {
      await elapse(application.clock, 85);
      expect([...running]).toEqual(['long', 'behind', 'suspect']);
      expect(warnings()).toContainEqual(
        expect.stringContaining('runs beside 2 others, although its next crash would be'),
      );
      await push('later', 0);
      await until(() => running.has('later'));

      expect(await stateOf()).toEqual({ state: 'running', waitsToRunAlone: undefined });
    });

    it('runs beside the others the third time even if it came to three workers', async () => {
      await elapse(application.clock, 12);
      for (const text of ['second', 'third']) {
        await Promise.all(workers.splice(0).map((worker) => (void worker.stop(), elapse(application.clock, 40))));
        await push(text, 0, endless);
        start();
        await until(() => running.has(text));
        await elapse(application.clock, 15);
      }
      await until(() => running.has('suspect'));

      expect(warnings()).toContainEqual(expect.stringContaining('suspect runs beside'));
    });

    it('never runs beside another such job', async () => {
      await push('other', 2, endless);
      await elapse(application.clock, 200);

      expect([...running].filter((text) => ['suspect', 'other'].includes(text))).toHaveLength(1);
      expect(beside.filter((line) => /^(suspect|other) beside (suspect|other)$/.test(line))).toEqual([]);
    });
  });

  it('goes back without losing a try when its worker stops', async () => {
    await push('long', 0);
    const worker = start();
    await until(() => running.has('long'));
    await push('suspect', 2);
    await countsBecome(0, 2);
    const stopped = worker.stop();
    await countsBecome(1, 1);
    gateOf('long').open();
    await stopped;

    expect(await textsOf('ready')).toEqual([expect.stringMatching(/"crashes":2,"releases":1,"attempts":0}$/)]);
    expect(order).toEqual(['long']);
  });

  it('runs after the other such jobs, one at a time, if several come at once', async () => {
    for (const text of ['a', 'b', 'c', 'd']) await push(text, 2);
    start();
    for (const done of [1, 2, 3, 4]) {
      await until(() => order.length === done);
      gateOf(order.at(-1)!).open();
    }
    await countsBecome(0, 0);

    expect([order.toSorted(), beside]).toEqual([['a', 'b', 'c', 'd'], []]);
  });

  it('is reserved alone once its worker has seen one: jobs that came together go back only once', async () => {
    for (const text of ['a', 'b', 'c', 'd']) await push(text, 2);
    start();
    for (const done of [1, 2, 3]) {
      await until(() => order.length === done);
      gateOf(order.at(-1)!).open();
    }
    await until(() => order.length === 4);

    const [last] = await textsOf('reserved');
    expect(JSON.parse(last!)).toMatchObject({ crashes: 2, releases: 1 });
  });

  it('does not delay other jobs: 200 of them run without a wait', async () => {
    const began = application.clock.now();
    const ids = Array.from({ length: 200 }, (_, at) => `job-${at}`);
    for (const [at, id] of ids.entries()) {
      await push(id, at === 7 ? 2 : 0);
      gateOf(id).open();
    }
    start();
    await countsBecome(0, 0);

    expect(order.toSorted()).toEqual(ids.toSorted());
    expect(application.clock.now()).toBe(began);
  });

  it('runs beside other jobs if it may crash again', async () => {
    await push('other', 0);
    await push('crashed once', 1);
    start();

    await until(() => running.size === 2);
    expect(beside).toEqual(['crashed once beside other']);
  });

  it('is announced in the log, without its data', async () => {
    await push('suspect', 2);
    start();
    await until(() => running.has('suspect'));

    expect(application.log.messages('warn')).toEqual([
      'Held suspect runs apart from all others: 2 workers died or froze while they ran it.',
    ]);
  });

  describe('whose worker died', () => {
    const started = { crashes: 2, fence: 3, times: 0, isStarted: true };
    const records = (): RecordStore => application.manager.driver().records!;
    const keep = (suspicion: Suspicion): Promise<void> => keepSuspicion(records(), 'suspect', suspicion);
    /** Other records, such as those of workers, are written as ever. */
    const answerPut = (answer: () => Promise<void>): void => {
      const put = records().put.bind(records());
      jest
        .spyOn(records(), 'put')
        .mockImplementation((entries, ...more) =>
          entries.some(({ kind }) => kind === 'suspects') ? answer() : put(entries, ...more),
        );
    };
    const poisoned = async (): Promise<string> => {
      start({ stopWhenEmpty: true });
      await until(() => application.log.messages('error').length === 1);
      return application.log.messages('error')[0]!;
    };

    it('while it ran is poison, which is not announced as a run', async () => {
      await push('suspect', 3);
      await keep(started);
      expect(await poisoned()).toContain('it counts as poison');

      expect(application.log.messages('warn')).toEqual([]);
    });

    it('while it ran fails at once, beside others: there is no chance for which it should run alone', async () => {
      await push('long', 0);
      start();
      await until(() => running.has('long'));
      await keep(started);
      await push('suspect', 3);
      await until(() => application.log.messages('error').length === 1);

      expect(application.log.messages('error')[0]).toContain('it counts as poison');
      expect(application.log.messages('warn')).toEqual([]);
      expect([...running]).toEqual(['long']);
    });

    it.each([
      ['while it waited to run', { ...started, isStarted: false }],
      ['in a reservation after that in which it ran', { ...started, fence: 2 }],
      ['without a record of a start', undefined],
    ])('%s does not count that crash, and runs', async (_, suspicion) => {
      await push('suspect', 3);
      if (suspicion !== undefined) await keep(suspicion);
      start();
      await until(() => running.has('suspect'));

      expect(await textsOf('reserved')).toEqual([expect.stringMatching(/"crashes":2,"releases":2,"attempts":1}$/)]);
      expect(application.log.messages('warn')).toContainEqual(
        expect.stringMatching(/had not started .* does not count/),
      );
    });

    it('without a record of a start is excused only once: it is poison the second time', async () => {
      await push('suspect', 3);
      start();
      await until(() => running.has('suspect'));
      await keep({ crashes: 3, fence: 4, times: 0, isStarted: false });
      await push('suspect', 3);
      expect(await poisoned()).toContain('it counts as poison');
    });

    it('is poison if nobody can write down that it is excused: it would be for ever', async () => {
      answerPut(() => Promise.reject(new Error('full')));
      await push('suspect', 3);
      expect(await poisoned()).toContain('it counts as poison');
    });

    it('runs after ten seconds although its start cannot be recorded', async () => {
      answerPut(() => new Promise(() => undefined));
      await push('suspect', 2);
      start();
      await countsBecome(0, 1);
      await elapse(application.clock, 9);
      expect(order).toEqual([]);
      await elapse(application.clock, 2);

      expect(order).toEqual(['suspect']);
    });

    it('goes back to its queue if its worker stops while its start is being recorded', async () => {
      answerPut(() => new Promise(() => undefined));
      await push('suspect', 2);
      const worker = start();
      await countsBecome(0, 1);
      await worker.stop();

      expect(order).toEqual([]);
      expect(await textsOf('ready')).toHaveLength(1);
    });

    it('does not wait for its neighbours to find out that the crash does not count', async () => {
      await push('long', 0);
      start();
      await until(() => running.has('long'));
      await push('suspect', 3);
      const holds = (): string[] =>
        application.log.messages('warn').filter((line) => line.includes('waits to run alone'));
      await until(() => holds().length === 1);

      expect((await textsOf('reserved')).find((text) => text.includes('suspect'))).toMatch(
        /"crashes":2,"releases":2,"attempts":1}$/,
      );
      expect([...running]).toEqual(['long']);
    });

    it('counts that crash if its id is too long for a record', async () => {
      await push('s'.repeat(256), 3);
      start({ stopWhenEmpty: true });
      await until(() => application.log.messages('error').length === 1);

      expect(order).toEqual([]);
    });
  });

  it('is recognised by the maxCrashes of its own dispatch', async () => {
    await push('long', 0);
    start();
    await until(() => running.has('long'));
    await push('suspect', 1, ',"maxCrashes":2');
    await application.clock.advance('2s');
    expect([...running]).toEqual(['long']);
    gateOf('long').open();
    await until(() => running.has('suspect'));

    expect(await textsOf('reserved')).toEqual([expect.stringMatching(/"crashes":1,"attempts":1}$/)]);
    expect(beside).toEqual([]);
  });

  it('does not wait for a handler that was given up and never returns', async () => {
    await push('stubborn', 0, ',"timeout":5');
    start({ grace: 1 });
    await until(() => running.has('stubborn'));
    await push('suspect', 2);

    await application.clock.advance('5s');
    await application.clock.advance('1s');
    await until(() => running.has('suspect'));
    expect(order).toEqual(['stubborn', 'suspect']);
  });
});
