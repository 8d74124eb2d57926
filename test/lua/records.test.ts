import { type Argument, ScriptWorld } from './script-world';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterEach(() => world.client.config('SET', 'maxmemory', '0'));
afterAll(() => world.stop());

const FOREIGN = 'nothing of ours';
const keys = (kind = 'probe'): string[] => Object.values(world.keys.records(kind));

interface Putting {
  readonly keep?: number;
  readonly most?: number | 'all';
  readonly rule?: 'any' | 'none' | 'this';
  readonly expected?: string;
  readonly channel?: string;
}

const put = async (
  records: Readonly<Record<string, string>>,
  { keep = 300, most = 'all', rule = 'any', expected = '', channel = '' }: Putting = {},
): Promise<unknown> =>
  (await world.run('record-put', keys(), [keep, most, rule, expected, channel, ...Object.entries(records).flat()]))[0];
const get = (id: string): Promise<unknown[]> => world.run('record-get', keys(), [id]);
const list = (from = 0, limit = 100): Promise<unknown[]> => world.run('record-list', keys(), [from, limit]);
const named = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`r${String(at).padStart(3, '0')}`, `v${at}`]));

/** One is over. */
async function putTwo(): Promise<void> {
  await put({ over: '1' }, { keep: 100 });
  await put({ a: '1' }, { keep: 900 });
  world.offset = 200;
}

/** Of no values. */
const endsLongAgo = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => [String(at), `gone-${at}`]).flat();

describe('record-put.lua', () => {
  it('writes a value and its end, replacing the old one, and expires with the last value', async () => {
    expect(await put({ a: '1', b: '2' })).toBe('put');
    expect(await put({ a: '3' }, { keep: 600 })).toBe('put');

    expect(await world.state()).toEqual({
      ':records:probe': { a: '3', b: '2' },
      ':records:probe:ends': [
        ['b', 300],
        ['a', 600],
      ],
    });
    for (const key of keys()) {
      const left = await world.client.ttl(key);
      expect(left).toBeGreaterThan(500);
      expect(left).toBeLessThanOrEqual(601);
    }
  });

  it('publishes a record to its channel once it is written', async () => {
    const heard: unknown[] = [];
    const listener = world.client.duplicate();
    await listener.subscribe(`${world.prefix}told`);
    const told = new Promise((resolve) => listener.on('message', (...message) => resolve(heard.push(...message))));

    await put({ b: '1' });
    expect(await put({ a: '1' }, { rule: 'none', channel: `${world.prefix}told` })).toBe('put');
    expect(await put({ a: '2' }, { rule: 'none', channel: `${world.prefix}told` })).toBe('other');
    await told;

    expect(heard).toEqual([`${world.prefix}told`, 'a']);
    listener.disconnect();
  });

  it('keeps different kinds apart', async () => {
    await put({ a: '1' });
    await world.run('record-put', keys('other'), [300, 'all', 'any', '', '', 'a', '2']);
    expect(await get('a')).toEqual(['got', '1']);
  });

  it('removes records with a lifetime of 0 and keeps the others', async () => {
    await put({ a: '1', b: '2' });
    expect(await put({ a: '' }, { keep: 0 })).toBe('put');
    expect(await world.state()).toEqual({ ':records:probe': { b: '2' }, ':records:probe:ends': [['b', 300]] });
    await put({ b: '' }, { keep: 0 });
    expect(await world.whole()).toEqual({});
  });

  it.each([
    ['none', 'there is no value', 'new', ''],
    ['none', 'the value has expired', 'over', ''],
    ['this', 'the value is as expected', 'a', '1'],
  ] as const)('replaces a record (%s) if %s', async (rule, _, id, expected) => {
    await putTwo();
    expect(await put({ [id]: '2' }, { rule, expected })).toBe('put');
    expect(await get(id)).toEqual(['got', '2']);
  });

  it.each([
    ['none', 'there is a value', 'a', ''],
    ['this', 'the value is another one', 'a', '0'],
    ['this', 'there is no value', 'new', '1'],
    ['this', 'the value has expired', 'over', '1'],
  ] as const)('does not replace a record (%s) and writes nothing if %s', async (rule, _, id, expected) => {
    await putTwo();
    const before = await world.whole();
    expect(await put({ [id]: '2' }, { rule, expected })).toBe('other');
    expect(await world.whole()).toEqual(before);
  });

  it('gives a repeated replacement the same answer', async () => {
    for (const rule of ['none', 'this'] as const) {
      const options = { rule, expected: rule === 'this' ? '1' : '' };
      const value = rule === 'this' ? '2' : '1';
      expect(await put({ a: value }, options)).toBe('put');
      expect(await put({ a: value }, options)).toBe('put');
    }
  });

  it('removes expired records, a bounded number at a time, without publishing them', async () => {
    await put(named(100), { keep: 100 });
    await world.client.zadd(keys()[1]!, ...endsLongAgo(250));
    world.offset = 200;

    await put({ a: '1' });

    expect(await world.client.zcard(keys()[1]!)).toBe(151);
    expect(await list()).toEqual(['listed', -1, 'a', '1']);
    await put({ b: '1' });
    expect(await world.client.zcard(keys()[1]!)).toBe(2);
    expect(await world.client.hlen(keys()[0]!)).toBe(2);
  });

  it('keeps no more records than the bound, those that expire last', async () => {
    await put(named(100), { keep: 100 });
    await put({ late: '1' }, { keep: 600 });
    await put({ middle: '1' }, { keep: 300, most: 2 });
    expect(await world.state()).toEqual({
      ':records:probe': { late: '1', middle: '1' },
      ':records:probe:ends': [
        ['middle', 300],
        ['late', 600],
      ],
    });
  });

  it('writes nothing on a full server, but removes records with a lifetime of 0', async () => {
    await put({ a: '1' });
    const before = await world.whole();
    await world.client.config('SET', 'maxmemory', '1');
    await expect(put({ a: '2', b: '2' })).rejects.toThrow('OOM');
    await expect(add()).rejects.toThrow('OOM');
    expect(await world.whole()).toEqual(before);
    expect(await put({ a: '' }, { keep: 0 })).toBe('put');
    expect(await world.whole()).toEqual({});
  });

  it.each([0, 1])('refuses a key of another type before it writes (%d)', async (place) => {
    await world.client.set(keys()[place]!, FOREIGN);
    const before = await world.whole();
    for (const keep of [0, 300]) await expect(put({ a: '1' }, { keep })).rejects.toThrow('WRONGTYPE');
    expect(await world.whole()).toEqual(before);
  });
});

