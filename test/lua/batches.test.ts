/** How the scripts keep batches: the whole state before and after. */
import type { ScriptName } from '../../src/connections/redis/scripts';
import { readTies, withTies } from '../../src/payload/ties';
import { batchKeys, CAUSE, completed, EVENTS, failed, ID, member, type Pushed, pushMembers, told } from './batch-texts';
import { type Argument, keyIn, probe, REFUSED, ScriptWorld, tiedProbe } from './script-world';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterEach(() => world.client.call('acl', 'setuser', 'default', '+@all'));
afterAll(() => world.stop());

const push = (...pushed: Pushed): Promise<unknown[]> => pushMembers(world, ...pushed);

/** @param options the name, whether failures are allowed, seconds that each call keeps it open, and jobs per progress */
const begin = (
  ids: readonly string[],
  options: readonly Argument[] = ['images', 0, 0, 0],
  sequence?: number,
): Promise<unknown[]> =>
  push(
    ids.map((id) => member(id)),
    ids.map(() => 1),
    options,
    sequence,
  );

/** The counts of pending, completed, failed and skipped jobs, whether it was cancelled and finished, and the events sent. */
async function numbers(): Promise<unknown> {
  const [pending, completed, failed, skipped, , cancelled, finished, open, , , , sent] = (await world.client.hget(
    world.queue().batches,
    ID,
  ))!.split(' ');
  return [
    [pending, completed, failed, skipped].map(Number),
    { cancelled: cancelled !== '0', finished: finished !== '0', open: open !== '0', sent },
  ];
}

const RUNNING = { cancelled: false, finished: false, open: false, sent: '' };
const sent = (): Promise<string[]> => world.client.lrange(world.queue('told').ready, 0, -1);
const change = (script: ScriptName, ...args: readonly Argument[]): Promise<unknown[]> => {
  const { client, batches, cancelledBatches } = world.queue();
  return world.run(script, [client('c'), batches, cancelledBatches], [world.nextSequence(), ...args]);
};

