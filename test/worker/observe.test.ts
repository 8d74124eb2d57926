import { AsyncLocalStorage } from 'node:async_hooks';
import type { EndedRun } from '../../src/connections/application';
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;
let reported: string[];
const spans = new AsyncLocalStorage<string>();
let seen: (string | undefined)[];

@Job()
class Traced extends Job {
  constructor(readonly fails = false) {
    super();
  }
  middleware() {
    const note = async (_: JobContext, next: () => Promise<unknown>) => {
      seen.push(`middleware in ${spans.getStore()}`);
      return next();
    };
    return [note];
  }
  async handle(): Promise<void> {
    await new Promise(setImmediate);
    seen.push(`handle in ${spans.getStore()}`);
    if (this.fails) throw new Error('no such span');
  }
}

beforeEach(() => {
  application = testApplication();
  reported = [];
  seen = [];
  application.manager.onError((error) => void reported.push((error as Error).message));
});

afterEach(() => application.manager.close());

const work = () => new Worker({ stopWhenEmpty: true }, application.manager).run();

const broken = (): never => {
  throw new Error('the tracer is broken');
};

describe('an observer', () => {
  it('carries a context from the dispatch into the handler and its middleware', async () => {
    const { manager, bus } = application;
    manager.observe({
      dispatching: () => ({ fields: { trace: spans.getStore() } }),
      around: (job, call) => spans.run(`child of ${String(job.payload['trace'])}`, call),
    });

    await spans.run('request', () => bus.dispatch(new Traced()));
    await work();

    expect(seen).toEqual(['middleware in child of request', 'handle in child of request']);
  });

  it('is told how a dispatch and a run ended', async () => {
    const { manager, bus } = application;
    const heard: unknown[] = [];
    manager.observe({
      dispatching: ({ name, queue }) => ({ end: (error) => heard.push([name, queue, error]) }),
      ended: ({ job, outcome, error }: EndedRun) => heard.push([job.name, outcome, error?.message]),
    });
    await bus.dispatch(new Traced(true));
    await work();
    expect(heard).toEqual([
      ['Traced', 'default', undefined],
      ['Traced', 'failed', 'no such span'],
    ]);
  });

  it('is told how a job of dispatchSync ended', async () => {
    const { manager, bus } = application;
    const heard: unknown[] = [];
    manager.observe({
      dispatching: () => ({ end: (error) => heard.push(['sent', error]) }),
      ended: ({ outcome, worker, isAttempt, error }: EndedRun) =>
        heard.push([outcome, worker, isAttempt, error?.message]),
    });
    await bus.dispatchSync(new Traced());
    await expect(bus.dispatchSync(new Traced(true))).rejects.toThrow('no such span');

    expect(heard).toEqual([
      ['completed', 'sync', true, undefined],
      ['sent', undefined],
      ['failed', 'sync', true, 'no such span'],
      ['sent', undefined],
    ]);
  });

  it('is told the error of a refused dispatch', async () => {
    const { manager, bus } = application;
    const heard: unknown[] = [];
    manager.observe({ dispatching: () => ({ end: (error) => heard.push((error as Error).message) }) });
    jest.spyOn(manager.driver(), 'push').mockRejectedValue(new Error('full'));
    await expect(bus.dispatch(new Traced())).rejects.toThrow('full');
    await expect(bus.bulk([new Traced()])).rejects.toThrow('full');
    expect(heard).toEqual([expect.stringContaining('full'), expect.stringContaining('full')]);
  });

  it('is told of each job of a chain and can add to its payload', async () => {
    const { manager, bus } = application;
    let dispatches = 0;
    const ended: number[] = [];
    const traces: unknown[] = [];
    manager.observe({
      dispatching: () => {
        const trace = (dispatches += 1);
        return { fields: { trace }, end: () => ended.push(trace) };
      },
      ended: ({ job }) => traces.push(job.payload['trace']),
    });
    await bus.chain([new Traced(), new Traced()]).dispatch();
    await work();
    expect(ended.toSorted()).toEqual([1, 2]);
    expect(traces).toEqual([1, 2]);
  });

  it('that throws is reported and changes no outcome', async () => {
    const { manager, bus } = application;
    const outcomes: string[] = [];
    manager.observe({ dispatching: broken, around: broken, ended: broken });
    manager.observe({ dispatching: () => ({ end: broken }), ended: ({ outcome }) => outcomes.push(outcome) });
    await bus.dispatch(new Traced());
    await work();
    expect(outcomes).toEqual(['completed']);
    expect(reported).toEqual(Array.from({ length: 4 }, () => 'the tracer is broken'));
  });

  it('can neither skip a handler, nor run it twice, nor swallow its error', async () => {
    const { manager, bus } = application;
    const outcomes: string[] = [];
    manager.observe({ around: () => 'nothing was called' });
    manager.observe({ around: (_, call) => [call(), call()] });
    manager.observe({
      around: async (_, call) => {
        await Promise.resolve(call()).catch(() => undefined);
        throw new Error('the tracer is broken');
      },
    });
    manager.observe({ around: async (_, call) => call() });
    manager.observe({ ended: ({ outcome }) => outcomes.push(outcome) });
    await bus.dispatch(new Traced());
    await bus.dispatch(new Traced(true));
    await work();
    expect(outcomes).toEqual(['completed', 'failed']);
    expect(seen.filter((line) => line?.startsWith('handle'))).toHaveLength(2);
    expect(reported).toEqual(['the tracer is broken', 'the tracer is broken']);
  });

  it('sees jobs that run in the dispatching process', async () => {
    application.manager.observe({ around: (_, call) => spans.run('span', call) });
    await application.bus.dispatchSync(new Traced());
    expect(seen).toEqual(['middleware in span', 'handle in span']);
  });

  it('sees nothing after it was removed', async () => {
    const off = application.manager.observe({ around: (_, call) => spans.run('span', call) });
    off();
    await application.bus.dispatch(new Traced());
    await work();
    expect(seen).toEqual(['middleware in undefined', 'handle in undefined']);
  });

  it.each([[undefined], [null], ['trace'], [{}], [{ around: 5 }], [() => undefined]])('is refused as %p', (given) => {
    expect(() => application.manager.observe(given as never)).toThrow(
      /Queue.observe\(\) was given .*dispatching\(job\)/s,
    );
  });
});
