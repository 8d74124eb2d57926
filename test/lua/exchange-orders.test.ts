import { probe, probes, ScriptWorld } from './script-world';

/** A job whose workers died this many times. */
const suspect = (id: string, crashes: number): string =>
  `{"job":"probe","data":{},"id":"${id}","crashes":${crashes},"attempts":0}`;

describe('exchange.lua, with orders', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const pause = (name: string): Promise<number> => {
    const { control, ready } = world.queue(name);
    return world.client.hset(control, `paused:${ready}`, name);
  };
  /** The length of the payload before its counters. */
  const keep = (token: string): number => token.indexOf(',"attempts"');

  it('reports nothing without orders', async () => {
    await world.push([probe('a')]);
    await world.exchange({});
    expect((await world.exchange({ limit: 1 })).news).toEqual([]);
  });

  describe('that pause a queue', () => {
    it('reserves nothing from it, reserves from the others, and names it', async () => {
      await world.push([probe('a')], { queue: 'high' });
      await world.push([probe('b')], { queue: 'low' });
      await pause('high');
      const { jobs, news } = await world.exchange({ queues: ['high', 'low'], limit: 5, sequence: 1 });
      expect([jobs, news]).toEqual([[[2, probe('b', 1)]], ['paused', [1]]]);
    });

    it('still promotes and reclaims in it, and leaves no hint there', async () => {
      await world.push([probe('lost')]);
      await world.exchange({ limit: 1, lease: 100 });
      await world.pushLater([
        ['any', 200, probe('due')],
        ['any', 900, probe('later')],
      ]);
      await world.client.del(world.queue().notify);
      await pause('q');
      world.offset = 300;
      expect(await world.exchange({ limit: 1 })).toMatchObject({ jobs: [], nextIn: Infinity });
      const { ':control': _, ...rest } = await world.state();
      expect(rest).toEqual({ q: [suspect('lost', 1), probe('due')], 'q:delayed': [[probe('later'), 900]] });
    });

    it('sets the next look for the other queues only', async () => {
      await world.push([probe('a')], { queue: 'high' });
      await world.pushLater([['any', 500, probe('b')]]);
      await pause('high');
      const { nextIn } = await world.exchange({ queues: ['high', 'q'], limit: 1 });
      expect(Math.round(nextIn / 100)).toBe(5);
    });

    it('settles in it as usual', async () => {
      await world.push([probe('a')]);
      const [token] = await world.reserve();
      await pause('q');
      expect((await world.exchange({ outcomes: ['completed', 1, 1, token!], limit: 1 })).lost).toEqual([]);
      expect(await world.client.exists(world.queue().reserved)).toBe(0);
    });

    it('for a limited time hands its jobs out afterwards, and removes the pause', async () => {
      const { control, ready } = world.queue('q');
      await world.push([probe('a')]);
      const [seconds] = await world.client.time();
      await world.client.hset(control, { [`paused:${ready}`]: 'q', [`until:${ready}`]: `${Number(seconds) + 60}.5` });

      const during = await world.exchange({ limit: 5 });
      expect([during.jobs, during.news.slice(-2)]).toEqual([[], ['paused', [1]]]);
      expect(during.nextIn).toBeGreaterThan(50);
      world.offset = 61;

      expect((await world.exchange({ limit: 5 })).jobs).toHaveLength(1);
      expect(await world.client.exists(control)).toBe(0);
    });

    it('does not report the pause of a queue that it only settles in', async () => {
      await pause('r');
      const { news } = await world.exchange({ queues: ['q', 'r'], sources: 1, limit: 1, sequence: 1 });
      expect(news).toEqual([]);
    });
  });

  it('returns the token of the last restart to calls that reserve', async () => {
    await world.client.hset(world.queue().control, 'restart', 'token');
    expect((await world.exchange({ limit: 1, sequence: 1 })).news).toEqual(['restart', 'token']);
    expect((await world.exchange({ limit: 0 })).news).toEqual([]);
  });

  describe('that cancel jobs', () => {
    it('reports which of the jobs that it hands out are cancelled, across all queues', async () => {
      await world.push([probe('a'), probe('b')], { queue: 'high' });
      await world.push([probe('c'), '{"id":"d","data":{}}'], { queue: 'low' });
      await world.mark('b', 'd', 'nobody');
      await world.client.hset(world.queue().reasons, 'd', 'wrong address');
      const { jobs, news } = await world.exchange({ queues: ['high', 'low'], limit: 9, sequence: 1 });
      expect(jobs.map((group) => group.length - 1)).toEqual([2, 2]);
      expect(news).toEqual(['cancelled', [2, '', 4, 'wrong address']]);
    });

    it.each([
      ['completed', []],
      ['failed', [',"attempts":1}', 'a', '{"name":"Probe","exception":"no"}']],
    ])('removes the mark of a job that is settled as %s, and no other', async (kind, rest) => {
      await world.push([probe('a')]);
      const [token] = await world.reserve();
      await world.mark('a', 'b');
      await world.exchange({ outcomes: [kind, 1, 1, token!, ...(rest.length > 0 ? [keep(token!)] : []), ...rest] });
      expect(await world.marks()).toEqual(['b']);
    });

    it('keeps the mark of a job that is released', async () => {
      await world.push([probe('a')]);
      const [token] = await world.reserve();
      await world.mark('a');
      await world.exchange({ outcomes: ['released', 1, 1, token!, keep(token!), ',"attempts":1}', 0] });
      expect(await world.marks()).toEqual(['a']);
    });

    it('keeps the mark of a lost job, because another worker holds it', async () => {
      await world.mark('a', 'b');
      await world.exchange({ outcomes: ['completed', 1, 2, probe('a', 7), probe('b', 7)] });
      expect(await world.marks()).toEqual(['a', 'b']);
    });

    it('reports the current cancellations to a repeat, for the jobs that it still holds', async () => {
      await world.push([probe('a'), probe('b')]);
      const first = await world.exchange({ limit: 2, sequence: 1e6 });
      await world.client.zrem(world.queue().reserved, probe('a', 1));
      await world.mark('b');
      const again = await world.exchange({ limit: 2, sequence: 1e6 });
      expect([again.jobs, again.news]).toEqual([[[1, probe('b', 1)]], [...first.news, 'cancelled', [1, '']]]);
    });
  });

  describe('on a store that was flushed', () => {
    it('reports a missing record of earlier calls to the call and its repeat, but not later', async () => {
      await world.exchange({ sequence: 1 });
      await world.client.del(world.queue().client('worker'));
      const replies = [];
      for (const sequence of [2, 2, 3]) replies.push((await world.exchange({ limit: 1, sequence })).news);
      expect(replies).toEqual([['unrecorded', 1], ['unrecorded', 1], []]);
    });

    it('does not report it to a first call', async () => {
      expect((await world.exchange({ limit: 1, sequence: 1 })).news).toEqual([]);
    });
  });

  it('costs a call only one check if there are no orders', async () => {
    await world.push(probes(2));
    await world.exchange({ limit: 1 });
    await world.client.config('RESETSTAT');
    await world.exchange({ limit: 1 });
    const stats = await world.client.info('commandstats');
    expect(stats.match(/cmdstat_(hmget|hgetall|zmscore)/g)).toBeNull();
  });
});