describe('push.lua, with a batch', () => {
  it('begins it with its first jobs, and keeps its callbacks and the time of its beginning', async () => {
    expect(await begin(['a', 'b'], ['images', 1, 60, 10])).toEqual(['pushed']);
    const { ':batches': kept, ...state } = await world.state();
    expect(state).toEqual({
      ':batches:begun': [[ID, 0]],
      q: [member('a'), member('b')],
      'q:notify': ['1'],
    });
    expect(Object.keys(kept as object).toSorted()).toEqual([ID, `${ID}:callbacks`, `${ID}:name`]);
    expect(kept).toMatchObject({
      [ID]: expect.stringMatching(/^2 0 0 0 \d{16} 0 0 \d{16} 60000000 10 1 $/) as string,
      [`${ID}:name`]: 'images',
    });
  });

  it('adds more jobs, and refuses late ones with the reason, even in a repeat', async () => {
    expect(await push([member('a')], [1], [], 1)).toEqual(['ended', 'unknown']);
    const { batches } = world.queue();
    await world.client.hset(batches, ID, '1 0 0 0 1 0 0 0 0 0 0 ');
    expect(await push([member('a')], [1], [], 1)).toEqual(['ended', 'unknown']);
    await begin(['a'], undefined, 2);
    expect(await push([member('b')], [3], [], 3)).toEqual(['pushed']);
    expect(await numbers()).toEqual([[4, 0, 0, 0], RUNNING]);
    expect(await push([member('b')], [3], [], 3)).toEqual(['pushed']);
    expect(await change('batch-cancel', ID)).toEqual(['cancelled']);
    const before = await world.state();
    expect(await push([member('c')], [1], [], 4)).toEqual(['ended', 'cancelled']);
    expect(await push([member('c')], [1], [], 4)).toEqual(['ended', 'cancelled']);
    expect(await world.state()).toEqual(before);
  });

  it('does not count jobs that are refused for their unique keys', async () => {
    const texts = ['a', 'b', 'c'].map((id) => tiedProbe(id, { key: id === 'c' ? 'c' : 'one' }));
    expect(await push(texts, [2, 3, 4], ['images', 0, 0, 0], 1)).toEqual(['pushed', [], 'recorded', [2, 'a']]);
    expect(await numbers()).toEqual([[6, 0, 0, 0], RUNNING]);
  });

  it('sends the callbacks of a batch without jobs', async () => {
    await begin([]);
    expect(await numbers()).toEqual([[0, 0, 0, 0], { ...RUNNING, finished: true, sent: 'tfn' }]);
    expect(await sent()).toEqual([told('then'), told('finally'), told('next')]);
    expect(await world.client.llen(world.queue('told').notify)).toBe(1);
  });

  it.each(['rpush', 'hset', 'zadd'])(
    'leaves neither jobs nor a batch if the permission for %s is missing',
    async (command) => {
      await world.client.call('acl', 'setuser', 'default', `-${command}`);
      await expect(push([tiedProbe('a')], [1], ['images', 0, 0, 0])).rejects.toThrow(/can't run|ACL/);
      await world.client.call('acl', 'setuser', 'default', '+@all');
      expect(await world.state()).toEqual({});
    },
  );

  it.each(['batches', 'begunBatches', 'ready'] as const)('writes nothing if %s has another type', async (name) => {
    await world.client.set(world.queue()[name], 'nothing of ours');
    const before = await world.state();
    await expect(begin(['a'])).rejects.toThrow('WRONGTYPE');
    expect(await world.state()).toEqual(before);
  });

  it('forgets batches that finished a day ago, page by page, and keeps unfinished ones', async () => {
    const { batches, begunBatches } = world.queue();
    const [seconds] = await world.client.time();
    const old = Number(seconds) - 90_000;
    for (const id of ['running', ...Array.from({ length: 150 }, (_, at) => `old-${at}`)]) {
      const finished = id === 'running' ? '0' : `${old}000000`;
      await world.client.hset(batches, id, `0 1 0 0 ${old}000000 0 ${finished} 0 0 0 0 tfn`, `${id}:name`, 'old');
      await world.client.zadd(begunBatches, old, id);
    }
    await begin([], undefined, 1000);
    expect(await world.client.zcard(begunBatches)).toBeLessThanOrEqual(53);
    await begin([], undefined, 1001);
    expect(await world.client.zrange(begunBatches, '0', '-1')).toEqual(['running', ID]);
    expect(Object.keys(await world.client.hgetall(batches)).filter((field) => field.startsWith('old'))).toEqual([]);
  });
});

describe('exchange.lua, with a batch', () => {
  it('counts each end once and lost outcomes not at all', async () => {
    await begin(['a', 'b', 'c']);
    const [a, b] = await world.reserve(2);
    const outcomes = completed(a!, a!, 'not there', b!);
    expect(await world.exchange({ outcomes, sequence: 1000 })).toMatchObject({ lost: [2, 3] });
    expect(await numbers()).toEqual([[1, 2, 0, 0], RUNNING]);
    await world.exchange({ outcomes, sequence: 1000 });
    expect(await numbers()).toEqual([[1, 2, 0, 0], RUNNING]);
  });

  it('sends due callbacks with the cause of a failure, and can hand them out in the same call', async () => {
    await begin(['a', 'b']);
    const [a, b] = await world.reserve(2);
    await world.exchange({ outcomes: failed(a!) });
    expect(await sent()).toEqual([told('catch', `"cause":${CAUSE},`)]);
    expect(await numbers()).toEqual([[1, 0, 1, 0], { ...RUNNING, cancelled: true, sent: 'c' }]);
    const { jobs } = await world.exchange({ outcomes: completed(b!), queues: ['q', 'told'], limit: 9 });
    expect(jobs).toHaveLength(1);
    expect(jobs[0]!.slice(1).map((text) => (JSON.parse(String(text)) as { id: string }).id)).toEqual([
      'catch',
      'finally',
    ]);
    expect((await world.state())[':batches:cancelled']).toBeUndefined();
  });

  it('marks jobs of a cancelled batch as cancelled, even in a repeat, and no others', async () => {
    await begin(['a', 'b']);
    await world.push([probe('plain')]);
    await change('batch-cancel', ID);
    const call = { limit: 9, sequence: 1 };
    expect((await world.exchange(call)).news).toEqual(['cancelled', [1, '', 2, '']]);
    // A repeat returns jobs in the order of their payloads.
    expect((await world.exchange(call)).news).toEqual(['cancelled', [2, '', 3, '']]);
  });

  it('marks them even in the call that has cancelled the batch', async () => {
    await begin(['a', 'b']);
    const [a] = await world.reserve();
    expect((await world.exchange({ outcomes: failed(a!), limit: 9 })).news).toEqual(['cancelled', [1, '']]);
  });

  it.each([
    ['batches', 'q'],
    ['ready', 'told'],
    ['notify', 'told'],
  ] as const)('leaves jobs that it cannot count unchanged and settles the others (%s of %s)', async (name, queue) => {
    await begin(['a']);
    await world.push([probe('plain')]);
    const [a, plain] = await world.reserve(2);
    const { batches } = world.queue();
    await world.client.rename(batches, `${batches}-away`);
    if (name !== 'batches') await world.client.rename(`${batches}-away`, batches);
    await world.client.set(world.queue(queue)[name], 'nothing of ours');
    const before = await world.state();
    const { news } = await world.exchange({ outcomes: [...completed(a!), 'completed', 1, 1, plain!] });
    expect(news).toEqual(['unsettled', [expect.stringContaining('WRONGTYPE'), 1]]);
    expect(await world.state()).toEqual({ ...before, 'q:reserved': [[a, 600]] });
  });

  it('hands out nothing while it cannot read which batches are cancelled', async () => {
    await begin(['a']);
    await world.client.set(world.queue().cancelledBatches, 'nothing of ours');
    await expect(world.exchange({ limit: 1 })).rejects.toThrow('WRONGTYPE');
    expect(await world.client.llen(world.queue().ready)).toBe(1);
  });

  it.each(['hset', 'hdel', 'rpush', 'zrem'])('counts nothing if the permission for %s is missing', async (command) => {
    await begin(['a']);
    const [a] = await world.reserve();
    const before = await numbers();
    await world.client.call('acl', 'setuser', 'default', `-${command}`);
    await world.exchange({ outcomes: completed(a!) }).catch(() => undefined);
    await world.client.call('acl', 'setuser', 'default', '+@all');
    expect([await numbers(), await sent()]).toEqual([before, []]);
    expect(await world.client.zcard(world.queue().reserved)).toBe(1);
  });

  it('settles a job of a forgotten batch', async () => {
    await begin(['a']);
    const [a] = await world.reserve();
    await world.client.del(...batchKeys(world));
    expect(await world.exchange({ outcomes: completed(a!) })).toMatchObject({ lost: [], news: [] });
    expect(await world.state()).toEqual({});
  });

  it('frees the unique key of a batch job', async () => {
    const ties = withTies(tiedProbe('a').replace(/"ties":"[^"]*",/, ''), {
      unique: { key: keyIn(tiedProbe('a'))[0] as string, until: 'end' },
      batch: { id: ID, weight: 1 },
    });
    await push([ties], [1], ['images', 0, 0, 0]);
    const [a] = await world.reserve();
    await world.exchange({ outcomes: ['completed+unique+batch', 1, 1, ID, -1, 1, 0, 0, a!, ...keyIn(a!)] });
    expect([await world.client.exists(world.queue().unique), await sent()]).toEqual([
      0,
      ['then', 'finally', 'next'].map((id) => told(id)),
    ]);
  });
});

