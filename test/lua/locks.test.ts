import { ScriptWorld } from './script-world';

describe('the scripts of locks', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const ask = (verb: 'acquire' | 'renew', token: string, ttl = 60_000): Promise<unknown[]> =>
    world.run(`lock-${verb}`, [world.keys.lock('report')], [token, ttl]);
  const release = (token: string, id = 'once'): Promise<unknown[]> =>
    world.run('lock-release', [world.keys.lock('report'), world.keys.released('report', id)], [token]);
  const left = (): Promise<number> => world.client.pttl(world.keys.lock('report'));

  it('lock-acquire.lua takes a free lock for a time', async () => {
    expect(await ask('acquire', 'mine')).toEqual(['acquired']);
    expect(await world.whole()).toEqual({ ':lock:report': 'mine' });
    expect(await left()).toBeGreaterThan(30_000);
  });

  it('lock-acquire.lua refuses a lock that another owner holds and leaves it unchanged', async () => {
    await ask('acquire', 'mine');
    expect(await ask('acquire', 'yours', 900_000)).toEqual(['held']);
    expect(await world.whole()).toEqual({ ':lock:report': 'mine' });
    expect(await left()).toBeLessThanOrEqual(60_000);
  });

  it('lock-acquire.lua acquires again for its owner, as after a lost reply', async () => {
    await ask('acquire', 'mine');
    expect(await ask('acquire', 'mine', 900_000)).toEqual(['acquired']);
    expect(await left()).toBeGreaterThan(600_000);
  });

  it('lock-renew.lua renews only for the owner', async () => {
    await ask('acquire', 'mine');
    expect(await ask('renew', 'yours', 900_000)).toEqual(['lost']);
    expect(await left()).toBeLessThanOrEqual(60_000);
    expect(await ask('renew', 'mine', 900_000)).toEqual(['renewed']);
    expect(await left()).toBeGreaterThan(600_000);
  });

  it('lock-renew.lua does not create a lock', async () => {
    expect(await ask('renew', 'mine')).toEqual(['lost']);
    expect(await world.whole()).toEqual({});
  });

  it('lock-release.lua releases once, and only for the owner', async () => {
    await ask('acquire', 'mine');
    expect(await release('yours')).toEqual(['lost']);
    expect(await world.whole()).toEqual({ ':lock:report': 'mine' });
    expect(await release('mine', 'first')).toEqual(['released']);
    expect(await release('mine', 'second')).toEqual(['lost']);
    expect(await world.whole()).toEqual({ ':lock:report:released:first': '1' });
  });

  it('lock-release.lua gives a repeat the same answer, even if another owner has the lock by then', async () => {
    await ask('acquire', 'mine');
    await release('mine', 'first');
    await ask('acquire', 'yours');
    expect(await release('mine', 'first')).toEqual(['released']);
    expect(await world.client.get(world.keys.lock('report'))).toBe('yours');
    expect(await world.client.ttl(world.keys.released('report', 'first'))).toBeGreaterThan(30);
  });
});
