import { type Argument, keyIn, probe, ScriptWorld, tiedProbe } from './script-world';

const META = '{"name":"Probe","exception":"Error: no"}';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterEach(() => world.client.config('SET', 'maxmemory', '0'));
afterAll(() => world.stop());

const reserved = async (...ids: string[]): Promise<string[]> => {
  await world.push(ids.map((id) => probe(id)));
  return world.reserve(ids.length);
};
const next = (queue: number, ...entries: readonly (readonly [delay: number | string, id: string])[]): Argument[] => [
  ...['next', queue, entries.length],
  ...entries.flatMap(([delay, id]) => [delay, probe(id)]),
];
const completed = (token: string): Argument[] => ['completed', 1, 1, token];
const failed = (token: string, id: string): Argument[] => [
  ...['failed', 1, 1, token, token.indexOf(',"attempts"'), ',"attempts":1}', id, META],
];
const settle = (...outcomes: readonly Argument[][]): ReturnType<ScriptWorld['exchange']> =>
  world.exchange({ queues: ['q', 'r'], sources: 0, outcomes: outcomes.flat() });

describe('exchange.lua, with jobs that follow an outcome', () => {
  it('pushes the jobs that follow a success to their queues, and leaves a hint in each', async () => {
    const [a] = await reserved('a');
    const { lost } = await settle(next(2, [0, 'b'], [0, 'c']), next(1, [0, 'd']), completed(a!));
    expect(lost).toEqual([]);
    const hint = ['1'];
    expect(await world.state()).toEqual({
      ...{ q: [probe('d')], 'q:notify': hint },
      ...{ r: [probe('b'), probe('c')], 'r:notify': hint },
    });
  });

  it('delays following jobs for seconds or until a time, and makes them ready if the time has passed', async () => {
    const [a] = await reserved('a');
    const [now] = await world.client.time();
    await settle(next(2, [300, 'b'], [`@${Number(now) + 700}`, 'c'], [`@${Number(now) - 1}`, 'd']), completed(a!));
    expect(await world.state()).toEqual({
      r: [probe('d')],
      'r:delayed': [
        [probe('b'), 300],
        [probe('c'), 700],
      ],
      'r:notify': ['1'],
    });
  });

  it('keeps the order of following jobs with equal delays, even of several outcomes', async () => {
    const [a, b] = await reserved('a', 'b');
    await settle(next(2, [300, 'z'], [300, 'y']), completed(a!), next(2, [300, 'x']), completed(b!));
    expect(await world.client.zrange(world.queue('r').delayed, '0', '-1')).toEqual([
      probe('z'),
      probe('y'),
      probe('x'),
    ]);
  });

  it('leaves a hint if a following job becomes due before all others', async () => {
    const [a] = await reserved('a');
    await settle(next(2, [300, 'b']), completed(a!));
    expect(await world.state()).toEqual({ 'r:delayed': [[probe('b'), 300]], 'r:notify': ['1'] });
  });

  it('leaves no hint for a following job that waits behind others', async () => {
    await world.pushLater([['any', 100, probe('first')]]);
    const [a] = await reserved('a');
    await world.client.del(world.queue().notify);
    await settle(next(1, [300, 'b']), completed(a!));
    expect(Object.keys(await world.state())).toEqual(['q:delayed']);
  });

  it('pushes the jobs that follow a failure and keeps the failed job', async () => {
    const [a] = await reserved('a');
    await settle(next(2, [0, 'b']), failed(a!, 'a'));
    expect(await world.state()).toEqual({
      'q:failed': [['a', 0]],
      'q:failed:jobs': { a: `${META}\n${probe('a', 1)}` },
      r: [probe('b')],
      'r:notify': ['1'],
    });
  });

  it('pushes the following jobs of each outcome, and none of a lost one', async () => {
    const [a, b, c] = await reserved('a', 'b', 'c');
    const { lost } = await settle(
      ...[next(2, [0, 'a2']), ['completed', 1, 2, a!, b!] as Argument[]],
      ...[next(2, [0, 'never'], [60, 'never']), completed(a!), next(2, [0, 'never']), failed(b!, 'b')],
      ...[next(2, [0, 'c2']), failed(c!, 'c')],
    );
    expect(lost).toEqual([3, 4]);
    expect(await world.state()).toEqual({
      'q:failed': [['c', 0]],
      'q:failed:jobs': { c: `${META}\n${probe('c', 1)}` },
      r: [probe('a2'), probe('c2')],
      'r:notify': ['1'],
    });
  });

  it('leaves the keyspace unchanged if the outcome is lost', async () => {
    await reserved('a');
    const before = await world.state();
    await settle(next(1, [0, 'b'], [60, 'c']), next(2, [0, 'd']), completed(probe('a', 7)));
    expect(await world.state()).toEqual(before);
  });

  it('writes nothing again when the reply was lost', async () => {
    const [a, b] = await reserved('a', 'b');
    const outcomes = [next(2, [0, 'a2']), completed(a!), next(2, [60, 'b2']), failed(b!, 'b')].flat();
    const call = { queues: ['q', 'r'], sources: 0, outcomes, sequence: 1e6 };
    await world.exchange(call);
    const before = await world.whole();
    await world.exchange(call);
    expect(await world.whole()).toEqual(before);
  });

  it('removes the mark of a cancelled job that ends with following jobs', async () => {
    const [a] = await reserved('a');
    await world.mark('a');
    await settle(next(1, [0, 'b']), completed(a!));
    expect(await world.marks()).toEqual([]);
  });

  it('gives a following job an id of its own if an equal job waits already', async () => {
    await world.pushLater([['any', 300, probe('b')]]);
    const [a] = await reserved('a');
    const outcomes = [next(1, [300, 'b'], [300, 'b']), completed(a!)].flat();
    await world.exchange({ outcomes, sequence: 1e6 });
    const twin = (n: number): string => `{"job":"probe","data":{},"id":"b","id":"worker-1000000-${n}","attempts":0}`;
    expect((await world.state())['q:delayed']).toEqual([
      [probe('b'), 300],
      [twin(1), 300],
      [twin(2), 300],
    ]);
  });
});