/** The sum of the weights of the members that wait or run. */
async function membersInside(): Promise<number> {
  const { ready, delayed, reserved } = world.queue();
  const texts = [await world.client.lrange(ready, 0, -1)];
  for (const key of [delayed, reserved]) texts.push(await world.client.zrange(key, '0', '-1'));
  const weights = texts.flat().map((text) => readTies(Buffer.from(text))?.batch?.weight ?? 0);
  return weights.reduce((sum, weight) => sum + weight, 0);
}

const pending = async (): Promise<number> =>
  Number((await world.client.hget(world.queue().batches, ID))?.split(' ')[0] ?? 0);

/** Whether the batch is marked as cancelled exactly while it is cancelled and unfinished. */
async function isMarkedRight(): Promise<boolean> {
  const { batches, cancelledBatches } = world.queue();
  const [, , , , , cancelled = '0', finished] = ((await world.client.hget(batches, ID)) ?? '').split(' ');
  const isMarked = (await world.client.zscore(cancelledBatches, ID)) !== null;
  return isMarked === (cancelled !== '0' && finished === '0');
}

const run = (script: 'clear' | 'cancel' | 'retry', ...args: readonly Argument[]): Promise<unknown[]> => {
  const own = world.queue();
  const { client, ready, delayed, reserved, notify, cancelled, reasons, unique, failed: store, failedJobs } = own;
  const keys = {
    clear: [ready, delayed, reserved, notify],
    cancel: [ready, delayed, reserved],
    retry: [store, failedJobs, ready, notify],
  };
  const all = [client('c'), ...keys[script], cancelled, reasons, unique, own.batches, own.cancelledBatches];
  all.push(...world.laneKeys, notify);
  return world.run(script, all, [world.nextSequence(), ...args]);
};

