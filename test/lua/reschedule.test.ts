import { debouncedProbe, probe, ScriptWorld, tiedProbe } from './script-world';

describe('reschedule.lua', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const reschedule = (
    id: string,
    delay: number | string,
    { from = 0, sequence = world.nextSequence() } = {},
  ): Promise<unknown[]> => {
    const { client, ready, delayed, notify } = world.queue();
    return world.run(
      'reschedule',
      [client('mover'), ready, delayed, notify, ...world.laneKeys],
      [sequence, id, delay, from],
    );
  };
  const later = (...jobs: readonly (readonly [id: string, delay: number])[]) =>
    world.pushLater(jobs.map(([id, delay]) => ['any', delay, probe(id)] as const));
  const fill = (texts: readonly string[]): Promise<unknown> =>
    world.client.zadd(world.queue().delayed, ...texts.flatMap((text, at) => [String(1e10 + at), text]));

  it('gives a delayed job another moment, and leaves the others alone', async () => {
    await later(['a', 300], ['b', 500]);
    expect(await reschedule('a', 800)).toEqual(['rescheduled']);
    expect(await world.state()).toEqual({
      'q:delayed': [
        [probe('b'), 500],
        [probe('a'), 800],
      ],
      'q:notify': ['1'],
    });
  });

  it('takes a moment, and wakes a worker if the job now comes first', async () => {
    await later(['a', 300], ['b', 500]);
    await world.client.del(world.queue().notify);
    const [seconds] = await world.client.time();
    expect(await reschedule('b', `@${Number(seconds) + 100}`)).toEqual(['rescheduled']);
    expect(await world.state()).toEqual({
      'q:delayed': [
        [probe('b'), 100],
        [probe('a'), 300],
      ],
      'q:notify': ['1'],
    });
    await world.client.del(world.queue().notify);
    expect(await reschedule('a', 400)).toEqual(['rescheduled']);
    expect(await world.state()).not.toHaveProperty('q:notify');
  });

  it.each([0, -5, '@5'])('makes a job ready whose moment has passed: %s', async (delay) => {
    await world.push([probe('first')]);
    await later(['a', 300], ['b', 500]);
    expect(await reschedule('b', delay)).toEqual(['ready']);
    expect(await world.state()).toEqual({
      q: [probe('first'), probe('b')],
      'q:delayed': [[probe('a'), 300]],
      'q:notify': ['1'],
    });
  });

  it.each(['ready', 'reserved', 'unknown'])('leaves a job alone that is %s', async (state) => {
    await later(['other', 300]);
    if (state !== 'unknown') await world.push([probe('a')]);
    if (state === 'reserved') await world.reserve();
    const before = await world.whole();
    expect(await Promise.all([0, 500].map((delay) => reschedule('a', delay)))).toEqual([['unknown'], ['unknown']]);
    expect(await world.whole()).toEqual(before);
  });

  it('moves a text as it is, with its counters, ties and bytes of any kind', async () => {
    const texts = [
      tiedProbe('a', { attempts: 3 }),
      '{"data":{"big":12345678901234567890,"none":[],"\\u00e9":{}},"id":"b","crashes":1,"releases":2,"attempts":4}',
    ];
    await world.pushLater(texts.map((text) => ['any', 300, text] as const));
    expect(await reschedule('a', 500)).toEqual(['rescheduled']);
    expect(await reschedule('b', 0)).toEqual(['ready']);
    const { q, 'q:delayed': delayed } = await world.state();
    expect([q, delayed]).toEqual([[texts[1]], [[texts[0], 500]]]);
  });

  it('makes a debounced job ready, but gives it no other moment until it was handed out', async () => {
    await world.pushLater([['any', 300, debouncedProbe('a')]]);
    const before = await world.whole();
    expect(await reschedule('a', 900)).toEqual(['debounced']);
    expect(await world.whole()).toEqual(before);
    expect(await reschedule('a', 0)).toEqual(['ready']);
    expect(await world.pushLater([['any', 300, debouncedProbe('b')]])).toEqual(['pushed']);
    expect(await world.state()).toMatchObject({ q: [debouncedProbe('a')], 'q:delayed': [[debouncedProbe('b'), 300]] });
    await fill([debouncedProbe('c').replace('"attempts":0', '"attempts":1')]);
    expect(await reschedule('c', 900)).toEqual(['rescheduled']);
  });

  it('repeats its answer to a call that is sent again, and moves nothing twice', async () => {
    await later(['a', 300], ['b', 500]);
    const sequence = world.nextSequence();
    expect(await reschedule('a', 0, { sequence })).toEqual(['ready']);
    await world.reserve();
    const before = await world.whole();
    expect(await reschedule('a', 0, { sequence })).toEqual(['ready']);
    expect(await reschedule('b', 0, { sequence: sequence - 1 })).toEqual(['stale']);
    expect(await world.whole()).toEqual(before);
  });

  it('looks at a hundred jobs of each end, then from the last ones on until it has seen all', async () => {
    await fill(Array.from({ length: 350 }, (_, at) => probe(`p${at}`)));
    expect(await reschedule('p99', 300)).toEqual(['rescheduled']);
    expect(await reschedule('p100', 300)).toEqual(['unseen', 100]);
    expect(await reschedule('p250', 300)).toEqual(['rescheduled']);
    expect(await reschedule('p5', 300, { from: 100 })).toEqual(['unseen', 190]);
    expect(await reschedule('p5', 300, { from: 190 })).toEqual(['unseen', 280]);
    expect(await reschedule('p5', 300, { from: 280 })).toEqual(['rescheduled']);
    expect(await reschedule('nobody', 300, { from: 280 })).toEqual(['unknown']);
  });

  it('gets past long texts, of which one call may read only a few', async () => {
    const long = (id: string): string => probe(id).replace('{}', `"${'x'.repeat(300_000)}"`);
    await fill(Array.from({ length: 30 }, (_, at) => long(`p${at}`)));
    const seen: number[] = [];
    let from = 0;
    for (;;) {
      const [word, next] = await reschedule('p15', 300, { from });
      if (word !== 'unseen') break;
      expect(next).toBeGreaterThan(from);
      seen.push((from = Number(next)));
    }
    expect(seen.length).toBeGreaterThan(2);
    expect(await world.client.zrange(world.queue().delayed, '0', '0')).toEqual([long('p15')]);
  });

  it.each(['ready', 'delayed', 'notify'] as const)(
    'changes nothing if the key of %s is of another type',
    async (key) => {
      if (key !== 'delayed') await later(['a', 300]);
      await world.client.del(world.queue()[key]);
      await world.client.set(world.queue()[key], 'foreign');
      const before = await world.whole();
      await expect(reschedule('a', 0)).rejects.toThrow('WRONGTYPE');
      expect(await world.whole()).toEqual(before);
    },
  );
});
