import { probe, probes, ScriptWorld } from './script-world';

describe('limit.lua', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const limit = (running: number, { queue = 'q', sequence = world.nextSequence() } = {}): Promise<unknown[]> => {
    const { client, control, ready, notify } = world.queue(queue);
    return world.run('limit', [client('operator'), control, ready, notify], [sequence, running]);
  };
  const field = (queue = 'q') => `running:${world.queue(queue).ready}`;

  it('sets, changes and removes the limit of a queue, beside other orders', async () => {
    await world.client.hset(world.queue().control, 'restart', 'token');
    expect(await limit(5)).toEqual(['limited']);
    expect(await limit(3)).toEqual(['limited']);
    expect(await limit(7, { queue: 'other' })).toEqual(['limited']);
    expect(await world.state()).toEqual({ ':control': { restart: 'token', [field()]: '3', [field('other')]: '7' } });
    expect(await limit(0)).toEqual(['limited']);
    expect(await world.state()).toEqual({ ':control': { restart: 'token', [field('other')]: '7' } });
  });

  it('wakes a worker if there are jobs', async () => {
    await world.push(probes(2));
    await world.client.del(world.queue().notify);
    await limit(5);
    expect(await world.client.lrange(world.queue().notify, 0, -1)).toEqual(['1']);
  });

  it('repeats its answer to a call that is sent again, and changes nothing after a later call', async () => {
    const sequence = world.nextSequence();
    await limit(5, { sequence });
    const before = await world.whole();
    expect(await limit(5, { sequence })).toEqual(['limited']);
    expect(await limit(9, { sequence: sequence - 1 })).toEqual(['stale']);
    expect(await world.whole()).toEqual(before);
  });

  it.each(['control', 'notify'] as const)('changes nothing if the key of %s is of another type', async (key) => {
    await world.client.set(world.queue()[key], 'foreign');
    const before = await world.whole();
    await expect(limit(5)).rejects.toThrow('WRONGTYPE');
    expect(await world.whole()).toEqual(before);
  });

  describe('in exchange.lua', () => {
    const reserved = (): Promise<number> => world.client.zcard(world.queue().reserved);

    it('lets two workers together take no more than may run, and one more for each that ends', async () => {
      await world.push(probes(8));
      await limit(3);
      const { jobs } = await world.exchange({ limit: 10 });
      expect(jobs).toEqual([[1, probe('p0', 1), probe('p1', 1), probe('p2', 1)]]);
      const full = await world.exchange({ limit: 10, client: 'other' });
      expect(full.jobs).toEqual([]);
      const outcomes = ['completed', 1, 2, probe('p0', 1), probe('p1', 1)];
      expect((await world.exchange({ limit: 10, outcomes })).jobs).toEqual([[1, probe('p3', 1), probe('p4', 1)]]);
      expect(await reserved()).toBe(3);
    });

    it('hands out the other queues of a call, and says when the first lease ends', async () => {
      await world.push(probes(3));
      await world.push([probe('x')], { queue: 'other' });
      await limit(1);
      const first = await world.exchange({ queues: ['q', 'other'], limit: 10, lease: 500 });
      expect(first.jobs).toEqual([
        [1, probe('p0', 1)],
        [2, probe('x', 1)],
      ]);
      expect(Math.round(first.nextIn / 100)).toBe(5);
    });

    it('leaves no hint on a full queue, and one if it makes room and takes nothing itself', async () => {
      await world.push(probes(3));
      await limit(1);
      await world.exchange({ limit: 10 });
      await world.client.del(world.queue().notify);
      await world.exchange({ limit: 10, client: 'other' });
      expect(await world.client.exists(world.queue().notify)).toBe(0);
      await world.exchange({ outcomes: ['completed', 1, 1, probe('p0', 1)] });
      expect(await world.client.lrange(world.queue().notify, 0, -1)).toEqual(['1']);
    });

    it('removes no hint of a queue that it only settles', async () => {
      await limit(2);
      await world.push([probe('a')]);
      const [token] = await world.reserve();
      await world.pushLater([['any', 300, probe('b')]]);
      expect(await world.client.exists(world.queue().notify)).toBe(1);
      await world.exchange({ outcomes: ['completed', 1, 1, token!] });
      expect(await world.client.exists(world.queue().notify)).toBe(1);
    });

    it('takes a job back whose lease has ended, and gives its place away', async () => {
      await world.push(probes(3));
      await limit(1);
      await world.exchange({ limit: 10, lease: 60 });
      world.offset = 100;
      const { jobs } = await world.exchange({ limit: 10, client: 'other' });
      expect(jobs).toEqual([[1, probe('p0').replace('"attempts":0', '"crashes":1,"attempts":1')]]);
      expect(await reserved()).toBe(1);
    });

    it('stops no job when the limit is lowered', async () => {
      await world.push(probes(5));
      await world.exchange({ limit: 3 });
      await limit(1);
      const outcomes = ['completed', 1, 2, probe('p0', 1), probe('p1', 1)];
      expect((await world.exchange({ limit: 10, outcomes })).jobs).toEqual([]);
      expect(await reserved()).toBe(1);
    });

    it('asks for nothing more while no queue has an order', async () => {
      await world.push(probes(2));
      const commands = await world.commandsOf(() => world.exchange({ limit: 1 }));
      expect(commands.filter(([name]) => ['hmget', 'zcard'].includes(name!))).toEqual([]);
    });

    it('hands out what it may if the limit is no number', async () => {
      await world.push(probes(2));
      await world.client.hset(world.queue().control, field(), 'many');
      expect((await world.exchange({ limit: 10 })).jobs).toHaveLength(1);
    });
  });
});
