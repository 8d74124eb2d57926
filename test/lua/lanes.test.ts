/** How the scripts keep lanes: the whole state before and after. `test/connections/lanes.test.ts` tries any sequence of steps. */
import { readTies, withTies } from '../../src/payload/ties';
import { probe, REFUSED, ScriptWorld, type Argument } from './script-world';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterAll(() => world.stop());

const laned = (id: string, { lane = 'a', running = 1, ordered = false, attempts = 0 } = {}): string =>
  withTies(probe(id, attempts), { lane: { key: lane, running, ordered } });
const again = { attempts: 1 };
const push = (...texts: readonly string[]): Promise<unknown[]> => world.push(texts);
const laneIn = (text: string): string => readTies(Buffer.from(text))!.lane!.key;
const completed = (...texts: readonly string[]): Argument[] => [
  ...['completed+lane', 1, texts.length],
  ...texts.flatMap((text) => [text, laneIn(text)]),
];
const later = (text: string, kind = 'released+lane'): Argument[] => [
  ...[kind, 1, 1, text, text.indexOf(',"attempts"'), ',"exceptions":1,"attempts":1}', 300],
  ...(kind.endsWith('+lane') ? [laneIn(text)] : []),
];
const settle = (...outcomes: readonly Argument[][]): ReturnType<ScriptWorld['exchange']> =>
  world.exchange({ outcomes: outcomes.flat() });

/** The name of the queue in the keys of lanes. */
const own = (): string => world.queue().ready;
const field = (lane: string): string => `${own()}\0${lane}`;
const held = (lane: string, order: number, text: string): string =>
  `${field(lane)}\0${order.toString(16).padStart(12, '0')}\0${text}`;

/** The state, with the counts of lanes and held jobs in short. */
async function state(): Promise<Record<string, unknown>> {
  const { ':lanes': lanes = {}, ':held': waiting = [], 'q:notify': _, ...others } = await world.state();
  const counts = Object.entries(lanes as object).filter(([name]) => name.includes('\0'));
  return {
    ...others,
    lanes: Object.fromEntries(counts.map(([name, value]) => [name.split('\0')[1], value as unknown])),
    held: (waiting as [string, number][]).map(([member]) => member.split('\0')[3]),
  };
}

const run = async (
  script: 'lane' | 'lanes' | 'cancel' | 'clear' | 'retry',
  ...args: readonly Argument[]
): Promise<unknown[]> => {
  const { client, ready, delayed, reserved, notify, ...keys } = world.queue();
  const { lanes, held: holding, failed, failedJobs, cancelled, reasons, unique, batches, cancelledBatches } = keys;
  const ties = [cancelled, reasons, unique, batches, cancelledBatches, lanes, holding];
  if (script === 'lanes') return world.run(script, [lanes, holding, ready], [...args, '']);
  const all = {
    lane: [lanes, holding, ready, notify],
    cancel: [ready, delayed, reserved, ...ties, notify],
    clear: [ready, delayed, reserved, notify, ...ties],
    retry: [failed, failedJobs, ready, notify, ...ties],
  };
  return world.run(script, [client('c'), ...all[script]], [world.nextSequence(), ...args]);
};

describe('push.lua, with lanes', () => {
  it('lets in as many as there is room for, and holds the others in order', async () => {
    expect(await push(laned('a'), probe('b'), laned('c'), laned('d'), laned('e', { lane: 'b' }))).toEqual(['pushed']);
    expect(await world.state()).toEqual({
      ':lanes': { [field('a')]: '1 l1', [field('b')]: '1 l1', [`#${own()}`]: '2' },
      ':held': [
        [held('a', 1, laned('c')), expect.anything()],
        [held('a', 2, laned('d')), expect.anything()],
      ],
      q: [laned('a'), probe('b'), laned('e', { lane: 'b' })],
      'q:notify': ['1'],
    });
  });

  it('leaves no hint if all are held', async () => {
    await push(laned('a'));
    await world.reserve();
    await push(laned('b'));
    expect((await world.state())['q:notify']).toBeUndefined();
  });

  it('keeps the counts where Redis finds one without searching through the others', async () => {
    await push(laned('a'));
    expect(await world.client.object('ENCODING', world.queue().lanes)).toBe('hashtable');
  });

  it('gives a repeat the same answer, and counts nothing twice', async () => {
    for (let time = 0; time < 2; time += 1) await world.push([laned('a'), laned('b')], { sequence: 1 });
    expect(await state()).toEqual({ q: [laned('a')], lanes: { a: '1 l1' }, held: [laned('b')] });
  });

  it('lets in those of several queues separately', async () => {
    await push(laned('a'));
    await world.push([laned('b')], { queue: 'r' });
    expect(await world.client.lrange(world.queue('r').ready, 0, -1)).toEqual([laned('b')]);
  });

  it.each(['lanes', 'held'] as const)('writes nothing if %s has another type', async (name) => {
    await world.client.set(world.queue()[name], 'foreign');
    await expect(push(laned('a'), laned('b'))).rejects.toThrow('WRONGTYPE');
    expect(await world.state()).toEqual({ [`:${name}`]: 'foreign' });
  });

  it('reads no ties but those at their place', async () => {
    const nested = `{"job":"probe","data":{"x":{"k":1,"ties":"l1/z","id":"y","attempts":0}},"id":"n","attempts":0}`;
    const odd = laned('odd').replace('"data":{}', '"data":{"k":1,"ties":"l5/z"}');
    await push(nested, nested, odd, laned('next'));
    expect(await state()).toEqual({ q: [nested, nested, odd], lanes: { a: '1 l1' }, held: [laned('next')] });
  });
});

