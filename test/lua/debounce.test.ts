/** How the scripts keep debounced jobs: the whole state before and after. */
import { debounceKey } from '../../src/payload/ties';
import { debouncedProbe, probe, ScriptWorld, tiedProbe } from './script-world';

const KEY = debounceKey('Probe', 'one', 'q');

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterEach(() => world.client.call('acl', 'setuser', 'default', '+@all'));
afterAll(() => world.stop());

const push = (id: string, delay: number | string = 60, sequence = world.nextSequence()): Promise<unknown[]> =>
  world.pushLater([['any', delay, debouncedProbe(id)]], { sequence });
const replaced = (...words: readonly (string | number)[]): unknown[] => ['pushed', [], 'recorded', [], words];
const kept = (): Promise<Record<string, string>> => world.client.hgetall(world.queue().unique);
/** The ids of waiting jobs by their keys. */
const waiting = async (): Promise<Record<string, string>> =>
  Object.fromEntries(Object.entries(await kept()).map(([key, text]) => [key, text.replace(/^\d+:\d+ /, '')]));
const delayed = (): Promise<string[]> => world.client.zrange(world.queue().delayed, '0', '-1');

describe('push.lua, with debounced jobs', () => {
  it('stores the waiting job of a key, its latest possible time, and its due time', async () => {
    await world.pushLater([['any', 60, debouncedProbe('a', { longest: 300 })]]);
    const [, ending, due, id] = /^(\d+):(\d+) (.*)$/.exec((await kept())[KEY]!)!;
    expect([(Number(ending) - Number(due)) / 1e6, id]).toEqual([240, 'a']);
    const [, score] = await world.client.zrange(world.queue().delayed, '0', '-1', 'WITHSCORES');
    expect(Math.round(Number(score) * 1e6)).toBe(Number(due));
  });

  it('removes the previous job and leaves the queue as if it had never existed', async () => {
    await push('a', 100);
    expect(await push('b', 200)).toEqual(replaced(1, 'a'));
    expect(await waiting()).toEqual({ [KEY]: 'b' });
    await world.client.del(world.queue().unique);
    expect(await world.state()).toEqual({ 'q:delayed': [[debouncedProbe('b'), 200]], 'q:notify': ['1'] });
  });

  it('gives a repeat the answer that was lost', async () => {
    await push('a', 60, 1);
    expect(await push('b', 60, 2)).toEqual(replaced(1, 'a'));
    expect(await push('b', 60, 2)).toEqual(replaced(1, 'a'));
    expect(await delayed()).toEqual([debouncedProbe('b')]);
  });

  it('returns replaced jobs beside refused ones', async () => {
    await push('a');
    const entries = [
      ['any', 0, tiedProbe('x', { key: 'k' })],
      ['any', 0, tiedProbe('y', { key: 'k' })],
      ['any', 60, debouncedProbe('b')],
      ['any', 60, debouncedProbe('c')],
    ] as const;
    expect(await world.pushLater(entries)).toEqual(['pushed', [], 'recorded', [2, 'x'], [3, 'a', 4, 'b']]);
    expect(await delayed()).toEqual([debouncedProbe('c')]);
  });

  it('pushes a job once that is pushed again after its due time', async () => {
    const [seconds] = await world.client.time();
    await push('a', `@${Number(seconds) + 100}`);
    expect(await push('a', `@${Number(seconds) - 100}`)).toEqual(['pushed']);
    expect(await world.state()).toEqual({ q: [debouncedProbe('a')], 'q:notify': ['1'] });
  });

  it('removes a key without a waiting job', async () => {
    await push('a');
    expect(await push('b', 0)).toEqual(replaced(1, 'a'));
    expect(await world.state()).toEqual({ q: [debouncedProbe('b')], 'q:notify': ['1'] });
  });

  it('finds the waiting job among many with the same due time', async () => {
    const [seconds] = await world.client.time();
    const moment = `@${Number(seconds) + 600}`;
    const ids = Array.from({ length: 150 }, (_, at) => `other-${at}`);
    for (const id of ids) await world.pushLater([['any', moment, probe(id)]]);
    for (const id of ids) await world.pushLater([['any', moment, debouncedProbe(id, { key: id })]]);
    for (const id of ids) {
      const again = [['any', moment, debouncedProbe(`${id}-again`, { key: id })]] as const;
      expect(await world.pushLater(again)).toEqual(replaced(1, id));
    }
    expect(await delayed()).toHaveLength(300);
  });

  it('removes no other job with the same due time', async () => {
    await push('a');
    const [score] = (await world.client.zrange(world.queue().delayed, '0', '-1', 'WITHSCORES')).slice(1);
    await world.client.zadd(world.queue().delayed, score!, probe('beside'));
    expect(await push('b')).toEqual(replaced(1, 'a'));
    expect((await delayed()).toSorted()).toEqual([debouncedProbe('b'), probe('beside')].toSorted());
  });

  it('works if the waiting job was removed by hand', async () => {
    await push('a');
    await world.client.del(world.queue().delayed);
    expect(await push('b')).toEqual(['pushed']);
    expect(await waiting()).toEqual({ [KEY]: 'b' });
  });

  it.each(['zadd', 'hset', 'zrem', 'rpush', 'hdel'])(
    'changes nothing if the permission for %s is missing',
    async (command) => {
      await push('a');
      const before = await world.state();
      await world.client.call('acl', 'setuser', 'default', `-${command}`);
      const entries = [
        ['any', 90, debouncedProbe('b')],
        ['any', 90, debouncedProbe('c', { key: 'two' })],
        ['any', 0, tiedProbe('d')],
      ] as const;
      await expect(world.pushLater(entries)).rejects.toThrow(/can't run|ACL/);
      await world.client.call('acl', 'setuser', 'default', '+@all');
      expect(await world.state()).toEqual(before);
    },
  );
});

describe('the other scripts, with debounced jobs', () => {
  const run = (name: 'clear' | 'cancel' | 'retry', ...args: readonly (string | number)[]): Promise<unknown[]> => {
    const {
      client,
      ready,
      delayed: later,
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
      clear: [ready, later, reserved, notify, cancelled, reasons, unique, batches, cancelledBatches],
      cancel: [ready, later, reserved, cancelled, reasons, unique, batches, cancelledBatches],
      retry: [failed, failedJobs, ready, notify, cancelled, reasons, unique, batches, cancelledBatches],
    };
    return world.run(name, [client('c'), ...keys[name], ...world.laneKeys, notify], [world.nextSequence(), ...args]);
  };

  it('forget a waiting job once it is handed out, even behind others, and no other', async () => {
    await world.push(['1', '2'].map((id) => probe(id)));
    await world.pushLater([
      ['any', 60, debouncedProbe('a')],
      ['any', 60, debouncedProbe('b', { key: 'two' })],
      ['any', 900, debouncedProbe('c', { key: 'three' })],
    ]);
    world.offset = 100;
    expect(await world.reserve(4)).toHaveLength(4);
    expect(Object.values(await waiting())).toEqual(['c']);
  });

  it('leave the key to the next job when a due one is handed out', async () => {
    await push('a');
    world.offset = 100;
    expect(await push('b')).toEqual(['pushed']);
    expect(await world.reserve()).toHaveLength(1);
    expect(await waiting()).toEqual({ [KEY]: 'b' });
  });

  it('keep no key of a job that is given back, reclaimed or settled', async () => {
    await push('a');
    world.offset = 100;
    const [a] = await world.reserve(1, 50);
    const outcome = ['released', 1, 1, a!, a!.indexOf(',"attempts"'), ',"releases":1,"attempts":0}', 300];
    await world.exchange({ outcomes: outcome });
    expect(await kept()).toEqual({});
    world.offset = 500;
    await world.reserve(1, 50);
    world.offset = 600;
    await world.exchange({});
    expect(await kept()).toEqual({});
    await world.exchange({ outcomes: ['completed', 1, 1, (await world.reserve())[0]!] });
    expect(await world.state()).toEqual({});
  });

  it('forget a waiting job when it is cancelled or cleared', async () => {
    await push('a');
    expect((await run('cancel', 'a', 'mark', '', 0))[0]).toBe('removed');
    expect(await kept()).toEqual({});
    await push('b');
    await run('clear', -1);
    expect(await world.state()).toEqual({});
  });

  it('retry a failed job, whichever job waits under its key', async () => {
    const meta = '{"name":"Probe","exception":"Error: no"}';
    const { failed, failedJobs } = world.queue();
    await push('b');
    const before = await waiting();
    await world.run('keep', [failed, failedJobs], ['a', meta, debouncedProbe('a'), 'a-2']);
    expect(await run('retry', 'a', debouncedProbe('a'), debouncedProbe('a'))).toEqual(['retried']);
    expect(await waiting()).toEqual(before);
  });
});