describe('a batch counts the jobs that are there, whichever command of a script redis refuses', () => {
  const failure = async (): Promise<void> => {
    const [a] = await world.reserve();
    await world.exchange({ outcomes: failed(a!) });
  };
  const scenes: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
    // If the batch was pushed, only a repeat without a record would begin it again.
    begin: async () => async () => (await pending()) > 0 || begin(['x', 'y']),
    push: async () => () => push([member('x'), member('y', 2)], [1, 2]),
    exchange: async () => {
      const [a, b] = await world.reserve(2);
      return () => world.exchange({ outcomes: [...completed(a!), ...failed(b!)], limit: 1 });
    },
    cancel: async () => () => run('cancel', 'a', 'mark', '', 0),
    clear: async () => () => run('clear', -1),
    retry: async () => {
      await failure();
      return () => run('retry', 'a', member('a', 1, 1), member('a'));
    },
    seal: async () => () => change('batch-seal', ID, ''),
    stop: async () => () => change('batch-cancel', ID),
  };

  it.each(Object.keys(scenes))('%s', async (name) => {
    const wrong: string[] = [];
    let refused = 0;
    for (let call = 1; ; call += 1) {
      await world.fresh();
      if (name !== 'begin') await begin(['a', 'b', 'c'], ['images', 0, 60, 2]);
      const act = await scenes[name]!();
      world.refusedCall = call;
      await act().catch(() => undefined);
      world.refusedCall = undefined;
      const wasRefused = (await world.client.del(REFUSED)) === 1;
      const [counted, inside] = [await pending(), await membersInside()];
      if (!(await isMarkedRight())) wrong.push(`at call ${call}: the mark of its cancellation is not right`);
      if (counted !== inside) wrong.push(`at call ${call}: ${counted} are pending, ${inside} are there`);
      await act();
      const [again, left] = [await pending(), await membersInside()];
      if (again !== left) wrong.push(`again after call ${call}: ${again} are pending, ${left} are there`);
      if (!wasRefused) break;
      refused = call;
    }
    expect(wrong).toEqual([]);
    expect(refused).toBeGreaterThan(3);
  });
});