describe('exchange.lua, with lanes', () => {
  it('lets in the next when a job ends, and forgets a lane without jobs', async () => {
    await push(laned('a'), laned('b'));
    await world.reserve();
    await settle(completed(laned('a', again)));
    expect(await state()).toEqual({ q: [laned('b')], lanes: { a: '1 l1' }, held: [] });
    await world.reserve();
    await settle(completed(laned('b', again)));
    expect(await world.state()).toEqual({ ':lanes': { [`#${own()}`]: '1' } });
  });

  it('changes nothing for a lost outcome', async () => {
    await push(laned('a'), laned('b'));
    const before = await state();
    expect((await settle(completed(laned('a', again)))).lost).toEqual([1]);
    expect(await state()).toEqual(before);
  });

  it('hands out what it lets in in the same call', async () => {
    await push(laned('a'), laned('b'));
    await world.reserve();
    const { jobs } = await world.exchange({ outcomes: completed(laned('a', again)), limit: 1 });
    expect(jobs).toEqual([[1, laned('b', again)]]);
  });

  it('lets others in for a job that is released with a delay, and holds it when it is due', async () => {
    await push(laned('a'), laned('b'));
    await world.reserve();
    await settle(later(laned('a', again)));
    expect(await state()).toMatchObject({ q: [laned('b')], lanes: { a: '1 l1' }, held: [] });
    world.offset = 400;
    await world.exchange({});
    const back = laned('a', again).replace('"attempts"', '"exceptions":1,"attempts"');
    expect(await state()).toEqual({ q: [laned('b')], lanes: { a: '1 l1' }, held: [back] });
  });

  it('keeps the place of a job of an ordered lane while it is delayed', async () => {
    const ordered = { ordered: true };
    await push(laned('a', ordered), laned('b', ordered));
    await world.reserve();
    await settle(later(laned('a', { ...ordered, ...again }), 'released'));
    expect(await state()).toMatchObject({ lanes: { a: '1 L1' }, held: [laned('b', ordered)] });
    world.offset = 400;
    await world.exchange({});
    const back = laned('a', { ...ordered, ...again }).replace('"attempts"', '"exceptions":1,"attempts"');
    expect(await state()).toEqual({ q: [back], lanes: { a: '1 L1' }, held: [laned('b', ordered)] });
  });

  it('holds a delayed job when it is due, though no other of the queue had a lane', async () => {
    await world.pushLater([
      ['any', 100, laned('a')],
      ['any', 100, laned('b')],
    ]);
    world.offset = 200;
    await world.exchange({});
    expect(await state()).toEqual({ q: [laned('a')], lanes: { a: '1 l1' }, held: [laned('b')] });
  });

  it('holds a job that follows into a full lane', async () => {
    await push(laned('a'), probe('b'));
    await world.reserve(2);
    await settle(['next+lane', 1, 1, 0, laned('c')], ['completed', 1, 1, probe('b', 1)]);
    expect(await state()).toMatchObject({ lanes: { a: '1 l1' }, held: [laned('c')] });
  });

  it('counts anew when nothing of the queue is left but held jobs', async () => {
    await push(laned('a'), laned('b'), laned('c', { lane: 'b' }), laned('d', { lane: 'b' }));
    await world.client.del(world.queue().ready);
    const { nextIn } = await world.exchange({ limit: 1 });
    expect(nextIn).toBe(0);
    expect(await state()).toEqual({
      q: [laned('b'), laned('d', { lane: 'b' })],
      lanes: { a: '1 l1', b: '1 l1' },
      held: [],
    });
    expect(await world.client.llen(world.queue().notify)).toBe(1);
  });

  it('lets in by the first held job of each lane of which no count is left', async () => {
    const two = { lane: 'b', running: 2 };
    await push(...['a', 'b', 'c'].map((id) => laned(id)), ...['d', 'e', 'f', 'g', 'h'].map((id) => laned(id, two)));
    const { ready, lanes } = world.queue();
    await world.client.del(ready);
    await world.client.hdel(lanes, field('a'), field('b'));
    await world.exchange({ limit: 1 });
    expect(await state()).toMatchObject({
      q: [laned('b'), laned('f', two), laned('g', two)],
      lanes: { a: '1 l1', b: '2 l2' },
      held: [laned('c'), laned('h', two)],
    });
  });

  it('does so while jobs that a worker without lanes has given back are delayed', async () => {
    await push(laned('a'), laned('b'));
    await world.reserve();
    await settle(later(laned('a', again), 'released'));
    await world.exchange({ limit: 1 });
    expect(await state()).toMatchObject({ q: [laned('b')], lanes: { a: '1 l1' }, held: [] });
  });

  it('does not do so for a paused lane, nor while a job of an ordered lane waits for its next attempt', async () => {
    const ordered = { lane: 'b', ordered: true };
    await push(laned('a'), laned('b'), laned('c', ordered), laned('d', ordered));
    await run('lane', 'a', 'pause', '');
    await world.reserve(2);
    await settle(completed(laned('a', again)), later(laned('c', { ...ordered, ...again }), 'released'));
    await world.exchange({ limit: 1 });
    expect(await state()).toMatchObject({ lanes: { a: '0 l1 p', b: '1 L1' }, held: [laned('b'), laned('d', ordered)] });
  });

  it.each(['lanes', 'held'] as const)(
    'settles jobs of lanes, and those of others, if %s has another type',
    async (name) => {
      await push(laned('a'), probe('b'));
      await world.reserve(2);
      await world.client.del(world.queue()[name]);
      await world.client.set(world.queue()[name], 'foreign');
      const { lost } = await settle(completed(laned('a', again)), ['completed', 1, 1, probe('b', 1)]);
      expect(lost).toEqual([]);
      expect(await world.client.exists(world.queue().reserved)).toBe(0);
    },
  );
});

