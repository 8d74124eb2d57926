import { late } from '../../src/base/late-parts';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import type { ConnectionConfig } from '../../src/connections/driver';
import type { FailedLink } from '../../src/job/job-context';
import { readChain } from '../../src/payload/chain';
import { testApplication, type TestApplication } from '../support/application';

let ran: string[];
let causes: (FailedLink | undefined)[];

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
class Grows extends Job {
  constructor(
    readonly text: string,
    readonly fails = 0,
  ) {
    super();
  }
  tries(): number {
    return 5;
  }
  handle(): void {
    ran.push(`${this.text} before ${this.job.chain.map(({ name, queue }) => `${name} on ${queue}`).join(', ')}`);
    this.appendToChain(new Note('appended'));
    this.prependToChain(new Note('prepended'), new Note('second'));
    if (this.attempts <= this.fails) throw new Error('not yet');
  }
}

@Job()
class Breaks extends Job {
  handle(): void {
    throw new Error('it broke');
  }
}

@Job()
class Alert extends Job {
  handle(): void {
    ran.push('alert');
    causes.push(this.job.cause);
  }
}

@Job({ queue: 'elsewhere' })
class OnQueue extends Note {}

@Job()
class PushesItself extends Job {
  queue(): void {}
}

const MEMORY: ConnectionConfig = { driver: 'memory', retryAfter: 30 };
let application: TestApplication;

function given(connections: Record<string, ConnectionConfig> = { memory: MEMORY }): void {
  application = testApplication({ connections, default: Object.keys(connections)[0]! });
}

async function work(connection?: string, queue = 'default'): Promise<void> {
  await new Worker({ connection, queue, stopWhenEmpty: true }, application.manager).run();
}

const size = (queue: string, connection?: string): Promise<number> =>
  application.manager.connection(connection).size(queue);

beforeEach(() => {
  ran = [];
  causes = [];
  given();
});
afterEach(() => application.manager.close());

