/** Workers that stop when no job is ready, or none is left, even on stores whose counts are estimates. */
import { connectMemory } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import type { Connection } from '../../src/connections/contract';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse, until } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';
import { reserveFrom } from '../support/exchange';

setTheScene();

@Job()
class Gated extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await gate.opened;
  }
}

/** Replaces some parts of the memory connection. */
function onStore(different: (memory: Connection) => Partial<Connection>): void {
  application.manager.addConnector('memory', (config, context) => {
    const memory = connectMemory(config, context);
    const others = different(memory);
    return new Proxy<Connection>(memory, {
      get(target, property): unknown {
        const value: unknown = Reflect.get(property in others ? others : target, property);
        return typeof value === 'function' ? value.bind(property in others ? others : target) : value;
      },
    });
  });
}

@Job({ tries: 2 })
class Stumble extends Job {
  constructor(readonly wait: number) {
    super();
  }
  backoff(): number {
    return this.wait;
  }
  handle(): void {
    ran.push(`attempt ${this.attempts}`);
    if (this.attempts === 1) throw new Error('not yet');
  }
}

const work = (options: WorkerOptions): Promise<string> => new Worker(options, application.manager).run();
const stranger = (id: string): string => JSON.stringify({ job: 'Stranger', data: {}, id, attempts: 0 });

describe('stopWhenEmpty', () => {
  it('leaves delayed jobs, and jobs to be tried again later, to the next worker', async () => {
    await application.bus.dispatch(new Note('tomorrow')).delay('1d');
    await application.bus.bulk([new Stumble(10), new Note('now')]);

    expect(await work({ stopWhenEmpty: true })).toBe('empty');

    expect(ran).toEqual(['attempt 1', 'now']);
    expect(await application.manager.connection().counts()).toMatchObject({ ready: 0, delayed: 2, reserved: 0 });
  });

  it('runs jobs that its own jobs dispatched, and jobs that are tried again at once', async () => {
    application.manager.hooks.on('after', ({ job }) =>
      job.name === 'Stumble' ? application.bus.dispatch(new Note('sent by it')) : undefined,
    );
    await application.bus.dispatch(new Stumble(0));

    expect(await work({ stopWhenEmpty: true })).toBe('empty');

    expect(ran).toEqual(['attempt 1', 'attempt 2', 'sent by it']);
  });

  it('does not wait for jobs that run elsewhere', async () => {
    await application.bus.dispatch(new Note('runs elsewhere'));
    await reserveFrom(application.manager.driver(), { queues: ['default'], limit: 1, lease: 30 });

    expect(await work({ stopWhenEmpty: true })).toBe('empty');
  });

  it('runs jobs that arrive while its slots rest', async () => {
    await application.bus.dispatch(new Note('first'));
    application.manager.hooks.on('after', () =>
      ran.length === 1 ? application.bus.dispatch(new Note('came meanwhile')) : undefined,
    );
    const ended = work({ stopWhenEmpty: true, rest: '5s' });

    await elapse(application.clock, 11);

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['first', 'came meanwhile']);
  });

  it('runs a job that must run alone before it ends', async () => {
    const suspect = '{"job":"Note","data":{"text":"suspect"},"id":"s","crashes":2,"attempts":0}';
    await application.bus.dispatch(new Gated());
    application.manager.hooks.on('after', () => gate.opened);
    const ended = work({ stopWhenEmpty: true, concurrency: 2 });
    await until(application.clock, () => ran.length === 1);
    await application.manager.connection().pushRaw(suspect);
    await elapse(application.clock, 3);

    gate.open();

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['started', 'suspect']);
  });
});

describe('drain', () => {
  it('waits for delayed jobs and for jobs to be tried again', async () => {
    await application.bus.dispatch(new Note('later')).delay('10m');
    await application.bus.dispatch(new Stumble(10));
    const ended = work({ drain: true });

    await elapse(application.clock, 601);

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['attempt 1', 'attempt 2', 'later']);
  });

  it('does not wait for jobs that only another worker can run', async () => {
    await application.manager.connection().pushRaw(stranger('1'));
    await application.bus.dispatch(new Note('later')).delay('8s');
    const ended = work({ drain: true });

    await elapse(application.clock, 9);

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['later']);
    expect(await application.manager.connection().counts()).toMatchObject({ delayed: 1 });
  });

  it('still waits for its own jobs when a job that only another worker can run is gone', async () => {
    await application.manager.connection().pushRaw(stranger('1'));
    await application.bus.dispatch(new Note('later')).delay('1h');
    const ended = work({ drain: true });
    await elapse(application.clock, 1);
    await application.manager.connection().cancel('1');

    await application.clock.advance('1h');

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['later']);
  });

  it('takes precedence over stopWhenEmpty', async () => {
    await application.bus.dispatch(new Note('later')).delay('10s');
    const ended = work({ drain: true, stopWhenEmpty: true });

    await elapse(application.clock, 11);

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['later']);
  });
});

describe('a worker whose wait may hold a job', () => {
  it('runs a job that comes back when the wait ends', async () => {
    onStore((memory) => ({
      exchange: async (settlements, wanted) => {
        const settled = await memory.exchange(settlements, wanted);
        if (wanted?.signal?.aborted === true && !ran.includes('handed to the wait'))
          await application.bus.dispatch(new Note('handed to the wait'));
        return settled;
      },
    }));
    await application.bus.dispatch(new Gated());
    const ended = work({ stopWhenEmpty: true, concurrency: 2 });
    await until(application.clock, () => ran.length === 1);
    await application.clock.advance('1s');

    gate.open();

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['started', 'handed to the wait']);
  });
});

describe('a worker whose store estimates its counts', () => {
  let estimated: number;
  let looks: number;

  beforeEach(() => {
    estimated = 0;
    looks = 0;
    onStore((memory) => ({
      capabilities: { ...memory.capabilities, exactCounts: false },
      queues: {
        ...memory.queues,
        counts: async () => {
          looks += 1;
          return { ready: 0, delayed: estimated, reserved: 0 };
        },
      },
      exchange: async (settlements, wanted) => {
        const { results, reply } = await memory.exchange(settlements, wanted);
        return { results, reply: { ...reply, nextIn: Infinity } };
      },
    }));
  });

  const run = (): Promise<string> => work({ drain: true });

  it('ends when no job came for five seconds and none was counted', async () => {
    let isOver = false;
    const ended = run().finally(() => (isOver = true));

    await elapse(application.clock, 4.5);
    expect({ isOver, looks }).toEqual({ isOver: false, looks: 3 });
    await elapse(application.clock, 2);

    expect(await ended).toBe('empty');
  });

  it('ends under stopWhenEmpty even while delayed jobs are counted', async () => {
    estimated = 1;
    const ended = work({ stopWhenEmpty: true });

    await elapse(application.clock, 7);

    expect(await ended).toBe('empty');
  });

  it('waits five seconds after each job, because a count may not show the jobs that it dispatched', async () => {
    await application.bus.dispatch(new Note('first')).delay('4s');
    application.manager.hooks.on('after', () => application.bus.dispatch(new Note('left by it')).delay('4s'));
    const running = work({ drain: true, maxJobs: 3 });

    await elapse(application.clock, 20);

    expect(await running).toBe('max-jobs');
    expect(ran).toEqual(['first', 'left by it', 'left by it']);
  });

  it('waits while jobs are counted, and five seconds longer', async () => {
    estimated = 1;
    const ended = run();
    await elapse(application.clock, 30);

    estimated = 0;
    await application.bus.dispatch(new Note('not counted yet')).delay('3s');
    await elapse(application.clock, 15);

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['not counted yet']);
  });
});
