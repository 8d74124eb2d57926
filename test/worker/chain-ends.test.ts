/** Chains whose jobs end in other ways than by returning or throwing. */
import { Job } from '../../src/job/job';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueUnavailableError } from '../../src/connections/errors';
import { connectMemory } from '../../src/connections/memory/connection';
import type { Connection, Settlement } from '../../src/connections/contract';
import { Transaction } from '../../src/dispatch/transaction';
import { keepSuspicion } from '../../src/operations/suspicion';
import { noCounters, withCounters } from '../../src/payload/counters';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, type TestApplication } from '../support/application';

let ran: string[];
let causes: unknown[];

@Job({ tries: 1 })
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

@Job({ tries: 1 })
class Does extends Job {
  constructor(readonly what: 'release' | 'fail' | 'break oddly' | 'add nothing' | 'add much') {
    super();
  }
  handle(): void {
    ran.push(this.what);
    if (this.what === 'release') this.job.defer('1m');
    if (this.what === 'fail') throw new Error('it broke');
    if (this.what === 'break oddly') throw Object.assign(new Error(), { message: { n: 1n } });
    if (this.what === 'add nothing') this.appendToChain(undefined as never);
    if (this.what === 'add much') this.appendToChain(new Note('x'.repeat(600_000)), new Note('y'.repeat(600_000)));
  }
}

@Job()
class Clears extends Job {
  async handle(): Promise<void> {
    ran.push('clear');
    await clear();
  }
}

@Job()
class Alert extends Job {
  handle(): void {
    ran.push('alert');
    causes.push(this.job.cause);
  }
}

const MEMORY: ConnectionConfig = { driver: 'memory', retryAfter: 30 };
let application: TestApplication;
let texts: string[];
let clear: () => Promise<unknown>;

function given(connections: Record<string, ConnectionConfig> = { memory: MEMORY }): void {
  application = testApplication({ connections, default: Object.keys(connections)[0]! });
}

/** A memory connection with some of its parts replaced. */
function givenWith(parts: (real: Connection) => Partial<Connection>): void {
  given({ memory: MEMORY, other: MEMORY });
  application.manager.addConnector('memory', (config, context) => {
    const real = connectMemory(config, context);
    if (context.name !== 'memory') return real;
    const own = parts(real);
    return new Proxy<Connection>(real, {
      get(_, property): unknown {
        if (property in own) return own[property as keyof Connection];
        const value: unknown = Reflect.get(real, property, real);
        return typeof value === 'function' ? (value.bind(real) as unknown) : value;
      },
    });
  });
}

const work = (connection?: string): Promise<unknown> =>
  new Worker({ connection, stopWhenEmpty: true }, application.manager).run();

/** The payload of the first waiting job. */
async function waiting(): Promise<string> {
  const [job] = await application.manager.driver().queues.peek!('default', 'ready', 1);
  return job!.payload.toString();
}

const failed = () => application.manager.failed.list();

beforeEach(() => {
  ran = [];
  causes = [];
  texts = [];
  given();
});
afterEach(() => application.manager.close());

describe('the catch() job of a chain is dispatched', () => {
  const chain = (what: Does['what']) =>
    application.bus
      .chain([new Does(what), new Note('never')])
      .catch(new Alert())
      .dispatch();

  it('by a link that fails because the store refuses its release', async () => {
    const refuse = (settlements: readonly Settlement[]): void => {
      if (settlements.some(({ outcome }) => outcome === 'released')) throw new Error('no room');
    };
    givenWith((real) => ({
      exchange: async (settlements, wanted) => (refuse(settlements), real.exchange(settlements, wanted)),
    }));
    await chain('release');
    const worker = new Worker({}, application.manager);
    const ended = worker.run();
    await elapse(application.clock, 5);
    void worker.stop();
    await elapse(application.clock, 1);
    await ended;

    expect(ran).toEqual(['release', 'alert']);
    expect(causes).toEqual([
      expect.objectContaining({ name: 'Does', message: expect.stringContaining('no room') as string }),
    ]);
  });

  it('by a poison link, although its payload is never parsed', async () => {
    const id = await chain('fail');
    const broken = (await waiting()).replace('"what":"fail"', '"what":');
    await application.manager.connection().clear();
    const crashed = withCounters(Buffer.from(broken), { ...noCounters, crashes: 4 });
    const driver = application.manager.driver();
    await driver.push('default', [{ payload: crashed.toString() }]);
    await keepSuspicion(driver.records!, id, { crashes: 3, fence: 4, times: 0, isStarted: true });

    await work();
    expect(ran).toEqual(['alert']);
    expect(causes).toEqual([{ id, name: 'Does', message: expect.stringContaining('4') as string }]);
    expect(await failed()).toMatchObject([{ id, name: 'Does' }]);
  });

  it('by a link whose failure is kept on another connection', async () => {
    givenWith(() => ({ failed: undefined }));
    application.manager.configure({ ...application.manager.configuration, failed: 'other' });
    await chain('fail');
    await work();
    expect(ran).toEqual(['fail', 'alert']);
    expect(await failed()).toMatchObject([{ connection: 'memory', name: 'Does' }]);
  });

  it('with a message that is a string, whatever was thrown', async () => {
    await chain('break oddly');
    await work();
    expect(causes).toEqual([expect.objectContaining({ message: 'Error' })]);
  });
});