describe('the other scripts, with lanes', () => {
  it('cancel lets in the next for a job that was in, and none for a held one', async () => {
    await push(laned('a'), laned('b'), laned('c'));
    expect((await run('cancel', 'b', 'mark', '', 0))[0]).toBe('removed');
    expect(await state()).toEqual({ q: [laned('a')], lanes: { a: '1 l1' }, held: [laned('c')] });
    expect((await run('cancel', 'a', 'mark', '', 0))[0]).toBe('removed');
    expect(await state()).toEqual({ q: [laned('c')], lanes: { a: '1 l1' }, held: [] });
  });

  it('cancel marks a held job that it does not see', async () => {
    await push(...Array.from({ length: 100 }, (_, at) => laned(`job-${at}`)));
    await push(laned('deep-1'), laned('deep'));
    expect(await run('cancel', 'deep', 'mark', '', 0)).toEqual(['marked', -1]);
  });

  it('retry holds a failed job whose lane is full', async () => {
    const { failed, failedJobs } = world.queue();
    await push(laned('a'));
    await world.run('keep', [failed, failedJobs], ['b', '{}', laned('b'), 'b-2']);
    expect(await run('retry', 'b', laned('b'), laned('b'))).toEqual(['retried']);
    expect(await state()).toEqual({ q: [laned('a')], lanes: { a: '1 l1' }, held: [laned('b')] });
  });

  it('clear removes held jobs first, page by page, and keeps what was set by hand', async () => {
    await run('lane', 'a', 'limit', 2);
    await push(laned('x', { lane: 'b' }));
    for (const page of [0, 1, 2]) await push(...Array.from({ length: 80 }, (_, at) => laned(`job-${page}-${at}`)));
    expect(await run('clear', -1)).toEqual(['cleared', 100, 3]);
    expect(await run('clear', 3)).toEqual(['cleared', 100, 3]);
    expect(await run('clear', 3)).toEqual(['cleared', 41]);
    expect(await state()).toEqual({ lanes: { a: '0 l1 2' }, held: [] });
  });

  it('lane sets a limit, pauses and resumes, and lets in what there is room for', async () => {
    await push(...['a', 'b', 'c', 'd'].map((id) => laned(id)));
    expect(await run('lane', 'a', 'limit', 3)).toEqual(['changed', 2]);
    expect(await state()).toMatchObject({ lanes: { a: '3 l1 3' }, held: [laned('d')] });
    expect(await run('lane', 'a', 'pause', '')).toEqual(['changed', 0]);
    expect(await run('lane', 'a', 'limit', 9)).toEqual(['changed', 0]);
    expect(await state()).toMatchObject({ lanes: { a: '3 l1 p9' }, held: [laned('d')] });
    expect(await run('lane', 'a', 'resume', '')).toEqual(['changed', 1]);
    expect(await run('lane', 'a', 'limit', '')).toEqual(['changed', 0]);
    expect(await state()).toMatchObject({ lanes: { a: '4 l1' }, held: [] });
  });

  it('lane lets in a hundred at once', async () => {
    for (const page of [0, 1]) await push(...Array.from({ length: 80 }, (_, at) => laned(`job-${page}-${at}`)));
    expect(await run('lane', 'a', 'limit', 1000)).toEqual(['changed', 100]);
    expect(await run('lane', 'a', 'let in', '')).toEqual(['changed', 59]);
  });

  it('lanes lists those of a queue, whatever characters its name has', async () => {
    await world.push([laned('a')], { queue: 'q[1]*' });
    await push(laned('a', { running: 2 }), laned('b', { lane: 'b' }), laned('c', { lane: 'b' }));
    await run('lane', 'b', 'pause', '');
    const [word, cursor, facts] = await run('lanes', '0');
    expect([word, cursor]).toEqual(['listed', '0']);
    expect((facts as unknown[]).length).toBe(10);
    expect(facts).toEqual(expect.arrayContaining(['a', 1, 0, 2, 0, 'b', 1, 1, 1, 1]));
    const { lanes, held: holding, ready } = world.queue('q[1]*');
    expect(await world.run('lanes', [lanes, holding, ready], ['0', ''])).toEqual(['listed', '0', ['a', 1, 0, 1, 0]]);
  });
});

