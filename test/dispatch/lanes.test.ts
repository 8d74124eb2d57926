/** Jobs with a lane, from their dispatch to their end: on a memory connection. */
import { Job } from '../../src/job/job';
import type { LaneOptions } from '../../src/job/lane';
import { withTies } from '../../src/payload/ties';
import { Worker } from '../../src/worker/worker';
import { Gate, testApplication, until, type TestApplication } from '../support/application';

let application: TestApplication;
let ran: string[];
let key: () => unknown;
let gate: Gate;

@Job({ lane: { by: (job: Sync) => job.tenant, running: 2 } })
class Sync extends Job {
  constructor(
    readonly tenant: string | number,
    readonly note = '',
  ) {
    super();
  }
  async handle(): Promise<void> {
    ran.push(`${this.tenant}${this.note}`);
    await gate.opened;
  }
}

@Job({ tries: 3, backoff: '30s', lane: { by: (job: Post) => job.account, running: 1, ordered: true } })
class Post extends Job {
  constructor(
    readonly account: string,
    readonly entry: number,
  ) {
    super();
  }
  handle(): void {
    ran.push(`${this.account} ${this.entry}`);
    if (this.entry === 1 && this.job.attempts === 1) throw new Error('busy');
  }
}

@Job({ lane: { by: () => key() as string, running: 1 } })
class Keyed extends Job {
  handle(): void {}
}

@Job()
class Plain extends Job {
  handle(): void {
    ran.push('plain');
  }
}

const lanes = async (): Promise<unknown[]> =>
  (await application.manager.connection().lanes()).lanes.map(({ lane, inside, held }) => [lane, inside, held]);
const work = async (): Promise<unknown> =>
  new Worker({ stopWhenEmpty: true, concurrency: 9 }, application.manager).run();

beforeEach(() => {
  ran = [];
  gate = new Gate();
  application = testApplication({
    connections: {
      memory: { driver: 'memory', retryAfter: 30 },
      mail: { driver: 'sqs', region: 'eu-west-1' },
      both: { driver: 'failover', connections: ['memory', 'mail'] },
      sync: { driver: 'sync' },
      null: { driver: 'null' },
    },
  });
});
afterEach(() => application.manager.close());

describe('a job with a lane', () => {
  it('runs beside no more of its lane than may, and others run past them', async () => {
    for (const note of [' 1', ' 2', ' 3']) await application.bus.dispatch(new Sync('a', note));
    await application.bus.dispatch(new Sync('b'));
    await application.bus.dispatch(new Plain());
    expect(await lanes()).toEqual([
      ['a', 2, 1],
      ['b', 1, 0],
    ]);
    const worker = work();
    await until(application.clock, () => ran.length === 4);
    expect(ran).toEqual(['a 1', 'a 2', 'b', 'plain']);
    gate.open();
    await worker;
    expect(ran).toEqual(['a 1', 'a 2', 'b', 'plain', 'a 3']);
    expect(await lanes()).toEqual([]);
  });

  it('is let in however it is pushed', async () => {
    const { manager, bus } = application;
    const connection = manager.connection();
    await connection.push(new Sync(1));
    await connection.later('1m', new Sync(1));
    await connection.bulk([new Sync('1'), new Plain(), new Sync(1)]);
    await bus.bulk([new Sync(1), new Sync(2)]);
    await bus.chain([new Sync(1), new Plain()]).dispatch();
    await bus.batch([new Sync(1), new Plain()]).dispatch();
    expect(await lanes()).toEqual([
      ['1', 2, 4],
      ['2', 1, 0],
    ]);
    await application.clock.advance('61s');
    gate.open();
    await work();
    expect(ran.filter((one) => one === '1')).toHaveLength(7);
    expect(await lanes()).toEqual([]);
  });

  it('waits for its lane as a link of a chain, as a job of a batch and as a callback', async () => {
    const { bus } = application;
    gate.open();
    await bus.chain([new Plain(), new Sync('a', ' link'), new Sync('a', ' last')]).dispatch();
    await bus
      .batch([[new Plain(), new Sync('a', ' member')]])
      .then(new Sync('a', ' then'))
      .dispatch();
    await application.manager.connection().lane('default', 'a').pause();
    await work();
    expect(ran).toEqual(['plain', 'plain']);
    await application.manager.connection().lane('default', 'a').resume();
    await work();
    expect(ran.slice(2).toSorted()).toEqual(['a last', 'a link', 'a member', 'a then']);
    expect(await lanes()).toEqual([]);
  });

  it('of an ordered lane is overtaken by no other while it waits for its next attempt', async () => {
    for (const entry of [1, 2]) await application.bus.dispatch(new Post('rent', entry));
    await application.bus.dispatch(new Post('food', 2));
    await work();
    expect(ran).toEqual(['rent 1', 'food 2']);
    await application.clock.advance('31s');
    await work();
    expect(ran).toEqual(['rent 1', 'food 2', 'rent 1', 'rent 2']);
  });

  it('waits again when it is sent back from the failed ones', async () => {
    @Job({ lane: { by: () => 'a', running: 1 } })
    class Fails extends Job {
      handle(): void {
        throw new Error('no');
      }
    }
    gate.open();
    const id = await application.bus.dispatch(new Fails());
    await work();
    await application.bus.dispatch(new Sync('a'));
    await application.bus.dispatch(new Sync('a'));
    await application.manager.failed.retry(id);
    expect(await lanes()).toEqual([['a', 2, 1]]);
  });

  it('keeps its key in lists as it is, and a long or odd one as a hash, by which it is found', async () => {
    const connection = application.manager.connection();
    await application.bus.dispatch(new Sync('Tenant_7.a:b@c-d'));
    await application.bus.dispatch(new Sync('äöü'));
    await application.bus.dispatch(new Sync('x'.repeat(65)));
    const shown = (await connection.lanes()).lanes.map(({ lane }) => lane);
    expect(shown).toEqual(expect.arrayContaining(['Tenant_7.a:b@c-d']));
    expect(shown.filter((lane) => /^[\w-]{22}$/.test(lane))).toHaveLength(2);
    await connection.lane('default', 'äöü').limit(7);
    expect((await connection.lanes()).lanes.map(({ running }) => running).toSorted()).toEqual([2, 2, 7]);
  });

  it('is refused before it is sent by a connection that keeps no lanes, by name', async () => {
    const refused = application.bus.dispatch(new Sync('a')).onConnection('mail');
    await expect(refused).rejects.toThrow(
      "The connection 'mail' (sqs) keeps no lanes; put Sync on a connection of a driver that does: redis, database, memory.",
    );
    const link = application.bus.chain([new Plain(), new Sync('a').onConnection('mail')]).dispatch();
    await expect(link).rejects.toMatchObject({ code: 'E_CAPABILITY' });
    await expect(application.manager.connection('mail').lanes()).rejects.toMatchObject({ code: 'E_CAPABILITY' });
  });

  it('enters its lane when its text is pushed as it is', async () => {
    const connection = application.manager.connection();
    const payload = withTies('{"job":"Sync","data":{},"id":"raw","attempts":0}', {
      lane: { key: 'a', running: 2, ordered: false },
    });
    for (let count = 0; count < 3; count += 1) await connection.pushRaw(payload.replace('"raw"', `"raw-${count}"`));
    expect(await lanes()).toEqual([['a', 2, 1]]);
    const refused = application.manager.connection('mail').pushRaw(payload);
    await expect(refused).rejects.toMatchObject({ code: 'E_CAPABILITY' });
  });

  it('goes through a failover, and runs at once or not at all where no jobs are kept', async () => {
    gate.open();
    await application.bus.dispatch(new Sync('a')).onConnection('both');
    expect(await lanes()).toEqual([['a', 1, 0]]);
    await application.bus.dispatch(new Sync('b')).onConnection('sync');
    await application.bus.dispatch(new Sync('c')).onConnection('null');
    expect(ran).toEqual(['b']);
  });
});