describe('a payload whose chain is corrupt', () => {
  it.each([
    ['an object in place of the list', '"chained":{}', '/chained: expected a list'],
    ['a number in place of a link', '"chained":[1]', '/chained/0: expected an object'],
    ['a link without a queue', '"chained":[{"payload":"{}"}]', '/chained/0/queue: expected a string'],
    [
      'a link without a payload',
      '"chained":[{"queue":"default","payload":"{}"}]',
      '/chained/0/payload: expected a payload',
    ],
    [
      'a delay that is not a number',
      '"chained":[{"queue":"a","payload":"{}","delay":"1"}]',
      '/chained/0/delay: expected a number',
    ],
    ['a key that reaches a prototype', '"chained":[{"__proto__":{"queue":"a"}}]', 'it has a key __proto__'],
  ])('with %s fails and names the mistake, and its catch() job is dispatched', async (_what, chained, problem) => {
    await application.bus
      .chain([new Note('a'), new Note('b')])
      .catch(new Alert())
      .dispatch();
    const text = await waiting();
    const start = text.indexOf('"chained":');
    await application.manager.connection().clear();
    const corrupt = text.slice(0, start) + chained + text.slice(text.indexOf(',"chainCatch":', start));
    await application.manager.connection().pushRaw(corrupt);

    await work();
    expect(ran).toEqual(['alert']);
    const [entry] = await failed();
    expect(entry).toMatchObject({ exception: expect.stringContaining(problem) as string });
    expect(entry!.payload).toContain(chained);
  });
});

describe('a link that has succeeded', () => {
  it('stays completed if the connection of the next link is unknown: a carrier waits for a worker that knows it', async () => {
    given({ memory: MEMORY, other: MEMORY });
    await application.bus.chain([new Note('a'), new Note('b').onConnection('other')]).dispatch();
    texts = [await waiting()];
    await application.manager.close();

    given();
    await application.manager.connection().pushRaw(texts[0]!);
    await work();
    expect(ran).toEqual(['a']);
    expect(await failed()).toEqual([]);
    expect(await application.manager.driver().queues.counts('default')).toMatchObject({ delayed: 1 });
    expect(application.log.messages('warn').join('\n')).toContain("'other'");
  });

  it('fails if the store refuses the next link in its queue, and its retry goes on with the chain', async () => {
    let isClosed = true;
    const check = (queues: readonly string[]): void => {
      if (isClosed && queues.includes('closed')) throw new Error('this queue is closed');
    };
    const nextOf = (settlements: readonly Settlement[]): readonly string[] =>
      settlements.flatMap((one) => (one.outcome === 'completed' ? (one.next ?? []).map(({ queue }) => queue) : []));
    givenWith((real) => ({
      push: async (queue, entries) => (check([queue]), real.push(queue, entries)),
      keys: { pushOnce: async (followUp, once) => (check([followUp.queue]), real.keys!.pushOnce(followUp, once)) },
      exchange: async (settlements, wanted) => (check(nextOf(settlements)), real.exchange(settlements, wanted)),
    }));
    await application.bus.chain([new Note('a'), new Note('b').onQueue('closed')]).dispatch();
    const worker = new Worker({ queue: ['default', 'closed'] }, application.manager);
    const ended = worker.run();
    await elapse(application.clock, 10);
    expect(worker.health().outcomes).toMatchObject({ completed: 0, failed: 1 });
    expect(await failed()).toMatchObject([{ exception: expect.stringContaining('this queue is closed') as string }]);

    isClosed = false;
    await application.manager.failed.retry('all');
    await elapse(application.clock, 5);
    void worker.stop();
    await elapse(application.clock, 1);
    await ended;
    expect(ran).toEqual(['a', 'a', 'b']);
  });

  it('stays completed if createPayloadUsing() throws for the next link', async () => {
    given({ memory: MEMORY, other: MEMORY });
    await application.bus.chain([new Note('a'), new Note('b').onConnection('other')]).dispatch();
    application.manager.createPayloadUsing(() => {
      throw new Error('no tenant here');
    });
    await work();
    await work('other');
    expect(ran).toEqual(['a', 'b']);
    expect(await failed()).toEqual([]);
  });

  it('runs the next link once on a sync connection, and keeps its failure', async () => {
    given({ memory: MEMORY, sync: { driver: 'sync' } });
    await application.bus
      .chain([new Note('a'), new Does('fail').onConnection('sync'), new Note('never')])
      .catch(new Alert())
      .dispatch();
    await work();
    await application.clock.advance('10m');
    await work();
    expect(ran).toEqual(['a', 'fail', 'alert']);
    expect(await failed()).toMatchObject([
      {
        name: 'onqueue:carry',
        exception: expect.stringContaining('it broke') as string,
        chain: [
          { name: 'Does', connection: 'sync' },
          { name: 'Note', connection: 'memory' },
        ],
      },
    ]);
  });
});

