import { probe, ScriptWorld } from './script-world';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterAll(() => world.stop());

const FOREIGN = 'nothing of ours';

type Name = 'ready' | 'delayed' | 'reserved' | 'notify' | 'failed' | 'failedJobs';

const spoil = (name: Name, queue = 'q'): Promise<unknown> => world.client.set(world.queue(queue)[name], FOREIGN);

/** All payloads in the store, in any state. */
const texts = async (): Promise<string> => JSON.stringify(await world.state());

describe('exchange.lua, if a key of a queue has another type', () => {
  it.each(['ready', 'delayed', 'reserved'] as const)(
    'reserves from the other queues and names it (%s)',
    async (name) => {
      for (const queue of ['a', 'b', 'c']) await world.push([probe(queue)], { queue });
      await spoil(name, 'b');

      const { jobs, news, nextIn } = await world.exchange({ queues: ['a', 'b', 'c'], limit: 5 });

      expect(jobs).toEqual([
        [1, probe('a', 1)],
        [3, probe('c', 1)],
      ]);
      expect(news.slice(-2)).toEqual(['skipped', [2, expect.stringContaining('WRONGTYPE')]]);
      // The next look is in a second, not at once.
      expect(nextIn).toBe(1);
    },
  );

  it('gives a repeat the same answer, without the jobs of a key that has become foreign', async () => {
    for (const queue of ['a', 'b']) await world.push([probe(queue)], { queue });
    const call = { queues: ['a', 'b'], limit: 5, sequence: 1000 };
    await world.exchange(call);
    await spoil('reserved', 'b');

    expect((await world.exchange(call)).jobs).toEqual([[1, probe('a', 1)], [2]]);
  });

  it('promotes nothing into it', async () => {
    await world.pushLater([['any', 100, probe('a')]]);
    await spoil('ready');
    world.offset = 500;

    await expect(world.exchange({ limit: 5 })).rejects.toThrow('WRONGTYPE');

    expect(await world.client.zcard(world.queue().delayed)).toBe(1);
  });

  it.each([
    ['ready', probe('a')],
    ['failed', 'no JSON'],
    ['failedJobs', 'no JSON'],
  ] as const)('does not reclaim a job that it could not store (%s)', async (name, text) => {
    const [seconds] = await world.client.time();
    await world.client.zadd(world.queue().reserved, Number(seconds) + 100, text);
    await spoil(name);
    world.offset = 500;

    await expect(world.exchange({ limit: 5 })).rejects.toThrow('WRONGTYPE');

    expect(await world.client.zcard(world.queue().reserved)).toBe(1);
  });

  it.each(['failed', 'failedJobs'] as const)(
    'leaves a payload that is not a JSON object in place, and hands out the jobs before it (%s)',
    async (name) => {
      await world.push([probe('a'), 'no JSON', probe('b')]);
      await spoil(name);

      const { jobs, aside, nextIn } = await world.exchange({ limit: 5 });

      expect([jobs, aside]).toEqual([[[1, probe('a', 1)]], []]);
      expect(await world.client.lrange(world.queue().ready, '0', '-1')).toEqual(['no JSON', probe('b')]);
      expect(nextIn).toBe(1);
    },
  );

  it('settles and reserves even if it cannot leave a hint, and keeps the key unchanged', async () => {
    await world.push([probe('a'), probe('b')]);
    const [first] = await world.reserve();
    await world.client.del(world.queue().notify);
    await spoil('notify');
    const outcomes = ['released', 1, 1, first!, probe('a').length - 14, ',"attempts":1}', 300];

    const { lost, jobs } = await world.exchange({ outcomes, limit: 1 });
    await expect(world.exchange({ limit: 5 })).rejects.toThrow('WRONGTYPE');

    expect([lost, jobs]).toEqual([[], [[1, probe('b', 1)]]]);
    expect(await world.client.zcard(world.queue().delayed)).toBe(1);
    expect(await world.client.get(world.queue().notify)).toBe(FOREIGN);
  });

  it.each([
    ['released', 'ready', [30, ',"attempts":1}', 0]],
    ['released', 'delayed', [30, ',"attempts":1}', 300]],
    ['failed', 'failed', [30, ',"attempts":1}', 'id', '{}']],
    ['failed', 'failedJobs', [30, ',"attempts":1}', 'id', '{}']],
  ] as const)('leaves a job reserved that cannot be %s (%s), and settles the others', async (kind, name, rest) => {
    await world.push([probe('a'), probe('b')]);
    const [first, second] = await world.reserve(2);
    await spoil(name);
    const outcomes = [kind, 1, 1, first!, ...rest, 'completed', 1, 1, second!];

    const { lost, news } = await world.exchange({ outcomes, sources: 0 });

    expect(lost).toEqual([]);
    expect(news).toEqual(['unsettled', [expect.stringContaining('WRONGTYPE'), 1]]);
    expect(await world.client.zrange(world.queue().reserved, '0', '-1')).toEqual([first]);
  });
});

