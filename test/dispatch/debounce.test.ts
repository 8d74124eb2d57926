import { Job } from '../../src/job/job';
import type { DebounceOptions } from '../../src/job/options';
import { Transaction } from '../../src/dispatch/transaction';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;
let ran: string[];
let key: () => unknown;

@Job({ debounce: { by: (job: Sync) => job.tenant, wait: '30s', longest: '1m' } })
class Sync extends Job {
  constructor(
    readonly tenant: string | number,
    readonly note = '',
  ) {
    super();
  }
  handle(): void {
    ran.push(`${this.tenant}${this.note}`);
  }
}

@Job({ debounce: { wait: 10 } })
class Sweep extends Job {
  handle(): void {
    ran.push('sweep');
  }
}

@Job({ delay: 0, debounce: { wait: '20s' } })
class SweepLater extends Sweep {}

@Job()
class SweepAgain extends Sweep {}

@Job({ debounce: false, unique: true })
class SweepOnce extends Sweep {}

@Job({ debounce: { wait: '1s', by: () => key() as string } })
class Keyed extends Job {
  handle(): void {}
}

@Job()
class Plain extends Job {
  handle(): void {
    this.appendToChain(new Sync('late'));
  }
}

const size = (connection?: string): Promise<number> => application.manager.connection(connection).size();
const result = (job: object) => application.bus.dispatchToQueue(job).result;
const work = async (): Promise<unknown> => new Worker({ stopWhenEmpty: true }, application.manager).run();
const after = async (time: `${number}s`): Promise<void> => {
  await application.clock.advance(time);
  await work();
};

beforeEach(() => {
  ran = [];
  application = testApplication({
    connections: {
      memory: { driver: 'memory', retryAfter: 30 },
      mail: { driver: 'sqs', region: 'eu-west-1' },
      sync: { driver: 'sync' },
      null: { driver: 'null' },
    },
  });
});
afterEach(() => application.manager.close());

describe('a debounced job', () => {
  it('waits, and is replaced by the next one with the same key, whose result says so', async () => {
    const first = await result(new Sync('a', ' 1'));
    expect(first).toEqual({ status: 'queued', id: expect.any(String) as string });
    await after('20s');
    const second = await result(new Sync('a', ' 2'));
    expect(second).toEqual({ status: 'replaced', id: expect.any(String) as string, replaced: first.id });
    expect((await result(new Sync('b'))).status).toBe('queued');
    expect(await size()).toBe(2);
    await after('29s');
    expect(ran).toEqual([]);
    await after('1s');
    expect(ran).toEqual(['a 2', 'b']);
  });

  it('is put off no longer than `longest`', async () => {
    for (let time = 0; time < 6; time += 1) {
      await result(new Sync('a', ` ${time}`));
      await after('11s');
    }
    expect(ran).toEqual(['a 5']);
  });

  it('has one key for its class if it has no `by`, and subclasses have their own', async () => {
    expect((await result(new Sweep())).status).toBe('queued');
    expect((await result(new Sweep())).status).toBe('replaced');
    expect((await result(new SweepAgain())).status).toBe('queued');
    expect((await result(new SweepAgain())).status).toBe('replaced');
    expect((await result(new SweepOnce())).status).toBe('queued');
    expect((await result(new SweepOnce())).status).toBe('duplicate');
    expect(await application.manager.driver('memory').queues.counts('default')).toMatchObject({ ready: 1, delayed: 2 });
  });

  it('has a separate key on each queue', async () => {
    await result(new Sync('a'));
    expect((await result(new Sync('a').onQueue('other'))).status).toBe('queued');
    expect((await result(new Sync('a').onQueue('other'))).status).toBe('replaced');
    expect((await result(new Sync('a'))).status).toBe('replaced');
  });

  it('waits as long as the dispatch or the instance says, but not beyond `longest`', async () => {
    await application.bus.dispatch(new SweepLater());
    await application.bus.dispatch(new Sync('a')).delay('1h');
    await application.bus.dispatch(new Sync('b').delay('50s'));
    await application.manager.connection().later('40s', new Sync('c'));
    await after('19s');
    expect(ran).toEqual([]);
    await after('21s');
    expect(ran).toEqual(['sweep', 'c']);
    await after('20s');
    expect(ran).toEqual(['sweep', 'c', 'b', 'a']);
  });

  it('runs at once if dispatched without a delay, and replaces the waiting one', async () => {
    const { id } = await result(new Sync('a', ' 1'));
    expect(await application.bus.dispatch(new Sync('a', ' 2')).withoutDelay().result).toMatchObject({ replaced: id });
    await work();
    expect(ran).toEqual(['a 2']);
    expect(await size()).toBe(0);
  });

  it('is debounced however it is pushed', async () => {
    const { manager, bus } = application;
    const connection = manager.connection();
    const first = await connection.push(new Sync(1));
    const [a, b, c] = await connection.bulk([new Sync('1'), new Sync(2), new Sync(2)]);
    const [d] = await bus.bulk([new Sync(2), new Plain()]);
    expect(new Set([first, a, b, c, d]).size).toBe(5);
    const waiting = await manager.driver('memory').queues.peek!('default', 'delayed', 9);
    expect(waiting.map(({ payload }) => (JSON.parse(payload.toString()) as { id: string }).id)).toEqual([a, d]);
  });

  it('replaces the waiting one when its transaction commits', async () => {
    await application.bus.dispatch(new Sync('a', ' 1'));
    await Transaction.run(async () => {
      const { status } = await application.bus.dispatch(new Sync('a', ' 2')).afterCommit().result;
      expect(status).toBe('kept');
      await application.clock.advance('20s');
    });
    expect(await size()).toBe(1);
    await after('29s');
    expect(ran).toEqual([]);
    await after('1s');
    expect(ran).toEqual(['a 2']);
  });

  it('is reported by the hook queued, and the one it replaces by the hook skipped', async () => {
    const heard: unknown[] = [];
    application.manager.hooks.on('queued', ({ id }) => void heard.push(['queued', id]));
    application.manager.hooks.on('skipped', (event) => void heard.push(event));
    const [first, second] = [
      await application.bus.dispatch(new Sync('a')),
      await application.bus.dispatch(new Sync('a')),
    ];
    const [third] = await application.manager.connection().bulk([new Sync('a')]);
    const skipped = { connectionName: 'memory', queue: 'default', name: 'Sync', reason: 'replaced' };
    expect(heard).toEqual([
      ['queued', first],
      ['queued', second],
      { ...skipped, id: first, of: second },
      ['queued', third],
      { ...skipped, id: second, of: third },
    ]);
  });

  it('runs at once on sync, and null accepts it', async () => {
    for (const name of ['sync', 'null']) {
      for (let time = 0; time < 2; time += 1) {
        const { status } = await application.bus.dispatch(new Sync('a')).onConnection(name).result;
        expect(status).toBe('queued');
      }
    }
    await application.bus.dispatchSync(new Sync('a'));
    expect(ran).toEqual(['a', 'a', 'a']);
  });

  it('is refused together with everything sent with it if the store keeps no keys', async () => {
    const message = expect.stringMatching(
      /^The connection 'mail' \(sqs\) keeps no unique or debounced jobs; put Sync on a connection of a driver that does: /,
    ) as string;
    const refusal = { code: 'E_CAPABILITY', message };
    const { bus, manager } = application;
    await expect(bus.dispatch(new Sync('a')).onConnection('mail')).rejects.toMatchObject(refusal);
    await expect(manager.connection('mail').bulk([new Plain(), new Sync('a')])).rejects.toMatchObject(refusal);
    expect(await size()).toBe(0);
  });

  it.each([
    ['the first link of a chain', () => application.bus.chain([new Sync('a'), new Plain()]).dispatch()],
    ['a later link of a chain', () => application.bus.chain([new Plain(), new Sync('a')]).dispatch()],
    ['a job of a batch', () => application.bus.batch([new Plain(), new Sync('a')]).dispatch()],
    ['the catch job of a chain', () => application.bus.chain([new Plain()]).catch(new Sync('a')).dispatch()],
  ])('is refused as %s, and nothing is sent', async (_, dispatch) => {
    await expect(dispatch()).rejects.toMatchObject({
      code: 'E_DEBOUNCED_IN_CHAIN',
      message: expect.stringMatching(/Sync is debounced, and cannot be in a chain or a batch: /) as string,
    });
    expect(await size()).toBe(0);
  });

  it('is refused as a link that a running job adds', async () => {
    await application.bus.dispatch(new Plain());
    await work();
    expect(await application.manager.failed.list()).toMatchObject([
      { name: 'Plain', exception: expect.stringContaining('E_DEBOUNCED_IN_CHAIN') as string },
    ]);
  });
});