describe('record-get.lua', () => {
  it('reads a value unchanged and changes nothing', async () => {
    await put({ a: '{"text":"é"}' });
    const before = await world.whole();
    expect(await get('a')).toEqual(['got', Buffer.from('{"text":"é"}').toString('latin1')]);
    expect(await world.whole()).toEqual(before);
  });

  it('returns nothing for an expired or unknown record', async () => {
    await put({ a: '1' }, { keep: 100 });
    world.offset = 200;
    expect(await get('a')).toEqual(['absent']);
    expect(await get('b')).toEqual(['absent']);
  });
});

describe('record-list.lua', () => {
  it('lists those first that expire last, then by descending id, and changes nothing', async () => {
    await put({ over: '0' }, { keep: 100 });
    await put({ a: '1' }, { keep: 600 });
    await put({ b: '2', c: '3' }, { keep: 400 });
    world.offset = 200;
    const before = await world.whole();
    expect(await list()).toEqual(['listed', -1, 'a', '1', 'c', '3', 'b', '2']);
    expect(await list(1, 1)).toEqual(['listed', 2, 'c', '3']);
    expect(await list(2, 1)).toEqual(['listed', 3, 'b', '2']);
    expect(await list(3, 1)).toEqual(['listed', -1]);
    expect(await world.whole()).toEqual(before);
  });

  it('returns a hundred at most, and where to continue', async () => {
    await put(named(100));
    await put({ a: '1' });
    const [, next, ...words] = await list(0, 500);
    expect([next, words.length]).toEqual([100, 200]);
    expect(await list(100, 400)).toHaveLength(4);
  });

  it('returns 1 MiB at most, but always at least one', async () => {
    const long = 'x'.repeat(600 * 1024);
    for (const id of ['a', 'b']) await put({ [id]: long + long });
    await put({ c: long, d: '4' }, { keep: 600 });
    expect((await list()).slice(0, 2)).toEqual(['listed', 2]);
    expect(await list(2)).toEqual(['listed', 3, 'b', long + long]);
    expect(await list(3)).toEqual(['listed', -1, 'a', long + long]);
  });

  it('skips an end without a value', async () => {
    await put({ a: '1', b: '2' });
    await world.client.hdel(keys()[0]!, 'b');
    expect(await list()).toEqual(['listed', -1, 'a', '1']);
  });
});

interface Addition {
  readonly amounts?: Readonly<Record<string, number>>;
  readonly names?: readonly string[];
  readonly sequence?: number;
  readonly source?: string;
  readonly keep?: number;
}

