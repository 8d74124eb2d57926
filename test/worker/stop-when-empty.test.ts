/** A worker that is to stop when nothing is left, on stores that do not say at once what is left. */
import { connectMemory } from '../../src/connections/memory/memory-connection';
import { Job } from '../../src/job/job';
import type { Connection } from '../../src/queue/connection';
import { Worker } from '../../src/worker/worker';
import { Gate, testApplication, type TestApplication, until } from '../support/application';

let application: TestApplication;
let gate: Gate;
let ran: string[];

beforeEach(() => {
  application = testApplication();
  gate = new Gate();
  ran = [];
});

afterEach(() => {
  gate.open();
  return application.manager.close();
});

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
