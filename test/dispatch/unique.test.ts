import { Job } from '../../src/job/job';
import type { SkippedEvent } from '../../src/job/hooks';
import { Worker } from '../../src/worker/worker';
import type { UniqueOptions } from '../../src/job/options';
import { Transaction } from '../../src/dispatch/transaction';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;
let ran: string[];
let key: () => unknown;

@Job({ unique: { by: (job: Reindex) => job.product } })
class Reindex extends Job {
  constructor(
    readonly product: string | number,
    readonly note = '',
  ) {
    super();
  }
  handle(): void {
    ran.push(`${this.product}${this.note}`);
  }
}

@Job({ unique: true })
class Sweep extends Job {
  handle(): void {
    ran.push('sweep');
  }
}

@Job()
class SweepAgain extends Sweep {}

@Job({ unique: false })
class SweepOften extends Sweep {}

@Job({ unique: { by: (job: Breaks) => job.id, until: 'end' } })
class Breaks extends Job {
  constructor(readonly id: number) {
    super();
  }
  handle(): void {
    throw new Error('it broke');
  }
}

@Job({ unique: { for: '1m' } })
class Bounded extends Job {
  handle(): void {}
}

@Job({ unique: { by: () => key() as string } })
class Keyed extends Job {
  handle(): void {}
}

@Job()
class Plain extends Job {
  handle(): void {}
}

const size = (connection?: string): Promise<number> => application.manager.connection(connection).size();
const result = (job: object) => application.bus.dispatchToQueue(job).result;
const work = async (): Promise<unknown> => new Worker({ stopWhenEmpty: true }, application.manager).run();

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

describe('a unique job', () => {
  it('is not sent while another one holds its key, and resolves with the id of that one', async () => {
    const id = await application.bus.dispatch(new Reindex('a'));
    expect(await result(new Reindex('a'))).toEqual({ status: 'duplicate', id });
    expect(await application.bus.dispatch(new Reindex('a', ' again'))).toBe(id);
    const other = await result(new Reindex('b'));
    expect(other.status).toBe('queued');
    expect(other.id).not.toBe(id);
    await work();
    expect(ran).toEqual(['a', 'b']);
    expect((await result(new Reindex('a'))).status).toBe('queued');
  });

  it('has one key for its class if it has no `by`, and subclasses have their own', async () => {
    await application.bus.dispatch(new Sweep());
    expect((await result(new Sweep())).status).toBe('duplicate');
    expect((await result(new SweepAgain())).status).toBe('queued');
    expect((await result(new SweepAgain())).status).toBe('duplicate');
    for (let time = 0; time < 2; time += 1) expect((await result(new SweepOften())).status).toBe('queued');
  });

  it('is checked however it is pushed', async () => {
    const { manager, bus } = application;
    const first = await manager.connection().push(new Reindex(1));
    const connection = manager.connection();
    expect(await connection.push(new Reindex('1'))).toBe(first);
    expect(await connection.later('1m', new Reindex(1))).toBe(first);
    const [a, b, c] = await connection.bulk([new Reindex(1), new Reindex(2), new Reindex(2)]);
    expect([a, c]).toEqual([first, b]);
    expect(await bus.bulk([new Reindex(1), new Plain(), new Reindex(2)])).toEqual([first, expect.anything(), b]);
    expect(await bus.chain([new Reindex(1), new Plain()]).dispatch().result).toEqual({
      status: 'duplicate',
      id: first,
    });
    expect(await size()).toBe(3);
  });

  it('is checked when its transaction commits', async () => {
    const skipped: SkippedEvent[] = [];
    application.manager.hooks.on('skipped', (event) => void skipped.push(event));
    const first = await application.bus.dispatch(new Reindex('a'));
    const kept = await Transaction.run(async () => {
      const { status, id } = await application.bus.dispatch(new Reindex('a')).afterCommit().result;
      await application.bus.dispatch(new Reindex('b')).afterCommit();
      expect([status, await size()]).toEqual(['kept', 1]);
      return id;
    });
    expect(await size()).toBe(2);
    expect(skipped).toEqual([
      { connectionName: 'memory', queue: 'default', id: kept, name: 'Reindex', of: first, reason: 'duplicate' },
    ]);
  });

  it('is reported by the hook skipped with the holder of its key, and not by queued', async () => {
    const heard: unknown[] = [];
    application.manager.hooks.on('queued', ({ id }) => void heard.push(['queued', id]));
    application.manager.hooks.on('skipped', ({ of, name }) => void heard.push(['skipped', name, of]));
    const first = await application.bus.dispatch(new Reindex('a'));
    await application.bus.dispatch(new Reindex('a'));
    await application.manager.connection().bulk([new Reindex('a'), new Reindex('a')]);
    const again = ['skipped', 'Reindex', first];
    expect(heard).toEqual([['queued', first], again, again, again]);
  });

  it('is never refused and holds no key as a later link of a chain', async () => {
    const first = await application.bus.dispatch(new Reindex('a'));
    await application.bus.chain([new Plain(), new Reindex('a', ' link'), new Reindex('b')]).dispatch();
    expect(await result(new Reindex('a'))).toEqual({ status: 'duplicate', id: first });
    const waiting = await application.manager.driver('memory').queues.peek!('default', 'ready', 2);
    expect(waiting.map(({ payload }) => payload.includes('ties'))).toEqual([true, false]);
    await work();
    expect(ran).toEqual(['a', 'a link', 'b']);
  });

  it('frees its key when it fails, and cannot be retried while another one holds the key', async () => {
    const first = await application.bus.dispatch(new Breaks(1));
    await work();
    const second = await result(new Breaks(1));
    expect(second.status).toBe('queued');
    await expect(application.manager.failed.retry(first)).rejects.toMatchObject({
      code: 'E_UNIQUE_HELD',
      message: `Breaks ${first} stays failed: ${second.id} holds its key. Retry it when that job has ended, or forget it.`,
    });
    await expect(application.manager.failed.retry('all')).rejects.toMatchObject({
      code: 'E_RETRY_INCOMPLETE',
      facts: { left: [{ id: first }] },
    });
    await application.manager.connection().cancel(second.id);
    expect(await application.manager.failed.retry(first)).toBe(true);
    expect(await result(new Breaks(1))).toEqual({ status: 'duplicate', id: first });
  });

  it('holds its key at most for `for`', async () => {
    await application.bus.dispatch(new Bounded());
    expect((await result(new Bounded())).status).toBe('duplicate');
    await application.clock.advance('61s');
    expect((await result(new Bounded())).status).toBe('queued');
  });

  it('runs on sync and goes to null however often it is sent', async () => {
    for (const name of ['sync', 'null']) {
      for (let time = 0; time < 2; time += 1) {
        const { status } = await application.bus.dispatch(new Reindex('a')).onConnection(name).result;
        expect(status).toBe('queued');
      }
    }
    await application.bus.dispatchSync(new Reindex('a'));
    expect(ran).toEqual(['a', 'a', 'a']);
  });

  it('is refused together with everything sent with it if the store keeps no keys', async () => {
    const refusal = {
      code: 'E_CAPABILITY',
      message: /The connection 'mail' \(sqs\) keeps no unique or debounced jobs; put Reindex on a connection/,
    };
    const match = { code: refusal.code, message: expect.stringMatching(refusal.message) as string };
    const { bus, manager } = application;
    await expect(bus.dispatch(new Reindex('a')).onConnection('mail')).rejects.toMatchObject(match);
    await expect(manager.connection('mail').push(new Reindex('a'))).rejects.toMatchObject(match);
    await expect(manager.connection('mail').bulk([new Plain(), new Reindex('a')])).rejects.toMatchObject(match);
    const held = Transaction.run(() => bus.dispatch(new Reindex('a')).onConnection('mail').afterCommit());
    await expect(held).rejects.toMatchObject(match);
    const lot = [new Plain(), new Reindex('a').onConnection('mail')];
    await expect(bus.bulk(lot)).rejects.toMatchObject(match);
    expect(await size()).toBe(0);
  });
});

