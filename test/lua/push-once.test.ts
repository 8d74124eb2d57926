import { uniqueKey } from '../../src/payload/ties';
import { ID, member } from './batch-texts';
import { debouncedProbe, keyIn, probe, ScriptWorld, tiedProbe } from './script-world';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterEach(async () => {
  await world.client.call('acl', 'setuser', 'default', '+@all');
  await world.client.config('SET', 'maxmemory', '0');
});
afterAll(() => world.stop());

const FOREIGN = 'nothing of ours';
const MARK = ':once:k';

/** All keys, without the value of the mark. */
async function state(): Promise<Record<string, unknown>> {
  const found = await world.state();
  if (MARK in found) found[MARK] = 'is there';
  return found;
}

describe('push-once.lua', () => {
  it('pushes a payload with a hint and keeps its key until the deadline', async () => {
    expect(await world.pushOnce(probe('a'))).toEqual(['pushed']);
    expect(await state()).toEqual({ q: [probe('a')], 'q:notify': ['1'], [MARK]: 'is there' });
    const left = await world.client.ttl(world.queue().once('k'));
    expect(left).toBeGreaterThan(800);
    expect(left).toBeLessThanOrEqual(900);
  });

  it.each([
    ['in some time', 100],
    ['at a moment', 'at'],
  ])('delays a job that becomes ready %s', async (_, delay) => {
    const [seconds] = await world.client.time();
    const when = delay === 'at' ? `@${Number(seconds) + 100}` : delay;
    expect(await world.pushOnce(probe('a'), { delay: when })).toEqual(['pushed']);
    expect(await state()).toEqual({ 'q:delayed': [[probe('a'), 100]], 'q:notify': ['1'], [MARK]: 'is there' });
  });

  it('pushes a job as ready whose due time has passed', async () => {
    await world.pushOnce(probe('a'), { delay: '@1000' });
    expect((await state())['q']).toEqual([probe('a')]);
  });

  it('leaves no second hint, and none for a job that becomes due after others', async () => {
    await world.pushLater([['any', 100, probe('first')]]);
    await world.client.del(world.queue().notify);
    await world.pushOnce(probe('later'), { delay: 200, key: 'l' });
    expect((await state())['q:notify']).toBeUndefined();
    await world.pushOnce(probe('sooner'), { delay: 50, key: 's' });
    await world.pushOnce(probe('a'));
    expect((await state())['q:notify']).toEqual(['1']);
  });

  it('pushes and changes nothing if the key was used', async () => {
    await world.pushOnce(probe('a'));
    const before = await world.whole();
    expect(await world.pushOnce(probe('b'))).toEqual(['before']);
    expect(await world.whole()).toEqual(before);
    expect(await world.pushOnce(probe('b'), { key: 'other' })).toEqual(['pushed']);
  });

  it('pushes and changes nothing after the deadline, whether the key was used or not', async () => {
    await world.pushOnce(probe('a'), { until: 100 });
    world.offset = 100;
    const before = await world.whole();
    expect(await world.pushOnce(probe('b'), { until: 100 })).toEqual(['late']);
    expect(await world.pushOnce(probe('b'), { until: 100, key: 'other' })).toEqual(['late']);
    expect(await world.whole()).toEqual(before);
  });

  it('only looks for the key without a deadline', async () => {
    await world.pushOnce(probe('a'));
    const before = await world.whole();
    expect(await world.pushOnce(probe('b'), { until: 0 })).toEqual(['before']);
    expect(await world.pushOnce(probe('b'), { until: 0, key: 'other' })).toEqual(['late']);
    expect(await world.whole()).toEqual(before);
  });

  it('gives a repeat the answer that was lost, even after the deadline', async () => {
    const call = { call: 'mine', until: 100 };
    expect(await world.pushOnce(probe('a'), call)).toEqual(['pushed']);
    world.offset = 200;
    const before = await world.whole();
    expect(await world.pushOnce(probe('a'), call)).toEqual(['pushed']);
    expect(await world.pushOnce(probe('a'), { ...call, call: 'mi' })).toEqual(['late']);
    expect(await world.whole()).toEqual(before);
  });

  it('takes the unique key of its job', async () => {
    const [key, tie] = keyIn(tiedProbe('a', { key: 'one' }));
    expect(await world.pushOnce(tiedProbe('a', { key: 'one' }), { delay: 100 })).toEqual(['pushed']);
    expect((await state())[':unique']).toEqual({ [key]: tie });
  });

  it('refuses a job whose unique key is held, which uses up its own key, even in a repeat', async () => {
    await world.push([tiedProbe('a', { key: 'one' })]);
    const before = await state();
    const again = { call: 'mine' };
    expect(await world.pushOnce(tiedProbe('b', { key: 'one' }), again)).toEqual(['pushed', [1, 'a'], []]);
    expect(await state()).toEqual({ ...before, [MARK]: 'is there' });
    await world.client.del(world.queue().unique);
    expect(await world.pushOnce(tiedProbe('b', { key: 'one' }), again)).toEqual(['pushed', [1, 'a'], []]);
    expect(await world.pushOnce(tiedProbe('c', { key: 'one' }))).toEqual(['before']);
    expect(await state()).toMatchObject({ q: [tiedProbe('a', { key: 'one' })] });
  });

  it('lets a debounced job replace the waiting one', async () => {
    await world.pushOnce(debouncedProbe('a'), { key: 'first', delay: 100 });
    expect(await world.pushOnce(debouncedProbe('b'), { delay: 200, call: 'mine' })).toEqual(['pushed', [], [1, 'a']]);
    expect(await world.pushOnce(debouncedProbe('b'), { delay: 200, call: 'mine' })).toEqual(['pushed', [], [1, 'a']]);
    expect((await state())['q:delayed']).toEqual([[debouncedProbe('b'), 200]]);
    expect(await world.pushOnce(debouncedProbe('c'), { key: 'third' })).toEqual(['pushed', [], [1, 'b']]);
    expect(await state()).toMatchObject({ q: [debouncedProbe('c')] });
    expect((await state())['q:delayed']).toBeUndefined();
    expect((await state())[':unique']).toBeUndefined();
  });

  it('adds a batch job to its batch, and refuses it if the batch has ended', async () => {
    const { batches } = world.queue();
    await world.client.hset(batches, ID, '1 0 0 0 1 0 0 0 0 0 0 ');
    expect(await world.pushOnce(member('a'), { batch: ID })).toEqual(['pushed']);
    expect((await state())[':batches']).toEqual({ [ID]: '2 0 0 0 1 0 0 0 0 0 0 ' });
    const before = await world.whole();
    expect(await world.pushOnce(member('b'), { batch: 'gone', key: 'other' })).toEqual(['ended', 'unknown']);
    expect(await world.whole()).toEqual(before);
  });

  it('counts a job as skipped whose batch was cancelled while it is open, once', async () => {
    const { batches, cancelledBatches } = world.queue();
    await world.client.hset(batches, ID, '1 0 0 0 1 5 0 9 9000000 0 0 ');
    await world.client.zadd(cancelledBatches, 5, ID);
    expect(await world.pushOnce(member('a'), { batch: ID, call: 'mine' })).toEqual(['skipped']);
    expect((await state())[':batches']).toEqual({ [ID]: '1 0 0 1 1 5 0 9 9000000 0 0 ' });
    const before = await world.whole();
    expect(await world.pushOnce(member('a'), { batch: ID, call: 'mine' })).toEqual(['skipped']);
    expect(await world.pushOnce(member('a'), { batch: ID })).toEqual(['before']);
    expect(await world.whole()).toEqual(before);
  });

  it.each(['ready', 'delayed', 'notify', 'unique', 'once'] as const)(
    'refuses a key of another type before it writes (%s)',
    async (name) => {
      const keys = world.queue();
      const key = name === 'once' ? keys.once('k') : keys[name];
      await (name === 'once' ? world.client.rpush(key, FOREIGN) : world.client.set(key, FOREIGN));
      const before = await world.whole();
      // A script cannot undo its writes.
      await world.client.call('acl', 'setuser', 'default', '-del', '-hdel');
      const delay = name === 'delayed' ? 100 : 0;
      await expect(world.pushOnce(tiedProbe('a'), { delay })).rejects.toThrow('WRONGTYPE');
      await world.client.call('acl', 'setuser', 'default', '+@all');
      expect(await world.whole()).toEqual(before);
    },
  );

  it.each([0, 100])('leaves nothing behind on a full server (delay of %d s)', async (delay) => {
    await world.client.config('SET', 'maxmemory', '1');
    await expect(world.pushOnce(tiedProbe('a'), { delay })).rejects.toThrow('OOM');
    expect(await world.whole()).toEqual({});
  });

  it.each([
    ['rpush', 0],
    ['zadd', 100],
    ['set', 0],
    ['hset', 0],
  ] as const)(
    'leaves nothing behind without the permission for %s, and pushes once it is back',
    async (command, delay) => {
      await world.client.call('acl', 'setuser', 'default', `-${command}`);
      await expect(world.pushOnce(tiedProbe('a'), { delay })).rejects.toThrow(
        /NOPERM|can't run this command|ACL failure/,
      );
      expect(await world.whole()).toEqual({});
      await world.client.call('acl', 'setuser', 'default', '+@all');
      expect(await world.pushOnce(tiedProbe('a'), { delay })).toEqual(['pushed']);
      expect(await world.client.hgetall(world.queue().unique)).toEqual({ [uniqueKey('Probe', 'a')]: '0 a' });
    },
  );
});
