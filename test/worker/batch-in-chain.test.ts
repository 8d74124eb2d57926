import { late } from '../../src/base/late-parts';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import type { ConnectionConfig } from '../../src/connections/driver';
import type { FailedLink } from '../../src/job/job-context';
import { testApplication, type TestApplication } from '../support/application';

let ran: string[];
let cause: FailedLink | undefined;
let isBroken: boolean;

@Job()
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
    cause = this.job.cause;
  }
}

@Job()
class Breaks extends Job {
  handle(): void {
    if (isBroken) throw new Error('it broke');
  }
}

@Job()
class AppendsBatch extends Job {
  handle(): void {
    this.appendToChain(application.bus.batch([new Note('inner')]));
  }
}

const MEMORY: ConnectionConfig = { driver: 'memory', retryAfter: 30 };
let application: TestApplication;

function given(connections: Record<string, ConnectionConfig>): void {
  application = testApplication({ connections, default: Object.keys(connections)[0]! });
  late.dispatcher = application.bus;
}

async function work(connection?: string, queue = 'default'): Promise<void> {
  await new Worker({ connection, queue, stopWhenEmpty: true, concurrency: 1 }, application.manager).run();
}

const notes = (count: number): Note[] => Array.from({ length: count }, (_, index) => new Note(`note-${index + 1}`));

beforeEach(() => {
  [ran, cause, isBroken] = [[], undefined, true];
  given({ memory: MEMORY, other: MEMORY });
});
afterEach(() => application.manager.close());

describe('a batch in a chain', () => {
  it('runs between the links before and after it, with its own callbacks', async () => {
    const batch = application.bus.batch([new Note('b'), [new Note('c'), new Note('d')]]).then(new Note('then'));
    await application.bus.chain([new Note('a'), batch, new Note('e'), new Note('f')]).dispatch();
    await work();
    expect(ran[0]).toBe('a');
    expect(new Set(ran.slice(1, 5))).toEqual(new Set(['b', 'c', 'd', 'then']));
    expect(ran.filter((text) => text === 'e' || text === 'f')).toEqual(['e', 'f']);
    expect(ran.indexOf('e')).toBeGreaterThan(ran.indexOf('d'));
    expect(await application.manager.batches.list()).toMatchObject([{ completed: 3, isFinished: true }]);
  });

  it('needs no other queue than those of its jobs', async () => {
    const [first, batched, last] = ['a', 'b', 'c'].map((text) => new Note(text).onQueue('notes')) as [Note, Note, Note];
    await application.bus.chain([first, application.bus.batch([batched]), last]).dispatch();
    await work('memory', 'notes');
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('can be the first link, the last link, or follow another batch', async () => {
    const [first, second] = [application.bus.batch([new Note('a')]), application.bus.batch([new Note('b')])];
    await application.bus.chain([first, second]).dispatch();
    await work();
    expect(ran).toEqual(['a', 'b']);
  });

  it('ends the chain when it fails, passes the cause to catch(), and continues after a retry of the failed job', async () => {
    const batch = application.bus.batch([new Breaks()]);
    await application.bus
      .chain([batch, new Note('behind')])
      .catch(new Note('caught'))
      .dispatch();
    await work();
    expect(ran).toEqual(['caught']);
    expect(cause).toMatchObject({ name: 'Breaks', message: 'it broke' });

    isBroken = false;
    await application.manager.failed.retry('all');
    await work();
    expect(ran).toEqual(['caught', 'behind']);
  });

  it('continues the chain if it allows failures', async () => {
    const batch = application.bus.batch([new Breaks(), new Note('a')]).allowFailures();
    await application.bus
      .chain([batch, new Note('behind')])
      .catch(new Note('caught'))
      .dispatch();
    await work();
    expect(ran).toEqual(['a', 'behind']);
  });

  it('drops the links behind it when it is cancelled', async () => {
    await application.bus.chain([application.bus.batch([new Note('a')]), new Note('behind')]).dispatch();
    await new Worker({ maxJobs: 1 }, application.manager).run();
    const [batch] = await application.manager.batches.list();
    expect(await batch?.callbacks()).toMatchObject([{ on: 'next', name: 'Note', isSent: false }]);
    expect(await batch?.cancel()).toBe(true);
    await work();
    expect(ran).toEqual([]);
  });

  it('continues the chain on other queues and connections', async () => {
    const batch = application.bus.batch([new Note('a')]).onQueue('batch');
    await application.bus.chain([batch, new Note('b').onConnection('other'), new Note('c')]).dispatch();
    await work(undefined, 'batch');
    await work('other');
    await work();
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('is dispatched once, even with more jobs than one call takes and when the job that dispatches it runs twice', async () => {
    await application.bus.chain([application.bus.batch(notes(250)), new Note('behind')]).dispatch();
    const driver = application.manager.driver();
    const [{ payload } = { payload: Buffer.of() }] = await driver.queues.peek!('default', 'ready', 1);
    await work();
    await driver.push('default', [{ payload: payload.toString() }]);
    await work();
    expect(ran).toHaveLength(251);
    expect(ran.at(-1)).toBe('behind');
  });

  it('runs its jobs one after the other on a sync connection', async () => {
    given({ sync: { driver: 'sync' } });
    const batch = application.bus.batch([new Note('b'), new Note('c')]);
    await application.bus.chain([new Note('a'), batch, new Note('d')]).dispatch();
    expect(ran).toEqual(['a', 'b', 'c', 'd']);
  });

  it('can be appended by a link, but not by a job of another batch', async () => {
    await application.bus.chain([new AppendsBatch(), new Note('a')]).dispatch();
    await work();
    expect(ran).toEqual(['a', 'inner']);
    await application.bus.batch([new AppendsBatch()]).dispatch();
    await work();
    const [failure] = await application.manager.failed.list();
    expect(failure?.exception).toMatch('E_INVALID_BATCH');
  });

  it('refuses an endless generator of jobs, because its jobs travel in the payload of the chain', async () => {
    async function* endless(): AsyncGenerator<Note> {
      for (;;) yield new Note('x');
    }
    const chain = application.bus.chain([new Note('a'), application.bus.batch(endless())]);
    await expect(chain.dispatch()).rejects.toMatchObject({ code: 'E_INVALID_BATCH' });
    expect(await application.manager.connection().size('default')).toBe(0);
  });
});