describe('the scripts that remove, with a batch', () => {
  const clear = (most: number): Promise<unknown[]> => run('clear', most);

  it('clear page by page, count removed jobs as skipped, and keep later jobs', async () => {
    await begin(Array.from({ length: 150 }, (_, at) => `job-${at}`));
    expect(await clear(-1)).toEqual(['cleared', 100, 50]);
    await world.push([probe('later')]);
    expect(await numbers()).toEqual([[50, 0, 0, 100], RUNNING]);
    expect(await clear(50)).toEqual(['cleared', 50]);
    expect(await numbers()).toEqual([[0, 0, 0, 150], { ...RUNNING, finished: true, sent: 'f' }]);
    expect(await world.client.lrange(world.queue().ready, 0, -1)).toEqual([probe('later')]);
    expect(await world.client.llen(world.queue().notify)).toBe(1);
  });

  it('remove and count nothing if the callbacks cannot be sent', async () => {
    await begin(['a']);
    await world.client.set(world.queue('told').ready, 'nothing of ours');
    const before = await world.state();
    await expect(clear(-1)).rejects.toThrow('WRONGTYPE');
    expect(await world.state()).toEqual(before);
  });
});

describe('batch-callbacks.lua', () => {
  it('returns the callbacks of a batch and the events that were sent', async () => {
    await begin(['a'], ['images', 0, 0, 10]);
    const { batches } = world.queue();
    const own = world.queue('told');
    const sends = EVENTS.map((event) => [event, own.ready, own.delayed, own.notify, '0', '{"job":"told",', event]);
    const before = await world.state();

    expect(await world.run('batch-callbacks', [batches], [ID])).toEqual(['read', '', 10, ...sends]);
    expect(await world.state()).toEqual(before);
    const [a] = await world.reserve();
    await world.exchange({ outcomes: completed(a!) });
    expect((await world.run('batch-callbacks', [batches], [ID]))[1]).toBe('tfn');
    expect(await world.run('batch-callbacks', [batches], ['other'])).toEqual(['unknown']);
  });
});

describe('the scripts that change a batch', () => {
  it('hold only an open one', async () => {
    await begin(['a'], ['images', 0, 60, 0]);
    world.offset = 1000;
    expect(await change('batch-hold', ID)).toEqual(['held']);
    world.offset = 1050;
    expect(await change('batch-seal', ID, CAUSE)).toEqual(['unchanged']);
    expect(await change('batch-seal', ID, '')).toEqual(['sealed']);
    expect(await change('batch-hold', ID)).toEqual(['unchanged']);
    expect(await numbers()).toEqual([[1, 0, 0, 0], RUNNING]);
  });

  it('cancel one whose dispatcher is gone, and send its catch callback', async () => {
    await begin(['a'], ['images', 1, 60, 0]);
    world.offset = 100;
    expect(await change('batch-seal', ID, CAUSE)).toEqual(['sealed']);
    expect(await numbers()).toEqual([[1, 0, 0, 0], { ...RUNNING, cancelled: true, sent: 'c' }]);
    expect(await sent()).toEqual([told('catch', `"cause":${CAUSE},`)]);
    expect((await world.state())[':batches:cancelled']).toEqual([[ID, 100]]);
  });

  it('give a repeat the answer that was lost', async () => {
    await begin(['a']);
    const { client, batches, cancelledBatches } = world.queue();
    const cancel = () => world.run('batch-cancel', [client('c'), batches, cancelledBatches], [5, ID]);
    expect(await cancel()).toEqual(['cancelled']);
    expect(await cancel()).toEqual(['cancelled']);
    expect(await change('batch-cancel', ID)).toEqual(['unchanged']);
  });

  it('forget all old ones and nothing else', async () => {
    await begin(['a']);
    await change('batch-cancel', ID);
    const prune = (unfinished: string): Promise<unknown[]> =>
      world.run(
        'batch-prune',
        [world.queue().client('c'), ...batchKeys(world)],
        [world.nextSequence(), 50, unfinished, 0],
      );
    world.offset = 100;
    expect(await prune('not')).toEqual(['pruned', 0, -1]);
    expect(await prune('also')).toEqual(['pruned', 1, -1]);
    expect(await world.state()).toEqual({ q: [member('a')], 'q:notify': ['1'] });
  });
});