describe('exchange.lua, if the orders have another type', () => {
  it.each(['control', 'cancelled'] as const)('settles and reserves nothing (%s)', async (name) => {
    await world.push([probe('a'), probe('b')]);
    const [token] = await world.reserve();
    await world.client.set(world.queue()[name], FOREIGN);

    const { lost, jobs, news, nextIn } = await world.exchange({ outcomes: ['completed', 1, 1, token!], limit: 5 });

    expect([lost, jobs, news]).toEqual([[], [], ['skipped', [0, expect.stringContaining('WRONGTYPE')]]]);
    expect(nextIn).toBe(1);
    expect((await world.state())['q']).toEqual([probe('b')]);
    expect(await world.client.exists(world.queue().reserved)).toBe(0);
  });
});

describe('other scripts refuse a key of another type before they write', () => {
  const refused = async (call: Promise<unknown>): Promise<void> => {
    await expect(call).rejects.toThrow('WRONGTYPE');
  };

  it.each(['delayed', 'notify'] as const)('push (%s)', async (name) => {
    await spoil(name);
    const { client, ready, delayed, notify } = world.queue();
    const entries = [1, 0, 0, 0, probe('a'), 'any', 100, probe('b')];
    await refused(world.run('push', [client('c'), ready, delayed, notify], [1, 0, ...entries]));
    expect(await texts()).not.toContain('probe');
  });

  it.each(['ready', 'notify', 'failed'] as const)('retry (%s)', async (name) => {
    const { client, failed, failedJobs, ready, notify, cancelled, reasons, unique, batches, cancelledBatches } =
      world.queue();
    await world.run('keep', [failed, failedJobs], ['id', '{}', probe('a')]);
    await world.client.del(failed);
    if (name !== 'failed') await world.client.zadd(failed, '1', 'id');
    await spoil(name);
    const args = [1, 'id', probe('a'), probe('a')];
    await refused(
      world.run(
        'retry',
        [
          ...[client('c'), failed, failedJobs, ready, notify, cancelled, reasons, unique, batches, cancelledBatches],
          ...world.laneKeys,
        ],
        args,
      ),
    );
    expect(await world.client.hlen(failedJobs)).toBe(1);
  });

  it('keep and forget', async () => {
    const { client, failed, failedJobs } = world.queue();
    await world.client.zadd(failed, '1', 'id');
    await spoil('failedJobs');
    await refused(world.run('keep', [failed, failedJobs], ['other', '{}', probe('a')]));
    await refused(world.run('forget', [client('c'), failed, failedJobs], [1, 'id']));
    expect(await world.client.zrange(failed, '0', '-1')).toEqual(['id']);
  });

  it('clear', async () => {
    await world.push([probe('a')]);
    await world.client.del(world.queue().notify);
    await spoil('notify');
    const { client, ready, delayed, reserved, notify, cancelled, reasons, unique, batches, cancelledBatches } =
      world.queue();
    await refused(
      world.run(
        'clear',
        [
          ...[client('c'), ready, delayed, reserved, notify, cancelled, reasons, unique, batches, cancelledBatches],
          ...world.laneKeys,
        ],
        [1, -1],
      ),
    );
    expect(await world.client.llen(ready)).toBe(1);
    expect(await world.client.get(notify)).toBe(FOREIGN);
  });

  it('resume', async () => {
    const { client, control, ready, delayed, notify } = world.queue();
    await world.run('pause', [client('c'), control, ready], [1, 'q']);
    await spoil('notify');
    await refused(world.run('resume', [client('c'), control, ready, delayed, notify], [2]));
    expect(await world.client.hlen(control)).toBe(1);
  });

  it('renew', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve(1, 100);
    const { reserved, cancelled } = world.queue();
    const before = await world.client.zscore(reserved, token!);
    await world.client.set(cancelled, FOREIGN);
    await refused(world.run('renew', [reserved, cancelled], [600, token!]));
    expect(await world.client.zscore(reserved, token!)).toBe(before);
  });
});
