import { probe, probes, ScriptWorld } from './script-world';

const DAY = 24 * 3600;
const MEGABYTE = 1024 * 1024;

describe('cancel.lua', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const cancel = async (
    id: string,
    {
      way = 'mark',
      reason = '',
      sequence = world.nextSequence(),
    }: { way?: 'look' | 'mark'; reason?: string; sequence?: number } = {},
  ): Promise<unknown> => {
    const { client, ready, delayed, reserved, cancelled, reasons, unique, batches, cancelledBatches, notify } =
      world.queue();
    const keys = [client('canceller'), ready, delayed, reserved, cancelled, reasons, unique, batches, cancelledBatches];
    keys.push(...world.laneKeys, notify);
    const [word] = await world.run('cancel', keys, [sequence, id, way, reason, 0]);
    return word;
  };
  const fill = (key: string, texts: readonly string[]): Promise<unknown> =>
    world.client.zadd(key, ...texts.flatMap((text, at) => [String(1e10 + at), text]));

  it('removes a ready job and leaves the others in their order', async () => {
    await world.push(probes(3));
    expect(await cancel('p1')).toBe('removed');
    expect(await world.state()).toEqual({ q: [probe('p0'), probe('p2')], 'q:notify': ['1'] });
  });

  it('removes one of two equal jobs', async () => {
    await world.push([probe('a'), probe('b'), probe('a')]);
    expect(await cancel('a')).toBe('removed');
    expect((await world.state())['q']).toEqual([probe('b'), probe('a')]);
  });

  it('removes a delayed job', async () => {
    await world.pushLater([
      ['any', 300, probe('a')],
      ['any', 500, probe('b')],
    ]);
    expect(await cancel('a')).toBe('removed');
    expect(await world.state()).toEqual({ 'q:delayed': [[probe('b'), 500]], 'q:notify': ['1'] });
  });

  it('marks a reserved job for thirty days', async () => {
    await world.push([probe('a')]);
    const [token] = await world.reserve();
    expect(await cancel('a')).toBe('signalled');
    expect(await world.state()).toEqual({ 'q:reserved': [[token, 600]], ':cancelled': [['a', 30 * DAY]] });
  });

  it('reports an id that no job has as its own as unknown, and writes nothing', async () => {
    await world.push([
      '{"data":{"id":"inner"},"note":"\\"id\\":\\"quoted\\"","id":"a","attempts":0}',
      '[]',
      'outer',
      '{"n":1}',
    ]);
    const before = await world.whole();
    expect(await Promise.all(['inner', 'quoted', 'outer', 'n', ''].map((id) => cancel(id)))).toEqual(
      Array.from({ length: 5 }, () => 'unknown'),
    );
    expect(await world.whole()).toEqual(before);
  });

  it.each([
    ['before other fields', '{"id":"the id","data":{},"attempts":0}', 'the id'],
    [
      'before counters of all kinds',
      '{"id":"a","crashes":1,"exceptions":2,"timeouts":1,"releases":3,"attempts":4}',
      'a',
    ],
    ['in a text without counters', '{"data":{},"id":"a"}', 'a'],
    ['of a hundred characters', `{"id":"${'x'.repeat(100)}","attempts":0}`, 'x'.repeat(100)],
    ['with escapes', '{"id":"\\u00e9\\/","attempts":0}', 'é/'],
    ['that is given twice', '{"id":"first","data":{},"id":"a","attempts":0}', 'a'],
  ])('finds an id %s', async (_, text, id) => {
    await world.push([text]);
    expect(await cancel(id)).toBe('removed');
  });

  it('does not use the first of two ids in a payload', async () => {
    await world.push(['{"id":"first","data":{},"id":"a","attempts":0}']);
    expect(await cancel('first')).toBe('unknown');
  });

  it.each([
    ['the hundredth', 99],
    ['the last', 499],
    ['the hundredth from the end', 400],
  ])('finds %s of five hundred ready jobs', async (_, place) => {
    await world.client.rpush(world.queue().ready, ...probes(500));
    expect(await cancel(`p${place}`)).toBe('removed');
    expect(await world.client.lrange(world.queue().ready, 0, -1)).toEqual(probes(500).toSpliced(place, 1));
  });

  it('examines all of two hundred ready jobs', async () => {
    await world.client.rpush(world.queue().ready, ...probes(200));
    expect(await cancel('nobody')).toBe('unknown');
  });

  it.each([
    ['ready', () => world.client.rpush(world.queue().ready, ...probes(500)), 'p250'],
    ['delayed', () => fill(world.queue().delayed, probes(101)), 'p100'],
    ['reserved', () => fill(world.queue().reserved, probes(101)), 'p100'],
  ])('marks an id that it does not find among many %s jobs, and moves nothing', async (_, given, id) => {
    await given();
    const before = await world.whole();
    expect(await cancel(id, { way: 'look' })).toBe('unseen');
    expect(await world.whole()).toEqual(before);
    expect(await cancel(id)).toBe('marked');
    const { ':cancelled': marks, ...rest } = await world.whole();
    expect([marks, rest]).toEqual([[[id, expect.any(Number)]], before]);
  });

  describe('searching', () => {
    const search = async (id: string, from: number): Promise<unknown[]> => {
      const { client, ready, delayed, reserved, cancelled, reasons, unique, batches, cancelledBatches, notify } =
        world.queue();
      const keys = [
        client('canceller'),
        ready,
        delayed,
        reserved,
        cancelled,
        reasons,
        unique,
        batches,
        cancelledBatches,
        ...world.laneKeys,
        notify,
      ];
      return world.run('cancel', keys, [world.nextSequence(), id, 'search', '', from]);
    };

    it('continues by a hundred jobs from the tail, and examines the previous ten once more', async () => {
      await world.client.rpush(world.queue().ready, ...probes(300));
      expect(await search('p0', 100)).toEqual(['unseen', 190]);
      expect(await search('p0', 190)).toEqual(['unseen', 280]);
      expect(await search('p205', 100)).toEqual(['removed', probe('p205')]);
      expect(await search('nobody', 279)).toEqual(['unknown']);
    });

    it('finds a job that has moved towards the tail because jobs behind it were removed', async () => {
      await world.client.rpush(world.queue().ready, ...probes(300));
      await world.client.ltrim(world.queue().ready, 0, -11);
      expect(await search('p199', 100)).toEqual(['removed', probe('p199')]);
    });

    it('removes the mark of the job, and searches only ready jobs', async () => {
      await world.push(probes(3));
      await world.pushLater([['any', 100, probe('later')]]);
      await world.mark('p0');
      expect(await search('later', 0)).toEqual(['unknown']);
      expect(await search('p0', 2)).toEqual(['removed', probe('p0')]);
      expect(await world.marks()).toEqual([]);
    });

    it('skips no job if payloads are long', async () => {
      const long = (id: string): string => probe(id).replace('{}', `"${'x'.repeat(0.6 * MEGABYTE)}"`);
      await world.push(['a', 'b', 'c'].map(long));
      expect(await search('a', 1)).toEqual(['unseen', 2]);
      expect(await search('b', 1)).toEqual(['removed', long('b')]);
    });
  });

  it('examines 1 MiB of each list at most', async () => {
    const long = (id: string): string => probe(id).replace('{}', `"${'x'.repeat(0.6 * MEGABYTE)}"`);
    await world.push(['a', 'b', 'c'].map(long));
    expect(await cancel('b')).toBe('marked');
    expect(await cancel('c')).toBe('removed');
  });

  it('keeps a mark for thirty days longer than the longest delay in the queue', async () => {
    await world.push([probe('a')]);
    await world.reserve();
    await world.pushLater([['any', 90 * DAY, probe('b')]]);
    await cancel('a');
    expect((await world.state())[':cancelled']).toEqual([['a', 120 * DAY]]);
    expect(await world.client.ttl(world.queue().cancelled)).toBeGreaterThan(119 * DAY);
  });

  it('removes a hundred expired marks, and no others', async () => {
    const over = probes(150).flatMap((text, at) => [String(at + 1), text]);
    await world.client.zadd(world.queue().cancelled, ...over);
    await world.mark('new');
    await cancel('nobody');
    expect(await world.client.zcard(world.queue().cancelled)).toBe(51);
    await cancel('nobody');
    expect(await world.marks()).toEqual(['new']);
  });

  it('removes the mark together with the job', async () => {
    await world.push([probe('a')]);
    await world.reserve();
    await cancel('a');
    await world.exchange({
      outcomes: ['released', 1, 1, probe('a', 1), probe('a').indexOf(',"attempts"'), ',"attempts":1}', 0],
    });
    expect(await cancel('a')).toBe('removed');
    expect(await world.state()).toEqual({ 'q:notify': ['1'] });
  });

  it('keeps the reason for a cancellation as long as the mark, and not for a later job with the id', async () => {
    const reasons = (): Promise<Record<string, string>> => world.client.hgetall(world.queue().reasons);
    await world.push([probe('a'), probe('b')]);
    const [a, b] = await world.reserve(2);
    await cancel('a', { reason: 'wrong address' });
    await cancel('b', { reason: 'too late' });
    await cancel('b');
    expect(await reasons()).toEqual({ a: 'wrong address' });
    const { reasons: why, cancelled } = world.queue();
    // A second may begin between the two questions.
    expect(Math.abs((await world.client.ttl(why)) - (await world.client.ttl(cancelled)))).toBeLessThanOrEqual(1);
    await world.exchange({ outcomes: ['completed', 1, 2, a!, b!] });
    expect([await reasons(), await world.marks()]).toEqual([{}, []]);
  });

  it('removes reasons together with expired marks', async () => {
    await world.client.zadd(world.queue().cancelled, 1, 'old');
    await world.client.hset(world.queue().reasons, 'old', 'long ago');
    await cancel('nobody');
    expect(await world.client.exists(world.queue().reasons)).toBe(0);
  });

  it('repeats that it removed a job when the reply was lost, and removes no equal job', async () => {
    await world.push([probe('a'), probe('a')]);
    expect(await cancel('a', { sequence: 1e6 })).toBe('removed');
    const before = await world.whole();
    expect(await cancel('a', { sequence: 1e6 })).toBe('removed');
    expect(await world.whole()).toEqual(before);
  });

  it('can be repeated if it only marked a job', async () => {
    await world.push([probe('a')]);
    await world.reserve();
    await cancel('a', { sequence: 1e6 });
    const before = await world.state();
    expect(await cancel('a', { sequence: 1e6 })).toBe('signalled');
    expect(await world.state()).toEqual(before);
  });

  it('refuses a call that is older than one it has carried out', async () => {
    await world.push(probes(2));
    await cancel('p0', { sequence: 1e6 });
    const before = await world.whole();
    expect(await cancel('p1', { sequence: 1e6 - 1 })).toBe('stale');
    expect(await world.whole()).toEqual(before);
  });
});