describe.each([true, false])('if the store can push the next link together with an outcome (%s)', (follows) => {
  const capabilities = (real: Connection) => ({ ...real.capabilities, follows });

  it('the next link is pushed once, although the store is away when each success is settled', async () => {
    const met = new Set<string>();
    const facts = { connection: 'memory', store: 'Probe', address: 'there', consequence: 'nothing was written' };
    const check = (settlements: readonly Settlement[]): void => {
      const texts = settlements.map(({ reservation }) => reservation.payload.toString());
      const isNew = texts.some((text) => !met.has(text));
      for (const text of texts) met.add(text);
      if (isNew) throw new QueueUnavailableError(facts);
    };
    givenWith((real) => ({
      capabilities: capabilities(real),
      exchange: async (settlements, wanted) => (check(settlements), real.exchange(settlements, wanted)),
    }));
    await application.bus.chain([new Note('a'), new Note('b'), new Note('c')]).dispatch();
    const worker = new Worker({}, application.manager);
    const ended = worker.run();
    await elapse(application.clock, 20);
    void worker.stop();
    await elapse(application.clock, 1);
    await ended;

    expect(ran).toEqual(['a', 'b', 'c']);
    expect(worker.health().outcomes).toMatchObject({ completed: 3, lost: 0 });
  });

  it('a link that was cleared while it ran does not continue the chain', async () => {
    givenWith((real) => ({ capabilities: capabilities(real) }));
    await application.bus.chain([new Clears(), new Note('never')]).dispatch();
    clear = () => application.manager.connection().clear();
    await work();

    expect(ran).toEqual(['clear']);
    expect(await application.manager.connection().size()).toBe(0);
  });
});

describe('a job that a link adds to its chain', () => {
  it('is refused if it is not a job', async () => {
    await application.bus.dispatch(new Does('add nothing'));
    await work();
    expect(await failed()).toMatchObject([{ exception: expect.stringContaining('E_INVALID_CHAIN') as string }]);
  });

  it('is refused if the rest of the chain would exceed the longest payload', async () => {
    await application.bus.dispatch(new Does('add much'));
    await work();
    expect(await failed()).toMatchObject([
      { exception: expect.stringMatching(/What follows Does, 2 jobs in one payload,.*bytes/) as string },
    ]);
  });
});

describe('a chain on a sync connection', () => {
  beforeEach(() => given({ sync: { driver: 'sync' } }));

  it('can have as many links as fit into a payload', async () => {
    await application.bus.chain(Array.from({ length: 400 }, (_, place) => new Note(`${place}`))).dispatch();
    expect(ran).toHaveLength(400);
    expect(ran.at(-1)).toBe('399');
  });

  it('rejects with the error of the failed link, even if its catch() job fails too', async () => {
    const failing = application.bus
      .chain([new Does('fail'), new Note('never')])
      .catch(new Does('break oddly'))
      .dispatch();
    await expect(failing).rejects.toThrow('it broke');
    expect(ran).toEqual(['fail', 'break oddly']);
    expect(application.log.messages('error').join('\n')).toContain('what the failure of Does sends');
  });

  it('logs which jobs do not run if a link releases itself', async () => {
    await application.bus.chain([new Does('release'), new Note('never')]).dispatch();
    expect(ran).toEqual(['release']);
    expect(application.log.messages('warn').join('\n')).toContain('The 1 jobs that follow it are not run');
  });
});

describe('a chain', () => {
  it('can contain the same instance several times, even a frozen one', async () => {
    const note = Object.freeze(new Note('again'));
    await application.bus.chain([note, note, note]).dispatch();
    await work();
    expect(ran).toEqual(['again', 'again', 'again']);
  });

  it('is dispatched as a whole at the commit, or not at all', async () => {
    const chain = application.bus.chain([new Note('a'), new Note('b')]);
    await expect(
      Transaction.run(async () => {
        await chain.dispatch().afterCommit();
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await work();
    expect(ran).toEqual([]);
    await Transaction.run(async () => void (await chain.dispatch().afterCommit()));
    await work();
    expect(ran).toEqual(['a', 'b']);
  });

  it('is refused if a link with its carrier would exceed the longest payload of its connection', async () => {
    given({ memory: { ...MEMORY, maxPayload: 4000 }, other: MEMORY });
    const chain = (length: number) =>
      application.bus
        .chain([new Note('a'), new Note('b').onConnection('other'), new Note('"'.repeat(length))])
        .dispatch();
    await expect(chain(450)).rejects.toMatchObject({ code: 'E_PAYLOAD_TOO_LARGE' });
    await chain(100);
    await work();
    await work('other');
    await work();
    expect(ran).toEqual(['a', 'b', '"'.repeat(100)]);
  });
});
