import { probe, ScriptWorld } from './script-world';

describe('the scripts of pauses', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const pause = async (name = 'q', sequence = world.nextSequence()): Promise<unknown> => {
    const { client, control, ready } = world.queue(name);
    return (await world.run('pause', [client('chief'), control, ready], [sequence, name]))[0];
  };
  const resume = async (name = 'q', sequence = world.nextSequence()): Promise<unknown> => {
    const { client, control, ready, delayed, notify } = world.queue(name);
    return (await world.run('resume', [client('chief'), control, ready, delayed, notify], [sequence]))[0];
  };
  const paused = (...names: string[]): object => ({
    ':control': Object.fromEntries(names.map((name) => [`paused:${world.queue(name).ready}`, name])),
  });

  it('pause one queue and no other, and report it', async () => {
    expect(await pause('q')).toBe('paused');
    expect(await pause('r')).toBe('paused');
    expect(await world.state()).toEqual(paused('q', 'r'));
    expect(await resume('q')).toBe('resumed');
    expect(await world.state()).toEqual(paused('r'));
    expect(await resume('r')).toBe('resumed');
    expect(await world.state()).toEqual({});
  });

  it('change nothing if the queue is already as requested, and report it', async () => {
    expect(await resume()).toBe('unchanged');
    expect(await world.whole()).toEqual({});
    await pause();
    const before = await world.whole();
    expect(await pause()).toBe('unchanged');
    expect(await world.whole()).toEqual(before);
  });

  it.each([
    ['ready', () => world.push([probe('a')])],
    ['delayed', () => world.pushLater([['any', 300, probe('a')]])],
  ])('leave a hint when a queue with %s jobs is resumed', async (_, given) => {
    await given();
    await world.client.del(world.queue().notify);
    await pause();
    await resume();
    expect((await world.state())['q:notify']).toEqual(['1']);
  });

  it('leave an order to restart unchanged', async () => {
    await world.client.hset(world.queue().control, 'restart', 'token');
    await pause();
    await resume();
    expect(await world.state()).toEqual({ ':control': { restart: 'token' } });
  });

  it.each([
    ['pause', [pause], 'paused'],
    ['resume', [pause, resume], 'resumed'],
  ])('repeat the answer of a %s whose reply was lost', async (_, orders, word) => {
    for (const order of orders.slice(0, -1)) await order('q', 1e6 - 1);
    const last = orders.at(-1)!;
    expect(await last('q', 1e6)).toBe(word);
    const before = await world.whole();
    expect(await last('q', 1e6)).toBe(word);
    expect(await world.whole()).toEqual(before);
  });

  it.each([
    ['pause', pause],
    ['resume', resume],
  ])('refuse a %s that is older than one they have carried out', async (_, order) => {
    await pause('q', 1e6);
    const before = await world.whole();
    expect(await order('q', 1e6 - 1)).toBe('stale');
    expect(await world.whole()).toEqual(before);
  });

  it('remove what is left of pauses that are over, and nothing else', async () => {
    const { control } = world.queue();
    const pauseFor = async (name: string, seconds: number): Promise<unknown> => {
      const { client, ready } = world.queue(name);
      return world.run('pause', [client('chief'), control, ready], [world.nextSequence(), name, seconds]);
    };
    const tidy = async (...names: string[]): Promise<unknown> =>
      (
        await world.run(
          'tidy-pauses',
          [control],
          names.map((name) => world.queue(name).ready),
        )
      )[0];
    await world.client.hset(control, 'restart', 'token');
    for (const name of ['over', 'unasked']) await pauseFor(name, 100);
    await pauseFor('lasting', 300);
    await pause('ever');
    world.offset = 200;

    expect(await tidy('over', 'lasting', 'ever', 'never')).toBe('tidied');
    expect(await tidy('over')).toBe('tidied');

    const of = (name: string, ...kinds: string[]): string[] =>
      kinds.map((kind) => `${kind}:${world.queue(name).ready}`);
    expect(Object.keys(await world.client.hgetall(control)).toSorted()).toEqual(
      [
        'restart',
        ...of('unasked', 'paused', 'until'),
        ...of('lasting', 'paused', 'until'),
        ...of('ever', 'paused'),
      ].toSorted(),
    );
  });
});
