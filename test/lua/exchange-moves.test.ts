import { NOT_AN_OBJECT } from '../../src/payload/counters';
import { probe, probes, ScriptWorld } from './script-world';

describe('exchange.lua, promoting and reclaiming', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  it('moves due jobs to the tail of the ready list, in the order of their due times', async () => {
    await world.pushLater([
      ['any', 300, probe('third')],
      ['any', 100, probe('first')],
      ['any', 200, probe('second')],
      ['any', 900, probe('later')],
    ]);
    await world.push([probe('ready'), probe('ready too')]);
    world.offset = 500;
    expect((await world.exchange({ limit: 1 })).jobs).toEqual([[1, probe('ready', 1)]]);
    expect(await world.state()).toMatchObject({
      q: [probe('ready too'), probe('first'), probe('second'), probe('third')],
      'q:delayed': [[probe('later'), 900]],
    });
  });

  it('moves jobs with expired leases to the head, in the order of the expiries, counting a crash in place of the attempt', async () => {
    await world.push([probe('a'), probe('b'), probe('c'), probe('waiting')]);
    await world.reserve(1, 300);
    await world.reserve(1, 100);
    await world.reserve(1, 900);
    world.offset = 500;
    const lost = (id: string): string => `{"job":"probe","data":{},"id":"${id}","crashes":1,"attempts":0}`;
    expect((await world.exchange({ limit: 1 })).jobs).toEqual([[1, lost('b').replace('"attempts":0', '"attempts":1')]]);
    expect((await world.state())['q']).toEqual([lost('a'), probe('waiting')]);
  });

  it('promotes and reclaims for a caller that wants no jobs of the queue, and leaves a hint for others', async () => {
    await world.pushLater([['any', 100, probe('due')]]);
    await world.client.del(world.queue().notify);
    world.offset = 500;
    expect((await world.exchange({ limit: 0 })).jobs).toEqual([]);
    expect(await world.state()).toMatchObject({ q: [probe('due')], 'q:notify': ['1'] });
  });

  it('does not reclaim a job whose lease was renewed', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve(1, 100);
    await world.run('renew', [world.queue().reserved, world.queue().cancelled], [1000, token!]);
    world.offset = 500;
    expect((await world.exchange({ limit: 1 })).jobs).toEqual([]);
  });

  it('adds to the crashes in the payload', async () => {
    const text = '{"id":"x","crashes":2,"exceptions":1,"releases":4,"attempts":3}';
    await world.push([text]);
    await world.reserve(1, 100);
    world.offset = 500;
    const { jobs } = await world.exchange({ limit: 1 });
    expect(jobs).toEqual([[1, '{"id":"x","crashes":3,"exceptions":1,"releases":4,"attempts":4}']]);
  });

  it('sets aside a reserved payload that is not a JSON object', async () => {
    await world.client.zadd(world.queue().reserved, 1, 'nonsense');
    const { aside } = await world.exchange({ limit: 1, sequence: 1e6 });
    expect(aside).toEqual([1, 'worker-1000000-1', NOT_AN_OBJECT]);
    expect(Object.keys(await world.state())).toEqual(['q:failed', 'q:failed:jobs']);
  });

  it('promotes a hundred jobs in one call at most and reports that more are due', async () => {
    await world.pushLater(probes(101).map((text) => ['any', 100, text] as const));
    world.offset = 500;
    const { jobs, nextIn } = await world.exchange({ limit: 100 });
    expect(jobs[0]).toHaveLength(101);
    expect(nextIn).toBe(0);
    expect(await world.client.zcard(world.queue().delayed)).toBe(1);
  });

  it('reclaims a hundred jobs in one call at most, keeping their order', async () => {
    await world.push(probes(120));
    await world.reserve(100, 100);
    await world.reserve(20, 200);
    world.offset = 500;
    await world.exchange({ limit: 1 });
    const ready = await world.client.lrange(world.queue().ready, 0, -1);
    expect(ready).toHaveLength(99);
    expect(await world.client.zcard(world.queue().reserved)).toBe(21);
  });

  it('promotes 1 MiB at most', async () => {
    const long = (id: string): string => probe(id).replace('{}', `"${'x'.repeat(400_000)}"`);
    await world.pushLater(['a', 'b', 'c'].map((id) => ['any', 100, long(id)] as const));
    world.offset = 500;
    await world.exchange({ limit: 1 });
    expect(await world.client.zcard(world.queue().delayed)).toBe(1);
  });

  it.each(['delayed', 'reserved'] as const)('reads long jobs that were %s only to move them', async (state) => {
    const key = world.queue()[state];
    const long = (id: string): string => probe(id, 1).replace('{}', `"${'x'.repeat(900_000)}"`);
    await world.client.zadd(key, 1, long('a'), 2, long('b'), 3, long('c'));

    const commands = await world.commandsOf(() => world.exchange({ limit: 1 }));

    const read = commands.filter(([name, of]) => name === 'ZRANGEBYSCORE' && of === key);
    expect(read.map((words) => words.slice(-2))).toEqual([['0', '1']]);
    expect(await world.client.zcard(key)).toBe(2 + Number(state === 'reserved'));
  });

  it('promotes and reclaims for two queues that it does not reach, in rotation', async () => {
    const names = ['high', 'b', 'c', 'd', 'e'];
    await world.push(probes(10), { queue: 'high' });
    const now = Date.now() / 1000 - 10;
    for (const name of names.slice(1)) await world.client.zadd(world.queue(name).delayed, now, probe(name));
    await world.exchange({ queues: names, limit: 1, sequence: 1e6 });
    const promoted = async (): Promise<number> =>
      world.client.exists(...names.slice(1).map((name) => world.queue(name).ready));
    expect(await promoted()).toBe(2);
    for (const later of [1, 2]) {
      world.offset = later;
      await world.exchange({ queues: names, limit: 1, sequence: 1e6 + later });
    }
    expect(await promoted()).toBe(4);
  });

  it('looks for due jobs every 20 ms, and earlier if a call would get fewer jobs than it wants', async () => {
    const due = (): Promise<number> => world.client.zcard(world.queue().delayed);
    world.frozen = true;
    await world.push(probes(3));
    expect(await world.reserve()).toHaveLength(1);
    await world.client.zadd(world.queue().delayed, 1, probe('due'));
    expect([await world.reserve(), await due()]).toEqual([[probe('p1', 1)], 1]);
    expect([await world.reserve(2), await due()]).toEqual([[probe('p2', 1), probe('due', 1)], 0]);
    await world.client.zadd(world.queue().delayed, 1, probe('later'));
    await world.push([probe('last')]);
    world.offset = 0.02;
    expect([await world.reserve(), await due()]).toEqual([[probe('last', 1)], 0]);
  });

  it('looks for due jobs even after the clock was set back', async () => {
    await world.push(probes(2));
    world.offset = 3600;
    await world.reserve();
    world.offset = 0;
    await world.client.zadd(world.queue().delayed, 1, probe('due'));
    expect(await world.reserve()).toEqual([probe('p1', 1)]);
    expect(await world.client.zcard(world.queue().delayed)).toBe(0);
  });

  it('looks for due jobs even if a call has just settled without reserving', async () => {
    world.frozen = true;
    await world.push(probes(3));
    const [token] = await world.reserve();
    await world.client.zadd(world.queue().delayed, 1, probe('due'));
    world.offset = 10;
    await world.exchange({ outcomes: ['completed', 1, 1, token!], sources: 0 });
    expect(await world.reserve()).toEqual([probe('p1', 1)]);
    expect(await world.client.zcard(world.queue().delayed)).toBe(0);
  });

  it('reserves nothing that it cannot remove from the queue', async () => {
    await world.push(probes(2));
    const [token] = await world.reserve();
    const calls = ['TIME', 'GET', 'EXISTS', 'ZREM', 'LRANGE', 'ZCOUNT', 'ZADD', 'LTRIM'];
    world.refusedCall = calls.length;
    const { jobs, news } = await world.exchange({ limit: 1, outcomes: ['completed', 1, 1, token!] });
    expect([jobs, news]).toEqual([[], ['skipped', [1, expect.stringContaining('refused by the test')]]]);
    expect(await world.client.zcard(world.queue().reserved)).toBe(0);
  });

  it('does not promote again when the reply was lost', async () => {
    await world.pushLater([
      ['any', 100, probe('a')],
      ['any', 200, probe('b')],
    ]);
    world.offset = 150;
    const first = await world.exchange({ limit: 1, sequence: 1e6 });
    world.offset = 250;
    const before = await world.whole();
    expect(await world.exchange({ limit: 1, sequence: 1e6 })).toEqual(first);
    expect(await world.whole()).toEqual(before);
  });
});