describe('a chain', () => {
  it('runs its links one after the other', async () => {
    await application.bus.chain([new Note('a'), false, new Note('b'), undefined, new Note('c')]).dispatch();
    expect(await size('default')).toBe(1);

    await work();
    expect(ran).toEqual(['a', 'b', 'c']);
    expect(await size('default')).toBe(0);
  });

  it('pushes each link to its own queue, or else to that of the chain, or else to that of its class', async () => {
    const links = [new Note('a'), new Note('b').onQueue('mine'), new OnQueue('c'), new OnQueue('d').onQueue('mine')];
    await application.bus.chain(links).onQueue('whole').dispatch();

    await work(undefined, 'whole');
    expect([await size('whole'), await size('mine')]).toEqual([0, 1]);
    await work(undefined, 'mine');
    await work(undefined, 'whole');
    await work(undefined, 'mine');
    expect(ran).toEqual(['a', 'b', 'c', 'd']);
    await application.bus.chain([new Note('e'), new OnQueue('f')]).dispatch();
    await work();
    expect(await size('elsewhere')).toBe(1);
  });

  it('delays a link from the end of the previous one', async () => {
    await application.bus
      .chain([new Note('a'), new Note('b').delay('1m')])
      .delay('10s')
      .dispatch();
    await work();
    expect(ran).toEqual([]);
    await application.clock.advance('11s');
    await work();
    expect(ran).toEqual(['a']);
    await application.clock.advance('61s');
    await work();
    expect(ran).toEqual(['a', 'b']);
  });

  it('reaches another connection through a carrier', async () => {
    given({ memory: MEMORY, other: { ...MEMORY, queue: 'others' } });
    await application.bus.chain([new Note('a'), new Note('b').onConnection('other'), new Note('c')]).dispatch();
    await work('memory');
    expect([ran, await size('others', 'other')]).toEqual([['a'], 1]);
    await work('other', 'others');
    await work('memory');
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('ends at a failed link and continues when it is retried', async () => {
    await application.bus
      .chain([new Note('a'), new Breaks(), new Note('b')])
      .catch(new Alert())
      .dispatch();
    await work();
    expect(ran).toEqual(['a', 'alert']);
    const [failed] = await application.manager.failed.list();
    expect(failed).toMatchObject({ name: 'Breaks', chain: [{ name: 'Note', queue: 'default' }], cause: undefined });
    expect(causes).toEqual([{ id: failed!.id, name: 'Breaks', message: 'it broke' }]);

    const handle = jest.spyOn(Breaks.prototype, 'handle').mockImplementation(() => void ran.push('mended'));
    await application.manager.failed.retry(failed!.id);
    await work();
    handle.mockRestore();
    expect(ran).toEqual(['a', 'alert', 'mended', 'b']);
  });

  it('takes the jobs that a link adds in its successful attempt only', async () => {
    await application.bus.chain([new Grows('a', 1), new OnQueue('z')]).dispatch();
    await work();
    expect(ran).toEqual(['a before OnQueue on elsewhere', 'a before OnQueue on elsewhere', 'prepended', 'second']);
    await work(undefined, 'elsewhere');
    await work();
    expect(ran.slice(4)).toEqual(['z', 'appended']);
  });

  it('can be started by a single job that adds links', async () => {
    await application.bus.dispatch(new Grows('a'));
    await work();
    expect(ran).toEqual(['a before ', 'prepended', 'second', 'appended']);
  });

  it('ends when its first link is cancelled', async () => {
    const id = await application.bus.chain([new Note('a'), new Note('b')]).dispatch();
    await application.manager.connection().cancel(id);
    await work();
    expect(ran).toEqual([]);
  });

  it('runs its links one after the other on a sync connection', async () => {
    given({ sync: { driver: 'sync' } });
    await application.bus.chain([new Note('a'), new Grows('b'), new Note('c')]).dispatch();
    expect(ran).toEqual(['a', 'b before Note on default', 'prepended', 'second', 'c', 'appended']);
    const failing = application.bus
      .chain([new Breaks(), new Note('never')])
      .catch(new Alert())
      .dispatch();
    await expect(failing).rejects.toThrow('it broke');
    expect(ran.slice(6)).toEqual(['alert']);
  });

  it('is marked, so that a worker that does not know chains gives it back', async () => {
    await application.bus.chain([new Note('a'), new Note('b')]).dispatch();
    const [{ payload }] = (await application.manager.driver().queues.peek!('default', 'ready', 1)) as [
      { payload: Buffer },
    ];
    expect(JSON.parse(payload.toString())).toMatchObject({ job: 'onqueue+', displayName: 'Note' });
    const [first, ...more] = readChain(JSON.parse(payload.toString()) as Record<string, unknown>).links;
    expect(more).toEqual([]);
    expect(JSON.parse(first!.payload)).toMatchObject({ job: 'onqueue', displayName: 'Note' });
  });

  it('takes the parameters of its first link in withChain()', async () => {
    late.dispatcher = application.bus;
    await Note.withChain([new Note('b')]).dispatch('a');
    await work();
    expect(ran).toEqual(['a', 'b']);
  });

  const chain = (links: unknown) => application.bus.chain(links as []);
  it.each([
    ['a text in place of the list', () => chain('a').dispatch(), 'E_INVALID_CHAIN'],
    ['no links', () => chain([false, null]).dispatch(), 'E_INVALID_CHAIN'],
    ['a class in place of a job', () => chain([Note]).dispatch(), 'E_INVALID_CHAIN'],
    ['a chain within it', () => chain([new Note('a'), chain([new Note('b')])]).dispatch(), 'E_INVALID_CHAIN'],
    ['a list within it', () => chain([new Note('a'), [new Note('b')]]).dispatch(), 'E_INVALID_CHAIN'],
    ['a function for catch()', () => chain([new Note('a')]).catch((() => undefined) as never), 'E_INVALID_CHAIN'],
    [
      'a link that cannot be serialized',
      () => chain([new Note('a'), new Note((() => 1) as never)]).dispatch(),
      'E_UNSERIALIZABLE_VALUE',
    ],
    ['a link that pushes itself', () => chain([new Note('a'), new PushesItself()]).dispatch(), 'E_PUSHES_ITSELF'],
    ['a first link that pushes itself', () => chain([new PushesItself(), new Note('a')]).dispatch(), 'E_PUSHES_ITSELF'],
    [
      'a link on an unknown connection',
      () => chain([new Note('a'), new Note('b').onConnection('nowhere')]).dispatch(),
      'E_UNKNOWN_CONNECTION',
    ],
    [
      'links that exceed the longest payload',
      () => chain([new Note('a'), new Note('x'.repeat(600_000)), new Note('y'.repeat(600_000))]).dispatch(),
      'E_PAYLOAD_TOO_LARGE',
    ],
    ['no call of dispatch()', () => chain([new Note('a')]), 'E_NOT_DISPATCHED'],
  ])('with %s is refused, and nothing is pushed', async (_what, act, code) => {
    await expect(Promise.resolve().then<unknown>(act)).rejects.toMatchObject({ code });
    expect(await size('default')).toBe(0);
  });
});