describe('the key of a unique job', () => {
  it.each([
    ['an object', { id: 1 }, '{ id: 1 }'],
    ['a promise', Promise.resolve('a'), 'a promise'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['NaN', NaN, 'NaN'],
    ['an infinite number', Infinity, 'Infinity'],
    ['an empty text', '', "''"],
    ['half a character', '\ud800', "'\\ud800'"],
    ['10 kB', 'x'.repeat(10_240), 'a string of 10,240 characters'],
  ])('is refused if it is %s, and nothing is sent', async (_, value, shown) => {
    key = () => value;
    await expect(application.bus.dispatch(new Keyed())).rejects.toMatchObject({
      code: 'E_INVALID_UNIQUE_KEY',
      message: `Keyed was not sent: the function \`by\` of its option unique returned ${shown}. It must return a number, or a string of 1 to 1000 characters.`,
    });
    await expect(application.bus.bulk([new Plain(), new Keyed()])).rejects.toMatchObject({
      code: 'E_INVALID_UNIQUE_KEY',
    });
    expect(await size()).toBe(0);
  });

  it('is reported as missing with the cause if `by` throws', async () => {
    const cause = new Error('no product');
    key = () => {
      throw cause;
    };
    await expect(application.bus.dispatch(new Keyed())).rejects.toMatchObject({
      code: 'E_INVALID_UNIQUE_KEY',
      message: expect.stringContaining('the function `by` of its option unique threw (no product)') as string,
      cause,
    });
  });

  it.each([
    ['a text', 'id'],
    ['a list', ['id']],
    ['null', null],
    ['an unknown key', { key: 'id' }],
    ['a `by` that is not a function', { by: 'id' }],
    ['an unknown end', { until: 'processing' }],
  ])('is refused in the declaration if unique is %s', (_, value) => {
    const declare = (): unknown => Job({ unique: value as UniqueOptions })(class Wrong extends Job {});
    expect(declare).toThrow(expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }));
  });

  it.each([['0s'], [-1], ['soon'], [NaN]])('is refused in the declaration if it is held for %s', (value) => {
    const declare = (): unknown => Job({ unique: { for: value as '1s' } })(class Wrong extends Job {});
    expect(declare).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });
});
