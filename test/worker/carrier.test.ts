import type { Connection } from '../../src/connections/contract';
import { QueueUnavailableError } from '../../src/connections/errors';
import { connectMemory } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';

@Job()
class Step extends Job {
  constructor(readonly name: string) {
    super();
  }
  handle(): void {}
}

@Job({ tries: 1 })
class Breaks extends Job {
  handle(): void {
    if (isBroken) throw new Error('it broke');
  }
}

let application: TestApplication;
let isBroken: boolean;

const away = (): Promise<never> => {
  const consequence = 'the job was not queued';
  return Promise.reject(new QueueUnavailableError({ connection: 'away', store: 'memory', address: '', consequence }));
};

/** `change`: changes the connection 'other'. */
function given(change: (other: Connection) => void = () => undefined): void {
  const memory = { driver: 'memory' } as const;
  const either = { driver: 'failover', connections: ['away', 'other'] } as const;
  application = testApplication({ connections: { memory, other: memory, away: memory, either } });
  application.manager.addConnector('memory', (config, context) => {
    const connection = connectMemory(config, context);
    if (context.name === 'other') change(connection);
    return context.name === 'away' ? Object.assign(connection, { push: away, keys: { pushOnce: away } }) : connection;
  });
}

async function work(maxJobs?: number): Promise<void> {
  await new Worker({ stopWhenEmpty: true, maxJobs }, application.manager).run();
}

const arrived = (): Promise<number> => application.manager.connection('other').size();

/** Runs the first link, and returns the carrier of the second. */
async function carrierTo(connection: string): Promise<string> {
  await application.bus.chain([new Step('a'), new Step('b').onConnection(connection)]).dispatch();
  await work(1);
  const [carrier] = await application.manager.driver().queues.peek!('default', 'ready', 1);
  return carrier!.payload.toString();
}

const runAgain = async (payload: string): Promise<void> => {
  await application.manager.driver().push('default', [{ payload }]);
  await work();
};

beforeEach(() => {
  isBroken = true;
  given();
});
afterEach(() => application.manager.close());

describe('a carrier', () => {
  it('that is run again sends its job no second time', async () => {
    const carrier = await carrierTo('other');
    await work();
    await runAgain(carrier);
    await application.clock.advance('59m');
    await runAgain(carrier);
    expect(await arrived()).toBe(1);
  });

  it('sends its job, although the store finds that it is too late for its key', async () => {
    given((other) => Object.assign(other, { now: () => Promise.resolve(0) }));
    await carrierTo('other');
    await work();
    expect(await arrived()).toBe(1);
  });

  it('sends its job to a store that cannot push under a key', async () => {
    given((other) => Object.assign(other, { keys: undefined }));
    await carrierTo('other');
    await work();
    expect(await arrived()).toBe(1);
  });

  it('sends its job to the connection of a failover that takes it', async () => {
    await carrierTo('either');
    await work();
    expect(await arrived()).toBe(1);
  });

  it('sends each progress of a batch, and the same one again after a retry', async () => {
    const jobs = [new Step('a'), new Breaks()];
    const batch = application.bus.batch(jobs).progress(new Step('ticks').onConnection('other'), { every: 1 });
    const { id } = await batch.allowFailures().dispatch();
    await work();
    expect(await arrived()).toBe(2);
    isBroken = false;
    await (await application.manager.batches.get(id))!.retryFailed();
    await work();
    expect(await arrived()).toBe(3);
  });
});
