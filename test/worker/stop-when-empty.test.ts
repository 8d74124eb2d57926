/** A worker that is to stop when nothing is left, on stores that do not say at once what is left. */
import { connectMemory } from '../../src/connections/memory/memory-connection';
import { Job } from '../../src/job/job';
import type { Connection } from '../../src/queue/connection';
import { Worker } from '../../src/worker/worker';
import { elapse, until } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';

setTheScene();

@Job()
class Gated extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await gate.opened;
  }
}

/** Makes the connection another one, but for what the memory driver does as well. */
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

describe('where a job may be in the hands of the wait', () => {
  it('runs what comes back when the wait ends', async () => {
    onStore((memory) => ({
      waiter: (queues) => {
        const waiter = memory.waiter(queues);
        return {
          wait: (seconds, signal) => waiter.wait(seconds, signal),
          close: async () => {
            if (!ran.includes('handed to the wait')) await application.bus.dispatch(new Note('handed to the wait'));
            await waiter.close();
          },
        };
      },
    }));
    await application.bus.dispatch(new Gated());
    const ended = new Worker({ stopWhenEmpty: true, concurrency: 2 }, application.manager).run();
    await until(application.clock, () => ran.length === 1);
    await application.clock.advance('1s');

    gate.open();

    expect(await ended).toBe('empty');
    expect(ran).toEqual(['started', 'handed to the wait']);
  });
});

describe('where counts are estimates', () => {
  let estimated: number;
  let looks: number;

  beforeEach(() => {
    estimated = 0;
    looks = 0;
    onStore((memory) => ({
      capabilities: { ...memory.capabilities, exactCounts: false },
      counts: async () => {
        looks += 1;
        return { ready: 0, delayed: estimated, reserved: 0 };
      },
      reserve: async (request) => ({ ...(await memory.reserve(request)), nextIn: Infinity }),
      settleAndReserve: async (settlements, request) => {
        const { results, reply } = await memory.settleAndReserve!(settlements, request);
        return { results, reply: { ...reply, nextIn: Infinity } };
      },
    }));
  });

  const run = (): Promise<string> => new Worker({ stopWhenEmpty: true }, application.manager).run();

  it('ends when nothing came for five seconds, and nothing was counted', async () => {
    let isOver = false;
    const ended = run().finally(() => (isOver = true));

    await elapse(application.clock, 4.5);
    expect({ isOver, looks }).toEqual({ isOver: false, looks: 3 });
    await elapse(application.clock, 2);

    expect(await ended).toBe('empty');
  });

  it('waits for so long after each job: no count may show what it has left', async () => {
    await application.bus.dispatch(new Note('first')).delay('4s');
    application.manager.hooks.on('after', () => application.bus.dispatch(new Note('left by it')).delay('4s'));
    const running = new Worker({ stopWhenEmpty: true, maxJobs: 3 }, application.manager).run();

    await elapse(application.clock, 20);

    expect(await running).toBe('max-jobs');
    expect(ran).toEqual(['first', 'left by it', 'left by it']);
  });

  it('waits for what is counted, and so long after', async () => {
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
