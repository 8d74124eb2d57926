/** How the scripts keep unique keys: the whole state before and after. */
import { uniqueKey, withTies } from '../../src/payload/ties';
import { keyIn, probe, ScriptWorld, tiedProbe, uniqueArguments } from './script-world';

const META = '{"name":"Probe","exception":"Error: no"}';
const KEY = uniqueKey('Probe', 'one');

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterEach(() => world.client.call('acl', 'setuser', 'default', '+@all'));
afterAll(() => world.stop());

const tied = (id: string, options: Parameters<typeof tiedProbe>[1] = {}): string =>
  tiedProbe(id, { key: 'one', ...options });
const push = (id: string, delay = 0, sequence = world.nextSequence()): Promise<unknown[]> =>
  world.pushLater([['any', delay, tied(id)]], { sequence });
const holders = (): Promise<Record<string, string>> => world.client.hgetall(world.queue().unique);
const completed = (text: string): ReturnType<ScriptWorld['exchange']> =>
  world.exchange({ outcomes: ['completed+unique', 1, 1, text, ...keyIn(text)] });

describe('push.lua, with unique keys', () => {
  it('stores the holder of a key and returns it to later pushes', async () => {
    expect(await push('a', 300)).toEqual(['pushed']);
    const entries = [
      ['any', 0, probe('b')],
      ['any', 0, tied('c')],
      ['any', 0, tiedProbe('d')],
    ] as const;
    expect(await world.pushLater(entries)).toEqual(['pushed', [], 'recorded', [2, 'a']]);
    expect(await world.state()).toEqual({
      ':unique': { [KEY]: '0 a', [uniqueKey('Probe', 'd')]: '0 d' },
      q: [probe('b'), tiedProbe('d')],
      'q:delayed': [[tied('a'), 300]],
      'q:notify': ['1'],
    });
  });

  it('keeps even a few keys where Redis finds one without searching through the others', async () => {
    await push('a');
    expect(await world.client.object('ENCODING', world.queue().unique)).toBe('hashtable');
    expect(await holders()).toEqual({ [KEY]: '0 a' });
  });

  it('refuses later jobs of a call with the same key, ready or delayed, and keeps the order of the others', async () => {
    const entries = ['any', 60, tied('d'), 'any', 60, tiedProbe('e')];
    const ready = [tied('a'), probe('b'), tied('c'), tiedProbe('f')];
    const keys = uniqueArguments([
      [1, ...keyIn(ready[0]!)],
      [3, ...keyIn(ready[2]!)],
      [4, ...keyIn(ready[3]!)],
      [5, ...keyIn(tied('d'))],
      [6, ...keyIn(tiedProbe('e'))],
    ]);
    const { client, ready: list, delayed, notify, unique } = world.queue();
    const args = [1, 0, 4, 5, 0, 0, ...keys, ...ready, ...entries];
    expect(await world.run('push', [client('c'), list, delayed, notify, unique], args)).toEqual([
      ...['pushed', [], 'recorded'],
      [3, 'a', 5, 'a'],
    ]);
    expect(await world.state()).toEqual({
      ':unique': { [KEY]: '0 a', [uniqueKey('Probe', 'e')]: '0 e', [uniqueKey('Probe', 'f')]: '0 f' },
      q: [tied('a'), probe('b'), tiedProbe('f')],
      'q:delayed': [[tiedProbe('e'), 100]],
      'q:notify': ['1'],
    });
  });

  it('gives a repeat the answer that was lost, and does not mistake it for a duplicate', async () => {
    expect(await push('a', 0, 1)).toEqual(['pushed']);
    expect(await push('a', 0, 1)).toEqual(['pushed']);
    const refused = await push('b', 0, 2);
    expect(refused).toEqual(['pushed', [], 'recorded', [1, 'a']]);
    await completed((await world.reserve())[0]!);
    expect(await push('b', 0, 2)).toEqual(refused);
    expect(await world.state()).toEqual({});
  });

  it.each(['rpush', 'hset', 'zadd'])(
    'leaves neither a key nor a job if the permission for %s is missing',
    async (command) => {
      await world.client.call('acl', 'setuser', 'default', `-${command}`);
      await expect(
        world.pushLater([
          ['any', 0, tied('a')],
          ['any', 60, tiedProbe('b')],
        ]),
      ).rejects.toThrow(/can't run|ACL/);
      await world.client.call('acl', 'setuser', 'default', '+@all');
      expect(await world.state()).toEqual({});
    },
  );

  it('refuses only jobs with unique keys if the hash of keys has another type', async () => {
    await world.client.set(world.queue().unique, 'nothing of ours');
    await expect(push('a')).rejects.toThrow('WRONGTYPE');
    await world.push([probe('b')]);
    const [text] = await world.reserve();
    expect(await world.exchange({ outcomes: ['completed', 1, 1, text!] })).toMatchObject({ lost: [], news: [] });
    expect(await world.state()).toEqual({ ':unique': 'nothing of ours' });
  });
});

describe('exchange.lua, with unique keys', () => {
  it('frees the key of an ended job among others', async () => {
    await push('a');
    await world.pushLater([['any', 0, tiedProbe('b')]]);
    const [a] = await world.reserve();
    await completed(a!);
    expect(await world.state()).toEqual({
      ':unique': { [uniqueKey('Probe', 'b')]: '0 b' },
      q: [tiedProbe('b')],
      'q:notify': ['1'],
    });
  });

  it('frees the keys of many jobs at once, but not of a lost one', async () => {
    await world.push([tiedProbe('a'), tiedProbe('b'), tiedProbe('c', { most: 60 })]);
    const [a, , c] = await world.reserve(3);
    const stale = tiedProbe('b', { attempts: 7 });
    const outcomes = [a!, stale, c!].flatMap((text) => [text, ...keyIn(text)]);
    expect((await world.exchange({ outcomes: ['completed+unique', 1, 3, ...outcomes] })).lost).toEqual([2]);
    expect(Object.values(await holders())).toEqual(['0 b']);
  });

  it('does not look up keys for a job without one', async () => {
    await push('a');
    await world.push([probe('b')]);
    await world.client.call('acl', 'setuser', 'default', '-hget', '-hmget', '-hset', '-hdel');
    const [, b] = await world.reserve(2);
    expect(await world.exchange({ outcomes: ['completed', 1, 1, b!] })).toMatchObject({ lost: [], news: [] });
  });

  it('frees the key with a failure and its following jobs', async () => {
    await push('a');
    const [a] = await world.reserve();
    const keep = a!.indexOf(',"attempts"');
    await world.exchange({
      outcomes: [
        ...['next', 1, 1, 0, probe('b')],
        ...['failed+unique', 1, 1, a!, keep, ',"attempts":1}', 'a', META, ...keyIn(a!)],
      ],
    });
    expect(await holders()).toEqual({});
    expect(await world.client.lrange(world.queue().ready, 0, -1)).toEqual([probe('b')]);
  });

  it('does not free a key that another job has taken meanwhile', async () => {
    await push('a');
    const [a] = await world.reserve();
    await world.client.hset(world.queue().unique, KEY, '0 other');
    await completed(a!);
    expect(await holders()).toEqual({ [KEY]: '0 other' });
  });

  it('does not settle a job whose key it cannot free', async () => {
    await push('a');
    await world.push([probe('b')]);
    const [a, b] = await world.reserve(2);
    await world.client.call('acl', 'setuser', 'default', '-hdel');
    const { news } = await world.exchange({
      outcomes: ['completed+unique', 1, 1, a!, ...keyIn(a!), 'completed', 1, 1, b!],
    });
    expect(news).toEqual(['unsettled', [expect.stringMatching(/can't run|ACL/), 1]]);
    await world.client.call('acl', 'setuser', 'default', '+@all');
    expect(await world.state()).toEqual({ ':unique': { [KEY]: '0 a' }, 'q:reserved': [[a, 600]] });
  });

  it('frees keys held until the start, and no others, of our payloads', async () => {
    const idOf = (at: number): string => `019c7d7a-2c00-7a6b-9d3e-${String(at).padStart(12, '0')}`;
    const [[, untilEnd], [, untilStart], [, bounded]] = ['end', 'start', 'start'].map((until, at) => {
      const options = { key: `key ${at}`, until: until as 'end' | 'start', most: at === 2 ? 60 : 0 };
      return [at, tiedProbe(idOf(at), options)] as const;
    }) as [[number, string], [number, string], [number, string]];
    const ofBatch = withTies(probe(idOf(3)), { batch: { id: idOf(4), weight: 1 } });
    for (const [first, second] of [untilEnd, ofBatch].flatMap((one) =>
      [untilStart, bounded].map((two) => [one, two]),
    )) {
      await world.fresh();
      await world.pushLater([['any', 0, first!]], { sequence: 1 });
      await world.pushLater([['any', 0, second!]], { sequence: 2 });
      expect(await world.reserve(10)).toHaveLength(2);
      expect(Object.keys(await holders())).toEqual(first === untilEnd ? [uniqueKey('Probe', 'key 0')] : []);
    }
  });

  it('lets a job take its key held until the start again when it is reclaimed or given back', async () => {
    const text = tied('a', { until: 'start' });
    await world.pushLater([['any', 0, text]]);
    await world.reserve(1, 100);
    expect(await holders()).toEqual({});
    world.offset = 200;
    await world.exchange({});
    expect(await holders()).toEqual({ [KEY]: '0 a' });

    const [again] = await world.reserve();
    expect(await holders()).toEqual({});
    const outcome = ['released', 1, 1, again!, again!.indexOf(',"crashes"')];
    await world.exchange({ outcomes: [...outcome, ',"crashes":1,"releases":1,"attempts":0}', 300] });
    expect(await holders()).toEqual({ [KEY]: '0 a' });
  });

  it('frees the key again if one call gives the job back and hands it out', async () => {
    await world.pushLater([['any', 0, tied('a', { until: 'start' })]]);
    const [a] = await world.reserve();
    const back = ['released', 1, 1, a!, a!.indexOf(',"attempts"'), ',"releases":1,"attempts":0}', 'front'];
    const { jobs } = await world.exchange({ outcomes: back, limit: 1 });
    expect(jobs).toHaveLength(1);
    expect(await holders()).toEqual({});
  });

  it('frees the key of a job that was retried before', async () => {
    const text = tied('a').replace(',"id"', ',"fenceAtRetry":3,"id"');
    await world.pushLater([['any', 0, text]]);
    expect(await holders()).toEqual({ [KEY]: '0 a' });
    await completed((await world.reserve())[0]!);
    expect(await world.state()).toEqual({});
  });

  it('stores the longest time that a key is held', async () => {
    await world.pushLater([['any', 0, tied('a', { most: 60 })]]);
    const [seconds] = await world.client.time();
    const [ending, id] = (await holders())[KEY]!.split(' ');
    expect([Math.round((Number(ending) / 1e6 - Number(seconds)) / 10), id]).toEqual([6, 'a']);
  });
});

describe('the scripts that remove and send back, with unique keys', () => {
  const run = (name: 'clear' | 'cancel' | 'retry', ...args: readonly (string | number)[]): Promise<unknown[]> => {
    const {
      client,
      ready,
      delayed,
      reserved,
      notify,
      cancelled,
      reasons,
      unique,
      failed,
      failedJobs,
      batches,
      cancelledBatches,
    } = world.queue();
    const keys = {
      clear: [ready, delayed, reserved, notify, cancelled, reasons, unique, batches, cancelledBatches],
      cancel: [ready, delayed, reserved, cancelled, reasons, unique, batches, cancelledBatches],
      retry: [failed, failedJobs, ready, notify, cancelled, reasons, unique, batches, cancelledBatches],
    };
    return world.run(name, [client('c'), ...keys[name], ...world.laneKeys, notify], [world.nextSequence(), ...args]);
  };

  it('clear page by page if keys are held, and free those of the removed jobs', async () => {
    const ids = Array.from({ length: 150 }, (_, at) => `job-${at}`);
    await world.pushLater(ids.map((id) => ['any', 0, tiedProbe(id)]));
    await world.pushLater([['any', 60, tied('later')]]);
    await world.reserve(1);
    expect(await run('clear', -1)).toEqual(['cleared', 102, 49]);
    expect(Object.keys(await holders())).toHaveLength(49);
    expect(await run('clear', 49)).toEqual(['cleared', 49]);
    expect(await world.state()).toEqual({});
  });

  it('free the key of a waiting job that is cancelled', async () => {
    await push('a', 60);
    expect((await run('cancel', 'a', 'mark', '', 0))[0]).toBe('removed');
    expect(await holders()).toEqual({});
  });

  it('do not retry a failed job whose key is held, and otherwise take its key again', async () => {
    await push('b');
    const { failed, failedJobs } = world.queue();
    await world.run('keep', [failed, failedJobs], ['a', META, tied('a'), 'a-2']);
    const before = await world.state();
    expect(await run('retry', 'a', tied('a'), tied('a'))).toEqual(['held', 'b']);
    expect(await world.state()).toEqual(before);

    await completed((await world.reserve())[0]!);
    expect(await run('retry', 'a', tied('a'), tied('a'))).toEqual(['retried']);
    expect(await world.state()).toEqual({ ':unique': { [KEY]: '0 a' }, q: [tied('a')], 'q:notify': ['1'] });
  });

  it('leave a failed job unchanged and take no key if it cannot be pushed', async () => {
    const { failed, failedJobs } = world.queue();
    await world.run('keep', [failed, failedJobs], ['a', META, tied('a'), 'a-2']);
    const before = await world.state();
    await world.client.call('acl', 'setuser', 'default', '-rpush');
    await expect(run('retry', 'a', tied('a'), tied('a'))).rejects.toThrow(/can't run|ACL/);
    await world.client.call('acl', 'setuser', 'default', '+@all');
    expect(await world.state()).toEqual(before);
  });
});