describe('the key of a debounced job', () => {
  it('is refused if `by` gives none, and nothing is sent', async () => {
    key = () => undefined;
    await expect(application.bus.dispatch(new Keyed())).rejects.toMatchObject({
      code: 'E_INVALID_UNIQUE_KEY',
      message:
        'Keyed was not sent: the function `by` of its option debounce returned undefined. It must return a number, or a string of 1 to 1000 characters.',
    });
    expect(await size()).toBe(0);
  });

  it.each([
    ['true', true],
    ['a duration', '30s'],
    ['a list', ['30s']],
    ['null', null],
    ['without wait', { longest: '1m' }],
    ['with an unknown key', { wait: '30s', max: '5m' }],
    ['with a `by` that is not a function', { wait: '30s', by: 'id' }],
    ['with a `longest` shorter than `wait`', { wait: '30s', longest: '29s' }],
  ])('is refused in the declaration if debounce is %s', (_, value) => {
    const declare = (): unknown => Job({ debounce: value as DebounceOptions })(class Wrong extends Job {});
    expect(declare).toThrow(expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }));
  });

  it.each([['0s'], [-1], ['soon'], [null]])('is refused in the declaration if it waits for %s', (value) => {
    const declare = (): unknown => Job({ debounce: { wait: value as '1s' } })(class Wrong extends Job {});
    expect(declare).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });

  it.each([
    ['unique', { unique: true }, /^debounce on Wrong.*It also has unique/],
    ['a delay', { delay: '10s' }, /^debounce on Wrong.*It also has a delay/],
  ] as const)('is refused in the declaration together with %s, even an inherited one', (_, option, message) => {
    const debounce = { wait: '30s' } as const;
    class Parent extends Job {}
    Job(option)(Parent);
    const error = expect.objectContaining({
      code: 'E_INVALID_JOB_OPTION',
      message: expect.stringMatching(message) as string,
    }) as Error;
    expect(() => Job({ debounce, ...option })(class Wrong extends Job {})).toThrow(error);
    expect(() => Job({ debounce })(class Wrong extends Parent {})).toThrow(error);
  });
});
