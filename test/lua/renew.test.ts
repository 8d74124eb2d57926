import { probe, probes, ScriptWorld } from './script-world';

describe('renew.lua', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const renew = (...args: (string | number)[]): Promise<unknown[]> =>
    world.run('renew', [world.queue().reserved, world.queue().cancelled], args);

  it('renews leases and leaves the payloads unchanged', async () => {
    await world.push(probes(2));
    const tokens = await world.reserve(2, 300);
    world.offset = 200;
    expect(await renew(500, ...tokens)).toEqual(['renewed', [], []]);
    expect((await world.state())['q:reserved']).toEqual(tokens.map((token) => [token, 700]));
  });

  it('reports a missing job as lost and does not bring it back', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve(1, 300);
    expect(await renew(500, probe('a'), token!, probe('a', 2))).toEqual(['renewed', [1, 3], []]);
    expect(await world.state()).toEqual({ 'q:reserved': [[token, 500]] });
  });

  it('renews a lease that has ended but was not reclaimed', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve(1, 100);
    world.offset = 500;
    expect(await renew(300, token!)).toEqual(['renewed', [], []]);
    expect((await world.exchange({ limit: 1 })).jobs).toEqual([]);
  });

  it('reports which of the renewed jobs were cancelled', async () => {
    await world.push(probes(3));
    const tokens = await world.reserve(3, 300);
    await world.mark('p0', 'p2');
    expect(await renew(500, probe('p0', 7), ...tokens)).toEqual(['renewed', [1], [2, 4]]);
    expect((await world.state())['q:reserved']).toEqual(tokens.map((token) => [token, 500]));
  });

  it('can be repeated', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve(1, 100);
    await renew(300, token!);
    const before = await world.state();
    expect(await renew(300, token!)).toEqual(['renewed', [], []]);
    expect(await world.state()).toEqual(before);
  });

  it('writes nothing for an empty list', async () => {
    expect(await renew(300)).toEqual(['renewed', [], []]);
    expect(await world.state()).toEqual({});
  });

  it('uses a score that no other job has, because a repeated reserve finds its jobs by the score', async () => {
    world.frozen = true;
    await world.push([probe('a'), probe('b')]);
    const [token] = await world.reserve();
    const call = { limit: 1, lease: 900, client: 'other', sequence: 1e6 };
    const first = await world.exchange(call);
    await renew(900, token!);
    expect(await world.exchange(call)).toEqual(first);
  });
});