describe('exchange.lua, hints and the next look', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const hints = (queue = 'q'): Promise<number> => world.client.llen(world.queue(queue).notify);

  it('leaves a hint while jobs are left, even if the last hint was taken', async () => {
    await world.push(probes(3));
    await world.client.del(world.queue().notify);
    await world.exchange({ limit: 1 });
    expect(await hints()).toBe(1);
    await world.exchange({ limit: 1 });
    expect(await hints()).toBe(1);
  });

  it('removes all hints with the last job, including those of Laravel', async () => {
    await world.push(probes(2));
    await world.client.rpush(world.queue().notify, '1', '1', '1');
    await world.exchange({ limit: 2 });
    expect(await hints()).toBe(0);
  });

  it('removes hints of an empty queue', async () => {
    await world.client.rpush(world.queue().notify, '1', '1');
    await world.exchange({ limit: 1 });
    expect(await hints()).toBe(0);
  });

  it('keeps the hints of queues that it did not look at', async () => {
    await world.push(probes(1), { queue: 'low' });
    await world.push(probes(2), { queue: 'high' });
    await world.exchange({ queues: ['high', 'low'], limit: 1 });
    expect([await hints('high'), await hints('low')]).toEqual([1, 1]);
  });

  it('leaves a hint for a released, delayed job if the caller got all the jobs it asked for', async () => {
    await world.push([probe('a'), probe('b')]);
    const [token] = await world.reserve();
    await world.exchange({ outcomes: ['released', 1, 1, token!, token!.length - 14, ',"attempts":1}', 300], limit: 1 });
    expect(await hints()).toBe(1);
  });

  it('leaves no hint for it if the caller will wait itself', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve();
    await world.exchange({ outcomes: ['released', 1, 1, token!, token!.length - 14, ',"attempts":1}', 300], limit: 1 });
    expect(await hints()).toBe(0);
  });

  it('leaves a hint for a job released with a delay to a queue that the caller does not look at', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve();
    const outcomes = ['released', 2, 1, token!, token!.length - 14, ',"attempts":1}', 300];
    await world.exchange({ queues: ['other', 'q'], sources: 1, outcomes, limit: 1 });
    expect(await hints()).toBe(1);
  });

  it('leaves a hint after promoting jobs for other callers', async () => {
    await world.push(probes(2), { queue: 'high' });
    await world.client.zadd(world.queue('low').delayed, 1, probe('low'));
    await world.exchange({ queues: ['high', 'low'], limit: 1 });
    expect(await hints('low')).toBe(1);
  });

  it('returns when the first delayed job of all the queues becomes ready', async () => {
    await world.pushLater([['any', 300, probe('a')]]);
    const { nextIn } = await world.exchange({ queues: ['other', 'q'], limit: 1 });
    expect(Math.round(nextIn / 100)).toBe(3);
  });

  it('returns when the first lease ends, if that is sooner', async () => {
    await world.pushLater([['any', 900, probe('a')]]);
    await world.push([probe('b')]);
    const { nextIn } = await world.exchange({ limit: 2, lease: 300 });
    expect(Math.round(nextIn / 100)).toBe(3);
  });

  it('tells the caller to look at once if a queue that it did not reach has jobs', async () => {
    await world.push([probe('a')], { queue: 'high' });
    await world.push([probe('b')], { queue: 'low' });
    expect((await world.exchange({ queues: ['high', 'low'], limit: 1 })).nextIn).toBe(0);
  });
});