describe('mistakes with lanes', () => {
  const declare = (lane: unknown) => () => {
    @Job({ lane: lane as LaneOptions })
    class Wrong extends Job {
      handle(): void {}
    }
    return Wrong;
  };

  it.each([
    ['tenant', 'give { by, running }, such as'],
    [{ running: 3 }, 'give { by, running }, such as'],
    [{ by: Number, limit: 3 }, 'give { by, running }, such as'],
    [{ by: Number }, 'needs running: how many jobs of one lane'],
    [{ by: Number, running: 0 }, 'needs running: how many jobs of one lane'],
    [{ by: Number, running: 1.5 }, 'needs running: how many jobs of one lane'],
    [{ by: Number, running: 3, ordered: true }, '`ordered` needs running: 1'],
  ])('%j is refused', (lane, words) => {
    expect(declare(lane)).toThrow(
      expect.objectContaining({
        code: 'E_INVALID_JOB_OPTION',
        message: expect.stringMatching(new RegExp(words, 'i')) as string,
      }),
    );
  });

  it.each(['group', 'groupId', 'concurrencyKey', 'limits_concurrency'])('%s is told what it is here', (word) => {
    const declared = () => {
      @Job({ [word]: 'tenant' })
      class Wrong extends Job {
        handle(): void {}
      }
      return Wrong;
    };
    expect(declared).toThrow(expect.objectContaining({ code: 'E_UNKNOWN_JOB_OPTION' }));
    expect(declared).toThrow(/lane: \{ by/);
  });

  it.each([undefined, null, {}, '', 'x'.repeat(10_000), Number.NaN, Promise.resolve('a')])(
    'a key that is no key is refused, and nothing is sent: %p',
    async (value) => {
      key = () => value;
      await expect(application.bus.dispatch(new Keyed())).rejects.toMatchObject({
        code: 'E_INVALID_LANE_KEY',
        message: expect.stringContaining('Keyed was not sent: the function `by` of its option lane returned') as string,
      });
      expect(await application.manager.connection().size()).toBe(0);
    },
  );

  it('a `by` that throws is named', async () => {
    key = () => {
      throw new Error('no tenant');
    };
    await expect(application.bus.dispatch(new Keyed())).rejects.toThrow(/threw \(no tenant\)/);
  });

  it('a limit of 0, and a lane without a key, are refused', async () => {
    const connection = application.manager.connection();
    await expect(connection.lane('default', 'a').limit(0)).rejects.toMatchObject({
      code: 'E_INVALID_LANE_LIMIT',
      message: expect.stringContaining('pause the lane') as string,
    });
    expect(() => connection.lane('default', '')).toThrow(expect.objectContaining({ code: 'E_INVALID_LANE_KEY' }));
  });
});
