import { NOT_AN_OBJECT } from '../../src/payload/counters';
import { probe, probes, ScriptWorld } from './script-world';

const MEGABYTE = 1024 * 1024;

describe('exchange.lua, reserving', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  it('hands out the head of the ready list under a lease, with one more attempt', async () => {
    await world.push([probe('a'), probe('b'), probe('c')]);
    const { jobs, nextIn } = await world.exchange({ limit: 2 });
    expect(jobs).toEqual([[1, probe('a', 1), probe('b', 1)]]);
    expect(nextIn).toBe(0);
    expect(await world.state()).toEqual({
      q: [probe('c')],
      'q:notify': ['1'],
      'q:reserved': [
        [probe('a', 1), 600],
        [probe('b', 1), 600],
      ],
    });
  });

  it('increments the attempts of our payloads, whether or not their length changes, and changes nothing else', async () => {
    const attempts = [0, 0, 0, 1, 8, 9, 9, 0];
    const written = (raised: number): string[] =>
      ['', 'é\\u0000', 'long '.repeat(2000)].flatMap((text, kind) =>
        attempts.map((count, at) =>
          probe(`019c7d7a-2c00-7a6b-9d3e-${kind}000000000${String(at).padStart(2, '0')}`, count + raised).replace(
            '{}',
            `["${text}"]`,
          ),
        ),
      );
    await world.push(written(0));

    // Replies are read byte by byte.
    const read = written(1).map((text) => Buffer.from(text).toString('latin1'));
    expect((await world.exchange({ limit: 100 })).jobs).toEqual([[1, ...read]]);
  });

  it('reads at most one payload that does not fit', async () => {
    const long = (id: string): string => probe(id).replace('{}', `{"text":"${'x'.repeat(0.7 * MEGABYTE)}"}`);
    await world.push(['a', 'b', 'c', 'd', 'e', 'f'].map(long));
    await world.client.config('RESETSTAT');

    const { jobs } = await world.exchange({ limit: 6 });

    expect(jobs[0]).toHaveLength(2);
    expect(await world.client.info('commandstats')).toContain('cmdstat_lrange:calls=2,');
  });

  it('finds nothing in an empty queue and leaves nothing there', async () => {
    expect(await world.exchange({ limit: 5 })).toMatchObject({ jobs: [], aside: [], nextIn: Infinity });
    expect(await world.state()).toEqual({});
  });

  it('reserves nothing if it should only settle', async () => {
    await world.push([probe('a')]);
    const before = await world.state();
    expect((await world.exchange({ limit: 0 })).jobs).toEqual([]);
    expect(await world.state()).toEqual(before);
  });

  it('empties one queue before the next', async () => {
    await world.push([probe('low')], { queue: 'low' });
    await world.push([probe('a'), probe('b')], { queue: 'high' });
    const { jobs } = await world.exchange({ queues: ['high', 'low'], limit: 3 });
    expect(jobs).toEqual([
      [1, probe('a', 1), probe('b', 1)],
      [2, probe('low', 1)],
    ]);
  });

  it('moves a hundred jobs at most', async () => {
    await world.push(probes(101));
    expect(await world.reserve(1000)).toHaveLength(100);
    expect((await world.state())['q']).toEqual([probe('p100')]);
  });

  it('moves 1 MiB at most, in the order of the list', async () => {
    const long = (id: string): string => probe(id).replace('{}', `"${'x'.repeat(0.4 * MEGABYTE)}"`);
    await world.push(['a', 'b', 'c', 'd'].map(long));
    expect((await world.reserve(10)).map((text) => text.length > 0.4 * MEGABYTE)).toEqual([true, true]);
    expect((await world.state())['q']).toEqual([long('c'), long('d')]);
  });

  it('always moves at least one job, however long', async () => {
    const long = probe('a').replace('{}', `"${'x'.repeat(2 * MEGABYTE)}"`);
    await world.push([long, probe('b')]);
    expect(await world.reserve(10)).toEqual([long.replace('"attempts":0}', '"attempts":1}')]);
    expect((await world.state())['q']).toEqual([probe('b')]);
  });

  it.each([
    [
      'our counters',
      '{"a":[],"id":"x","crashes":1,"exceptions":2,"releases":3,"attempts":4}',
      '{"a":[],"id":"x","crashes":1,"exceptions":2,"releases":3,"attempts":5}',
    ],
    [
      'the attempts of Laravel',
      '{"n":12345678901234567890,"id":"x","attempts":0}',
      '{"n":12345678901234567890,"id":"x","attempts":1}',
    ],
    [
      'attempts followed by other fields',
      '{"id":"x","attempts":2,"delay":null}',
      '{"id":"x","attempts":2,"delay":null,"attempts":3}',
    ],
    ['no attempts', '{"id":"x"}', '{"id":"x","attempts":1}'],
    ['attempts that are not a number', '{"id":"x","attempts":"3"}', '{"id":"x","attempts":"3","attempts":1}'],
    ['an id elsewhere', '{"id":"x","data":{},"attempts":0}', '{"id":"x","data":{},"attempts":1}'],
    ['white space before it, as at the first attempt', ' \n{"id":"x","attempts":1}', ' \n{"id":"x","attempts":2}'],
    ['white space at the end', '{"id":"x"} \n', '{"id":"x","attempts":1}'],
    ['escapes', '{"s":"\\u00e9\\/","id":"x","attempts":0}', '{"s":"\\u00e9\\/","id":"x","attempts":1}'],
  ])('counts an attempt in a payload with %s', async (_, pushed, reserved) => {
    await world.push([pushed]);
    expect(await world.reserve()).toEqual([reserved]);
  });

  it.each([
    ['an empty object', '{}', '{"id":"worker-1000000-1","attempts":1}'],
    ['nothing but attempts', '{"attempts":2}', '{"id":"worker-1000000-1","attempts":3}'],
    ['no id', '{"data":{},"attempts":0}', '{"data":{},"id":"worker-1000000-1","attempts":1}'],
    ['an id that is no text', '{"id":5,"attempts":0}', '{"id":5,"id":"worker-1000000-1","attempts":1}'],
    ['an id within', '{"data":{"id":"x"},"attempts":0}', '{"data":{"id":"x"},"id":"worker-1000000-1","attempts":1}'],
  ])('gives an id to a payload with %s', async (_, pushed, reserved) => {
    await world.push([pushed]);
    expect((await world.exchange({ limit: 1, sequence: 1e6 })).jobs).toEqual([[1, reserved]]);
  });

  it('gives an id of its own to a payload of which an equal one is already reserved', async () => {
    await world.push([probe('a'), probe('a'), probe('a')]);
    await world.reserve();
    const { jobs } = await world.exchange({ limit: 2, sequence: 1e6 });
    const twin = (n: number): string => `{"job":"probe","data":{},"id":"a","id":"worker-1000000-${n}","attempts":1}`;
    expect(jobs).toEqual([[1, twin(1), twin(2)]]);
    expect((await world.state())['q:reserved']).toEqual([
      [probe('a', 1), 600],
      [twin(1), 600],
      [twin(2), 600],
    ]);
  });

  it('gives an id of its own to the second of two equal jobs reserved together', async () => {
    await world.push([probe('a'), probe('a')]);
    const { jobs } = await world.exchange({ limit: 2, sequence: 1e6 });
    const twin = '{"job":"probe","data":{},"id":"a","id":"worker-1000000-1","attempts":1}';
    expect(jobs).toEqual([[1, probe('a', 1), twin]]);
    expect(await world.client.zcard(world.queue().reserved)).toBe(2);
  });

  it.each(['[]', '""', '"text"', '7', '', 'no JSON', '{"a":1', 'null', '[1,2,{}]'])(
    'sets %j aside with its bytes and the reason, and continues with the next job',
    async (bad) => {
      await world.push([bad, probe('good')]);
      const { jobs, aside } = await world.exchange({ limit: 1, sequence: 1e6 });
      expect(jobs).toEqual([[1, probe('good', 1)]]);
      expect(aside).toEqual([1, 'worker-1000000-1', NOT_AN_OBJECT]);
      expect(await world.state()).toEqual({
        'q:reserved': [[probe('good', 1), 600]],
        'q:failed': [['worker-1000000-1', 0]],
        'q:failed:jobs': { 'worker-1000000-1': `{"name":"(unreadable)","exception":"${NOT_AN_OBJECT}"}\n${bad}` },
      });
    },
  );

  it.each([
    '{nonsense,"attempts":0}',
    'nonsense,"attempts":0}',
    '["nonsense","id":"01234567-89ab-7def-8123-456789abcdef","attempts":0}',
  ])('sets aside %s, which resembles our payloads only at its end', async (nonsense) => {
    await world.push([nonsense]);
    expect((await world.exchange({ limit: 1 })).aside).toHaveLength(3);
    expect(await world.client.exists(world.queue().ready, world.queue().reserved)).toBe(0);
  });

  it('keeps bytes that are not UTF-8', async () => {
    const payload = Buffer.concat([
      Buffer.from('{"s":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('","id":"x","attempts":0}'),
    ]);
    await world.push([payload]);
    expect(await world.reserve()).toEqual([payload.toString('latin1').replace('"attempts":0', '"attempts":1')]);
  });

  it('returns the same jobs to a repeat and reserves no others', async () => {
    await world.push([probe('a'), probe('b'), '7', probe('c')]);
    const first = await world.exchange({ limit: 3, sequence: 1e6 });
    const before = await world.whole();
    expect(await world.exchange({ limit: 3, sequence: 1e6 })).toEqual(first);
    expect(await world.whole()).toEqual(before);
  });

  it('returns only those jobs to a repeat that no other worker has got meanwhile', async () => {
    await world.push([probe('a'), probe('b')]);
    await world.exchange({ limit: 2, lease: 100, sequence: 1e6 });
    world.offset = 200;
    await world.exchange({ limit: 1, client: 'other' });
    expect((await world.exchange({ limit: 2, lease: 100, sequence: 1e6 })).jobs).toEqual([[1]]);
  });

  it('gives each call a different score, so that a repeat finds only its own jobs', async () => {
    world.frozen = true;
    await world.push([probe('a'), probe('b')]);
    await world.exchange({ limit: 1, client: 'other' });
    const first = await world.exchange({ limit: 1, sequence: 1e6 });
    expect(first.jobs).toEqual([[1, probe('b', 1)]]);
    expect(await world.exchange({ limit: 1, sequence: 1e6 })).toEqual(first);
  });
});