describe('exchange.lua, with jobs each followed by one ready job in the same queue', () => {
  const goOn = (...links: readonly (readonly [token: string, id: string])[]): Argument[] => [
    ...['completed+next', 1, links.length],
    ...links.flatMap(([token, id]) => [token, probe(id)]),
  ];

  it('pushes the following jobs to the tail, in their order, and leaves a hint', async () => {
    const [a, b] = await reserved('a', 'b');
    await world.push([probe('waits')]);
    await world.client.del(world.queue().notify);
    expect((await settle(goOn([b!, 'b2'], [a!, 'a2']))).lost).toEqual([]);
    expect(await world.state()).toEqual({ q: [probe('waits'), probe('b2'), probe('a2')], 'q:notify': ['1'] });
  });

  it('pushes each following job once, and none of a lost outcome', async () => {
    const [a, b] = await reserved('a', 'b');
    const { lost } = await settle(
      ...[goOn([probe('gone', 1), 'never'], [a!, 'a2'], [a!, 'never']), completed(b!)],
      goOn([b!, 'never']),
    );
    expect(lost).toEqual([1, 3, 5]);
    expect(await world.state()).toEqual({ q: [probe('a2')], 'q:notify': ['1'] });
  });

  it('leaves the keyspace unchanged if all are lost', async () => {
    await reserved('a');
    await world.push([probe('never'), probe('waits')]);
    const before = await world.state();
    expect((await settle(goOn([probe('a', 7), 'never'], [probe('b', 1), 'never']))).lost).toEqual([1, 2]);
    expect(await world.state()).toEqual(before);
  });

  it('writes nothing again when the reply was lost', async () => {
    const [a] = await reserved('a');
    const call = { outcomes: goOn([a!, 'a2']), sequence: 1e6 };
    await world.exchange(call);
    const before = await world.whole();
    await world.exchange(call);
    expect(await world.whole()).toEqual(before);
  });

  it('searches no long list of hints, as Laravel leaves one for each job', async () => {
    const [a] = await reserved('a');
    const { ready, notify, client } = world.queue();
    const sequence = 2e6;
    const sought = `${client('worker')}\n${sequence}`;
    await world.client.rpush(notify, ...Array.from({ length: 1000 }, () => '1'), sought);
    await world.exchange({ sources: 0, outcomes: goOn([a!, 'a2']), sequence });
    expect(await world.client.lrange(notify, -1, -1)).toEqual([sought]);
    expect(await world.client.lrange(ready, 0, -1)).toEqual([probe('a2')]);
  });

  it('frees the unique keys of ended jobs', async () => {
    const [a, b] = [tiedProbe('a'), tiedProbe('b')];
    await world.push([a, b]);
    const [held] = await world.reserve();
    await world.client.hset(world.queue().unique, keyIn(b)[0], '0 other');
    const lost = tiedProbe('b', { attempts: 1 });
    const outcomes = [held!, probe('a2'), ...keyIn(a), lost, probe('never'), ...keyIn(b)];
    expect((await settle(['completed+next+unique', 1, 2, ...outcomes])).lost).toEqual([2]);
    expect(await world.state()).toEqual({
      ':unique': { [keyIn(b)[0]]: '0 other' },
      q: [b, probe('a2')],
      'q:notify': ['1'],
    });
  });

  it('removes the marks of cancelled jobs', async () => {
    const [a] = await reserved('a');
    await world.mark('a');
    await settle(goOn([a!, 'a2']));
    expect(await world.marks()).toEqual([]);
  });

  it('leaves them all unsettled if their queue is a foreign key, and settles others', async () => {
    const [a, b, c] = await reserved('a', 'b', 'c');
    await world.client.set(world.queue().ready, 'nothing of ours');
    const words = expect.stringContaining('WRONGTYPE') as string;
    const { news } = await settle(goOn([a!, 'a2'], [b!, 'b2']), completed(c!));
    expect(news).toEqual(['unsettled', [words, 1, 2]]);
    await world.client.del(world.queue().ready);
    expect((await settle(goOn([a!, 'a2'], [b!, 'b2']))).lost).toEqual([]);
    expect((await world.state())['q']).toEqual([probe('a2'), probe('b2')]);
  });

  it.each(['rpush', 'zrem'])('writes nothing if the permission for %s is missing', async (command) => {
    const [a] = await reserved('a');
    const before = await world.state();
    await world.client.call('acl', 'setuser', 'default', `-${command}`);
    await expect(settle(goOn([a!, 'a2']))).rejects.toThrow(/can't run|ACL/);
    await world.client.call('acl', 'setuser', 'default', `+${command}`);
    expect(await world.state()).toEqual(before);
  });

  it('works on a full server, because each following job replaces another', async () => {
    const [a] = await reserved('a');
    await world.client.config('SET', 'maxmemory', '1');
    expect((await settle(goOn([a!, 'a2']))).news).toEqual([]);
    expect(Object.keys(await world.state())).toEqual(['q', 'q:notify']);
  });
});

describe('exchange.lua, if a following job is refused', () => {
  it.each([
    ['ready', next(1, [0, 'b']), next(2, [0, 'c'])],
    ['delayed', next(1, [0, 'b'], [60, 'd']), next(2, [60, 'c'])],
  ] as const)(
    'writes nothing of the outcome but all others, however often it is tried (%s)',
    async (key, mine, its) => {
      const [a, b, c] = await reserved('a', 'b', 'c');
      await world.client.set(world.queue('r')[key], 'nothing of ours');
      const attempt = (): ReturnType<typeof settle> =>
        settle([...mine], [...its], completed(a!), [...mine], [...its], failed(b!, 'b'), completed(c!));
      const words = expect.stringContaining('WRONGTYPE') as string;
      expect((await attempt()).news).toEqual(['unsettled', [words, 1, 2]]);
      expect((await attempt()).news).toEqual(['unsettled', [words, 1, 2]]);
      expect(await world.state()).toEqual({
        'q:reserved': [
          [a, 600],
          [b, 600],
        ],
        [`r${key === 'ready' ? '' : ':delayed'}`]: 'nothing of ours',
      });

      await world.client.del(world.queue('r')[key]);
      expect((await attempt()).lost).toEqual([3]);
      expect(await world.client.lrange(world.queue().ready, 0, -1)).toEqual([probe('b'), probe('b')]);
      expect(await world.client.zcard(world.queue().failed)).toBe(1);
    },
  );

  it('keeps no failed job if the permission to push its following jobs is missing', async () => {
    await world.push([probe('b')]);
    const [kept] = await world.reserve();
    await settle(failed(kept!, 'b'));
    const [b] = await reserved('b');
    const before = await world.state();
    await world.client.call('acl', 'setuser', 'default', '-rpush');
    for (let repeat = 0; repeat < 3; repeat += 1) {
      await expect(settle(next(2, [0, 'c'], [60, 'd']), failed(b!, 'b'))).rejects.toThrow(/rpush|can't run/);
    }
    await world.client.call('acl', 'setuser', 'default', '+rpush');
    expect(await world.state()).toEqual(before);
  });

  it('works on a full server, because a following job replaces another', async () => {
    const [a] = await reserved('a');
    await world.client.config('SET', 'maxmemory', '1');
    expect((await settle(next(2, [0, 'b'], [60, 'c']), completed(a!))).news).toEqual([]);
    expect(Object.keys(await world.state())).toEqual(['r', 'r:delayed', 'r:notify']);
  });

  it('leaves the job unchanged and no record on a replica, because another server may carry the call out', async () => {
    const [a] = await reserved('a');
    const before = await world.whole();
    await world.client.call('replicaof', '127.0.0.1', '1');
    await expect(settle(next(2, [0, 'b']), completed(a!))).rejects.toThrow('READONLY');
    await world.client.call('replicaof', 'no', 'one');
    expect(await world.whole()).toEqual(before);
  });
});
