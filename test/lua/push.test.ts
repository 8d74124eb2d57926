import { probe, probes, ScriptWorld } from './script-world';

describe('push.lua', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  it('pushes payloads to the tail of the ready list in their order, and leaves one hint', async () => {
    await world.push([probe('a')]);
    expect(await world.push([probe('b'), probe('c')])).toEqual(['pushed']);
    expect(await world.state()).toEqual({ q: [probe('a'), probe('b'), probe('c')], 'q:notify': ['1'] });
  });

  it('writes only its record if nothing is pushed', async () => {
    expect((await world.push([]))[0]).toBe('pushed');
    expect(await world.state()).toEqual({});
  });

  it('keeps every byte: empty containers, long numbers, Unicode, bytes that are not UTF-8', async () => {
    const bodies = ['[]', '{}', '""', '{"a":[],"n":12345678901234567890}', '{"s":"\\u00e9😀"}'].map((text) =>
      Buffer.from(text),
    );
    const payloads = [...bodies, Buffer.from([0x7b, 0xff, 0x00, 0xfe, 0x7d])];
    await world.push(payloads);
    expect((await world.state())['q']).toEqual(payloads.map((bytes) => bytes.toString('latin1')));
  });

  it('accepts as many payloads as one call carries, and one more', async () => {
    await world.push(probes(101));
    expect((await world.state())['q']).toEqual(probes(101));
  });

  it('delays payloads, those with equal delays in the order of the push', async () => {
    await world.pushLater([
      ['any', 300, probe('z')],
      ['any', 300, probe('a')],
      ['any', 100, probe('m')],
    ]);
    expect(await world.state()).toEqual({
      'q:delayed': [
        [probe('m'), 100],
        [probe('z'), 300],
        [probe('a'), 300],
      ],
      'q:notify': ['1'],
    });
  });

  it('counts a delay from the moved clock', async () => {
    world.offset = 1000;
    await world.pushLater([['any', 100, probe('a')]]);
    expect((await world.state())['q:delayed']).toEqual([[probe('a'), 1100]]);
  });

  it('leaves a hint for a delayed payload only if it is the first to become due', async () => {
    await world.pushLater([['any', 100, probe('first')]]);
    await world.client.del(world.queue().notify);
    await world.pushLater([['any', 200, probe('second')]]);
    expect(await world.client.llen(world.queue().notify)).toBe(0);
    await world.pushLater([['any', 50, probe('before')]]);
    expect(await world.client.llen(world.queue().notify)).toBe(1);
  });

  it('refuses a distinct payload that is delayed already, and accepts the others of the call', async () => {
    await world.pushLater([['unique', 100, probe('a')]]);
    const reply = await world.pushLater([
      ['unique', 300, probe('b')],
      ['unique', 300, probe('a')],
      ['unique', 300, probe('b')],
    ]);
    expect(reply).toEqual(['pushed', [2, 3], 'recorded']);
    expect((await world.state())['q:delayed']).toEqual([
      [probe('a'), 100],
      [probe('b'), 300],
    ]);
  });

  it('returns the recorded answer to a repeat and pushes nothing again', async () => {
    await world.pushLater([['unique', 100, probe('a')]], { sequence: 7 });
    const first = await world.pushLater([['unique', 100, probe('a')]], { sequence: 8 });
    const before = await world.whole();
    expect(await world.pushLater([['unique', 100, probe('a')]], { sequence: 8 })).toEqual(first);
    expect(await world.push([probe('b')], { sequence: 8 })).toEqual(first);
    expect(await world.whole()).toEqual(before);
  });

  it('reports that there is no record of a call that was answered, or only one of an earlier call', async () => {
    await world.push([probe('a')], { sequence: 1 });
    await world.client.del(world.queue().client('pusher'));
    expect(await world.push([probe('b')], { sequence: 2, after: 1 })).toEqual(['pushed', [], 'unrecorded']);
    expect(await world.push([probe('c')], { sequence: 5, after: 4 })).toEqual(['pushed', [], 'unrecorded']);
    expect(await world.push([probe('d')], { sequence: 8, after: 5 })).toEqual(['pushed']);
  });

  it('pushes nothing if a later call was carried out, because this one was too', async () => {
    await world.push([probe('b')], { sequence: 9 });
    const before = await world.whole();
    expect(await world.push([probe('a')], { sequence: 8 })).toEqual(['pushed']);
    expect(await world.whole()).toEqual(before);
  });

  it('carries out a chained call if the previous one was the last to be carried out', async () => {
    await world.pushLater([['unique', 100, probe('a')]], { sequence: 7 });
    await world.pushLater([['unique', 100, probe('a')]], { sequence: 8 });
    expect(await world.push([probe('b')], { sequence: 9, after: 'next' })).toEqual(['pushed']);
    expect((await world.state())['q']).toEqual([probe('b')]);
  });

  it.each([
    ['was not', 8],
    ['is not on record', undefined],
  ])('writes nothing of a chained call if the previous one %s', async (_what, last) => {
    if (last !== undefined) await world.push([probe('a')], { sequence: last });
    const before = await world.whole();
    expect(await world.push([probe('c')], { sequence: 10, after: 'next' })).toEqual(['gap']);
    expect(await world.whole()).toEqual(before);
  });

  it('keeps its record for an hour', async () => {
    await world.push([probe('a')]);
    expect(await world.client.ttl(world.queue().client('pusher'))).toBeGreaterThan(3000);
  });
});
