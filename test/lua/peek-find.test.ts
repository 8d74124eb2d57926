import { probe, probes, ScriptWorld, tiedProbe } from './script-world';

const MEGABYTE = 1024 * 1024;

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterAll(() => world.stop());

const peek = (state: 'ready' | 'delayed' | 'reserved', from = 0, limit = 100): Promise<unknown[]> =>
  world.run('peek', [world.queue()[state]], [state, from, limit]);
const find = (id: string, from = 0): Promise<unknown[]> => {
  const { ready, delayed, reserved, held } = world.queue();
  return world.run('find', [ready, delayed, reserved, held], [id, from]);
};
const rounded = (scores: unknown): number[] => (scores as string[]).map((score) => Math.round(Number(score) % 1000));

describe('peek.lua', () => {
  it('shows nothing of a missing queue', async () => {
    for (const state of ['ready', 'delayed', 'reserved'] as const) {
      expect(await peek(state)).toEqual(['peeked', -1, [], []]);
    }
    expect(await world.whole()).toEqual({});
  });

  it('shows ready jobs from a place on and changes nothing', async () => {
    await world.push(probes(25));
    const before = await world.whole();
    expect(await peek('ready', 0, 2)).toEqual(['peeked', 2, [probe('p0'), probe('p1')], []]);
    expect((await peek('ready', 2, 12))[2]).toEqual(probes(25).slice(2, 14));
    expect(await peek('ready', 23)).toEqual(['peeked', -1, [probe('p23'), probe('p24')], []]);
    expect(await peek('ready', 30)).toEqual(['peeked', -1, [], []]);
    expect(await world.whole()).toEqual(before);
  });

  it('shows delayed and reserved jobs in the order of their times, with these times', async () => {
    const [seconds] = await world.client.time();
    const base = Math.ceil(Number(seconds) / 1000) * 1000 + 1000;
    for (const state of ['delayed', 'reserved'] as const) {
      await world.client.zadd(world.queue()[state], base + 7, probe('b'), base + 3, probe('a'), base + 9, probe('c'));
      const [, next, payloads, scores] = await peek(state, 0, 2);
      expect([next, payloads, rounded(scores)]).toEqual([2, [probe('a'), probe('b')], [3, 7]]);
      expect((await peek(state, 2))[2]).toEqual([probe('c')]);
    }
  });

  it('shows up to a hundred jobs or 1 MiB, but always at least one', async () => {
    await world.push(probes(120));
    const [, next, payloads] = await peek('ready', 5, 1000);
    expect([next, payloads]).toEqual([105, probes(120).slice(5, 105)]);

    const { delayed } = world.queue();
    const long = (letter: string): string => letter.repeat(MEGABYTE + 1);
    await world.client.zadd(delayed, 1, long('a'), 2, long('b'), 3, 'c'.repeat(MEGABYTE / 2), 4, 'd', 5, long('e'));
    expect((await peek('delayed')).slice(0, 3)).toEqual(['peeked', 1, [long('a')]]);
    expect((await peek('delayed', 1)).slice(0, 3)).toEqual(['peeked', 2, [long('b')]]);
    expect((await peek('delayed', 2))[1]).toBe(4);
  });

  it.each([
    ['LRANGE', 'ready'],
    ['ZRANGE', 'delayed'],
  ] as const)('reads long jobs only to show them, with %s of those that are %s', async (command, state) => {
    const long = (id: string): string => probe(id).replace('{}', `"${'x'.repeat(900_000)}"`);
    await world.push(['a', 'b', 'c'].map(long));
    await world.pushLater(['a', 'b', 'c'].map((id) => ['any', 100, long(id)] as const));

    const read = await world.commandsOf(() => peek(state, 1));

    expect(read.filter(([name]) => name === command)).toEqual([[command, world.queue()[state], '1', '1']]);
  });

  it('reports a key of another type', async () => {
    await world.client.set(world.queue().ready, 'nothing of ours');
    await expect(peek('ready')).rejects.toThrow('WRONGTYPE');
    await expect(find('a')).rejects.toThrow('WRONGTYPE');
  });
});

describe('find.lua', () => {
  it('finds a job in each of its states and changes nothing', async () => {
    await world.push([probe('running'), probe('ready'), tiedProbe('tied')]);
    const [token] = await world.reserve();
    await world.pushLater([['any', 300, probe('later')]]);
    const before = await world.whole();

    expect(await find('ready')).toEqual(['found', 'ready', probe('ready')]);
    expect(await find('tied')).toEqual(['found', 'ready', tiedProbe('tied')]);
    expect((await find('running')).slice(0, 3)).toEqual(['found', 'reserved', token]);
    const [, state, payload, score] = await find('later');
    expect([state, payload]).toEqual(['delayed', probe('later')]);
    expect(score).toBe(await world.client.zscore(world.queue().delayed, probe('later')));
    expect(await find('nobody')).toEqual(['unknown']);
    expect(await world.whole()).toEqual(before);
  });

  it('is not misled by an id elsewhere in a payload', async () => {
    await world.push([`{"job":"probe","data":{"id":"a"},"id":"b","attempts":0}`, 'a, no JSON']);
    expect(await find('a')).toEqual(['unknown']);
  });

  it('examines both ends of the ready jobs and reports that it has not seen all', async () => {
    await world.push(probes(250));
    for (const id of ['p0', 'p99', 'p150', 'p249']) expect(await find(id)).toEqual(['found', 'ready', probe(id)]);
    for (const id of ['p100', 'p149', 'nobody']) expect(await find(id)).toEqual(['unseen', 100, 0]);
  });

  it.each(['delayed', 'reserved'] as const)('looks at the first of those that are %s', async (state) => {
    await world.client.zadd(world.queue()[state], ...probes(150).flatMap((text, at) => [String(at + 1), text]));
    expect(await find('p99')).toEqual(['found', state, probe('p99'), '100']);
    expect(await find('p100')).toEqual(['unseen', 0, 1]);
  });

  it('searches deeper in pages, from a place on and a little before it', async () => {
    await world.push(probes(450));
    const before = await world.whole();
    expect(await find('p349', 100)).toEqual(['found', 'ready', probe('p349')]);
    expect(await find('p359', 100)).toEqual(['found', 'ready', probe('p359')]);
    expect(await find('p100', 100)).toEqual(['unseen', 190, 0]);
    expect(await find('p100', 190)).toEqual(['unseen', 280, 0]);
    expect(await find('p100', 280)).toEqual(['found', 'ready', probe('p100')]);
    expect(await find('nobody', 400)).toEqual(['unknown']);
    expect(await world.whole()).toEqual(before);
  });

  it('examines all jobs if they are few', async () => {
    await world.push(probes(200));
    expect(await find('nobody')).toEqual(['unknown']);
  });
});