async function add({ amounts = { a: 1 }, names = ['m1'], sequence = 1, source = 'one', keep = 300 }: Addition = {}) {
  const fields = Object.keys(amounts).map((name) => `+${name}`);
  const one: Argument[] = [keep * 1000, fields.length, ...fields, ...Object.values(amounts)];
  const sums = names.map((name) => world.keys.sum(name));
  return (await world.run('sum-add', [world.keys.added(source), ...sums], [sequence, ...names.flatMap(() => one)]))[0];
}

async function summed(name = 'm1'): Promise<Readonly<Record<string, string>>> {
  const [amounts = {}] = await summedIn([name]);
  return amounts;
}

async function summedIn(names: readonly string[]): Promise<readonly Readonly<Record<string, string>>[]> {
  const [, text] = (await world.run(
    'sum-read',
    names.map((name) => world.keys.sum(name)),
    [],
  )) as [string, string];
  return JSON.parse(text) as Readonly<Record<string, string>>[];
}

describe('sum-add.lua and sum-read.lua', () => {
  it('add the amounts of several sources to several sums, and keep these for a time', async () => {
    expect(await add({ amounts: { a: 1, b: 20 }, names: ['m1', 'q1'] })).toBe('added');
    expect(await add({ amounts: { b: 5, end: 2 }, source: 'two' })).toBe('added');

    expect(await summedIn(['m1', 'none', 'q1'])).toEqual([{ a: '1', b: '25', end: '2' }, {}, { a: '1', b: '20' }]);
    expect(Object.keys(await world.whole()).toSorted()).toEqual([':added:one', ':added:two', ':sums:m1', ':sums:q1']);
    expect(await world.client.ttl(world.keys.sum('m1'))).toBeGreaterThan(200);
    expect(await world.client.ttl(world.keys.added('one'))).toBeGreaterThan(3000);
  });

  it('add twice to a sum that is named twice', async () => {
    await add({ names: ['m1', 'm1'] });
    expect(await summed()).toEqual({ a: '2' });
  });

  it('add nothing for a repeated or an older call', async () => {
    await add({ sequence: 2 });
    const before = await world.whole();
    for (const sequence of [1, 2]) expect(await add({ sequence })).toBe('known');
    expect(await world.whole()).toEqual(before);
    expect(await add({ sequence: 3 })).toBe('added');
  });

  it('start from 0 if the sums have expired', async () => {
    await add({ keep: 100 });
    world.offset = 200;
    expect(await summed()).toEqual({});
    await add({ amounts: { b: 1 }, sequence: 2 });
    expect(await summed()).toEqual({ b: '1' });
  });

  it('add thousands of numbers and large numbers exactly', async () => {
    const amounts = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`n${at}`, 2 ** 40 + at]));
    await add({ amounts });
    await add({ amounts, sequence: 2 });
    const found = await summed();
    expect(Object.keys(found)).toHaveLength(5000);
    expect(found['n4999']).toBe(String(2 ** 41 + 2 * 4999));
  });

  it('read no more than a MiB at once, and one sum however large', async () => {
    const amounts = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`${at}`.padEnd(300, 'x'), at]));
    await add({ amounts, names: ['m1', 'm2'] });
    const large = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`${at}`.padEnd(300_000, 'x'), at]));
    await add({ amounts: large, names: ['q1'], sequence: 2 });

    const [first, ...others] = await summedIn(['m1', 'm2', 'q1']);
    expect(Object.keys(first!)).toHaveLength(2000);
    expect(others).toEqual([]);
    expect(await summedIn(['q1', 'm1'])).toHaveLength(1);
  });

  it('refuse a key of another type before they write', async () => {
    await world.client.set(world.keys.sum('q1'), FOREIGN);
    const before = await world.whole();
    await expect(add({ names: ['m1', 'q1'] })).rejects.toThrow('WRONGTYPE');
    await expect(summed('q1')).rejects.toThrow('WRONGTYPE');
    expect(await world.whole()).toEqual(before);
  });

  it('never add twice if Redis refuses the addition half way', async () => {
    await add();
    for (const call of [1, 2, 3, 4, 5, 6, 7]) {
      world.refusedCall = call;
      await add({ sequence: call + 1 }).catch(() => undefined);
      world.refusedCall = undefined;
      const before = Number((await summed())['a']);
      await add({ sequence: call + 1 });
      const now = Number((await summed())['a']);
      expect(now - before).toBeLessThanOrEqual(1);
      expect(now).toBeLessThanOrEqual(call + 1);
    }
  });
});