describe('whichever command of a script Redis refuses, a lane has no more jobs than it may, and loses none', () => {
  const scenes: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
    push: async () => () => push(laned('x'), laned('y', { lane: 'b' }), probe('z')),
    exchange: async () => {
      await world.reserve(1);
      return () =>
        world.exchange({
          outcomes: [...['next+lane', 1, 1, 0, laned('f', { lane: 'b' })], ...completed(laned('a', again))],
          limit: 1,
        });
    },
    cancel: async () => () => run('cancel', 'a', 'mark', '', 0),
    lane: async () => () => run('lane', 'a', 'limit', 2),
    clear: async () => () => run('clear', -1),
  };

  it.each(Object.keys(scenes))('%s', async (name) => {
    const wrong: string[] = [];
    let refused = 0;
    for (let call = 1; ; call += 1) {
      await world.fresh();
      await push(laned('a'), laned('b'), laned('c'));
      const act = await scenes[name]!();
      world.refusedCall = call;
      await act().catch(() => undefined);
      world.refusedCall = undefined;
      const wasRefused = (await world.client.del(REFUSED)) === 1;
      const { ready, reserved, lanes, held: holding } = world.queue();
      const inside = [
        ...(await world.client.lrange(ready, 0, -1)),
        ...(await world.client.zrange(reserved, '0', '-1')),
      ];
      for (const lane of ['a', 'b']) {
        const found = inside.filter((text) => text.includes(`/${lane}"`)).length;
        const counted = Number((await world.client.hget(lanes, field(lane)))?.split(' ')[0] ?? 0);
        if (found > counted) wrong.push(`at call ${call}: ${lane} counts ${counted}, and has ${found}`);
      }
      const all = [...inside, ...(await world.client.zrange(holding, '0', '-1'))];
      for (const id of ['b', 'c']) {
        const found = all.filter((text) => text.includes(`"id":"${id}"`)).length;
        if (found > 1 || (found === 0 && name !== 'clear'))
          wrong.push(`at call ${call}: ${id} is there ${found} times`);
      }
      if (!wasRefused) break;
      refused = call;
    }
    expect(wrong).toEqual([]);
    expect(refused).toBeGreaterThan(3);
  });
});
