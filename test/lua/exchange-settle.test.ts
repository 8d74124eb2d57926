import { probe, ScriptWorld } from './script-world';

const META = '{"name":"Probe","exception":"Error: no"}';

describe('exchange.lua, settling', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const reserved = async (...ids: string[]): Promise<string[]> => {
    await world.push(ids.map((id) => probe(id)));
    return world.reserve(ids.length);
  };
  /** The length of the payload before its counters. */
  const keep = (token: string): number => token.indexOf(',"attempts"');

  it('removes a completed reservation', async () => {
    const [token] = await reserved('a');
    const { word, lost } = await world.exchange({ outcomes: ['completed', 1, 1, token!] });
    expect([word, lost]).toEqual(['exchanged', []]);
    expect(await world.state()).toEqual({});
  });

  it('moves a released job without a delay to the tail with its new counters, and leaves a hint', async () => {
    const [token] = await reserved('a');
    await world.push([probe('b')]);
    await world.client.del(world.queue().notify);
    await world.exchange({ outcomes: ['released', 1, 1, token!, keep(token!), ',"exceptions":1,"attempts":1}', 0] });
    const again = '{"job":"probe","data":{},"id":"a","exceptions":1,"attempts":1}';
    expect(await world.state()).toEqual({ q: [probe('b'), again], 'q:notify': ['1'] });
  });

  it('moves jobs that were not started to the head, the last one first, and leaves a hint', async () => {
    const [a, b] = await reserved('a', 'b');
    await world.push([probe('c')]);
    await world.client.del(world.queue().notify);
    const back = (token: string): (string | number)[] => [token, keep(token), ',"releases":1,"attempts":0}', 'front'];
    await world.exchange({ outcomes: ['released', 1, 2, ...back(b!), ...back(a!)] });
    const again = (id: string): string => `{"job":"probe","data":{},"id":"${id}","releases":1,"attempts":0}`;
    expect(await world.state()).toEqual({ q: [again('a'), again('b'), probe('c')], 'q:notify': ['1'] });
  });

  it('delays a job released with a delay, and leaves a hint if it is the first to become due', async () => {
    const [token] = await reserved('a');
    await world.exchange({ outcomes: ['released', 1, 1, token!, keep(token!), ',"attempts":1}', 300] });
    expect(await world.state()).toEqual({ 'q:delayed': [[probe('a', 1), 300]], 'q:notify': ['1'] });
  });

  it('moves a failed job to the failed store with its error and its bytes', async () => {
    const [token] = await reserved('a');
    const { lost } = await world.exchange({
      outcomes: ['failed', 1, 1, token!, keep(token!), ',"attempts":1}', 'a', META],
    });
    expect(lost).toEqual([]);
    expect(await world.state()).toEqual({
      'q:failed': [['a', 0]],
      'q:failed:jobs': { a: `${META}\n${probe('a', 1)}` },
    });
  });

  it('keeps a failed job beside an earlier failure with the same id', async () => {
    const [first] = await reserved('a');
    await world.exchange({ outcomes: ['failed', 1, 1, first!, keep(first!), ',"attempts":1}', 'a', META] });
    await world.push([probe('a', 4)]);
    const [second] = await world.reserve();
    world.offset = 1000;
    await world.exchange({ outcomes: ['failed', 1, 1, second!, keep(second!), ',"attempts":5}', 'a', META] });
    const { 'q:failed': ids, 'q:failed:jobs': jobs } = (await world.state()) as Record<string, [string, number][]>;
    const own = expect.stringMatching(/^.+-\d+-1$/) as string;
    expect(ids).toEqual([
      ['a', 0],
      [own, 1000],
    ]);
    expect(jobs).toEqual({ a: `${META}\n${probe('a', 1)}`, [String(ids?.[1]?.[0])]: `${META}\n${probe('a', 5)}` });
  });

  it('reports a missing reservation as lost, writes nothing for it, and settles the others', async () => {
    const [a, b] = await reserved('a', 'b');
    const { lost } = await world.exchange({
      outcomes: [
        ...['completed', 1, 3, probe('never'), a!, a!],
        ...['released', 1, 1, probe('gone', 1), keep(probe('gone', 1)), ',"attempts":1}', 0],
        ...['failed', 1, 1, probe('gone', 1), keep(probe('gone', 1)), ',"attempts":1}', 'gone', META],
      ],
    });
    expect(lost).toEqual([1, 3, 4, 5]);
    expect(await world.state()).toEqual({ 'q:reserved': [[b, 600]] });
  });

  it('leaves the keyspace unchanged if all are lost', async () => {
    await reserved('a');
    const before = await world.state();
    await world.exchange({ outcomes: ['completed', 1, 2, probe('a'), probe('a', 2)] });
    expect(await world.state()).toEqual(before);
  });

  it('settles in several queues, given by their places', async () => {
    await world.push([probe('a')], { queue: 'q' });
    await world.push([probe('b')], { queue: 'r' });
    await world.exchange({ queues: ['q', 'r'], limit: 2 });
    const { lost } = await world.exchange({
      queues: ['q', 'r'],
      outcomes: ['completed', 2, 1, probe('b', 1), 'completed', 1, 1, probe('b', 1)],
    });
    expect(lost).toEqual([2]);
    expect(await world.state()).toEqual({ 'q:reserved': [[probe('a', 1), 600]] });
  });

  it('settles a job whose lease has ended if it was not reclaimed yet', async () => {
    const [token] = await reserved('a');
    world.offset = 1000;
    expect((await world.exchange({ outcomes: ['completed', 1, 1, token!], limit: 1 })).lost).toEqual([]);
    expect(await world.state()).toEqual({});
  });

  it.each([
    ['released', [',"attempts":1}', 0]],
    ['released', [',"attempts":1}', 300]],
    ['failed', [',"attempts":1}', 'a', META]],
  ])('does not settle again when the reply to a %s was lost', async (kind, rest) => {
    const [token] = await reserved('a');
    const call = {
      outcomes: [kind, 1, 2, token!, keep(token!), ...rest, token!, keep(token!), ...rest],
      sequence: 1e6,
    };
    const first = await world.exchange(call);
    const before = await world.whole();
    expect(await world.exchange(call)).toEqual(first);
    expect(first.lost).toEqual([2]);
    expect(await world.whole()).toEqual(before);
  });

  it('refuses a call that is older than one it has carried out', async () => {
    const [token] = await reserved('a');
    await world.exchange({ sequence: 1e6 });
    const before = await world.whole();
    expect((await world.exchange({ outcomes: ['completed', 1, 1, token!], sequence: 1e6 - 1 })).word).toBe('stale');
    expect(await world.whole()).toEqual(before);
  });

  it('gives the job an id of its own if an equal one waits already', async () => {
    await world.push([probe('a')]);
    const [first] = await world.reserve();
    const release = ['released', 1, 1, first!, keep(first!), ',"attempts":1}', 300];
    await world.exchange({ outcomes: release });
    await world.push([probe('a')]);
    await world.reserve();
    await world.exchange({ outcomes: release, sequence: 1e6 });
    expect((await world.state())['q:delayed']).toEqual([
      [probe('a', 1), 300],
      ['{"job":"probe","data":{},"id":"a","id":"worker-1000000-1","attempts":1}', 300],
    ]);
  });
});
