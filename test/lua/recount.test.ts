/** `recount.lua` compares keys and batches with the existing jobs: the whole state before and after. */
import { withTies } from '../../src/payload/ties';
import { keyIn, probe, REFUSED, ScriptWorld, tiedProbe } from './script-world';

let world: ScriptWorld;

beforeAll(async () => {
  world = await ScriptWorld.start();
});
beforeEach(() => world.fresh());
afterAll(() => world.stop());

const run = (way: 'look' | 'repair', { names = 0, jobs = 100, bytes = 1e6, sequence = world.nextSequence() } = {}) => {
  const { client, unique, batches, cancelledBatches, ready, delayed, reserved } = world.queue();
  const keys = [
    client('c'),
    unique,
    batches,
    cancelledBatches,
    ...world.laneKeys,
    world.keys.names,
    ready,
    delayed,
    reserved,
  ];
  return world.run('recount', keys, [sequence, way, names, jobs, bytes]);
};

const member = (id: string, weight = 1): string => withTies(probe(id), { batch: { id: 'batch', weight } });

/** A batch none of whose jobs has ended. */
const keepBatch = (pending: number): Promise<unknown> =>
  world.client.hset(world.queue().batches, 'batch', `${pending} 0 0 0 5 0 0 0 0 0 0 `);

/** A batch that sends a job when it finishes. */
async function keepCallback(): Promise<void> {
  const { batches } = world.queue();
  const { ready, delayed, notify } = world.queue('told');
  const callback = `{ 'finally', ARGV[1], ARGV[2], ARGV[3], '0', '{"job":"told",', 'told' }`;
  const packing = `redis.call('HSET', KEYS[1], 'batch:callbacks', cmsgpack.pack({ ${callback} }))`;
  await world.client.eval(packing, 1, batches, ready, delayed, notify);
}

const stuck = (id: string): unknown[] => ['stuck', keyIn(tiedProbe(id))[0], id];

describe('recount.lua', () => {
  it('finds nothing if everything matches the jobs, in whatever state these are', async () => {
    await world.push([tiedProbe('runs'), tiedProbe('waits'), tiedProbe('starts', { until: 'start' }), probe('plain')]);
    await world.pushLater([['any', 500, tiedProbe('later', { most: 50 })]]);
    await world.push([tiedProbe('crashed').replace('"attempts":0', '"crashes":1,"attempts":0')]);
    await world.reserve();
    const before = await world.state();
    expect(await run('repair')).toEqual(['recounted', []]);
    expect(await world.state()).toEqual(before);
  });

  it('frees a key whose holder is gone, but writes nothing without `repair`', async () => {
    await world.push([tiedProbe('a'), tiedProbe('b')]);
    const { ready, unique } = world.queue();
    await world.client.lpop(ready);
    const before = await world.state();
    expect(await run('look')).toEqual(['recounted', stuck('a')]);
    expect(await world.state()).toEqual(before);
    expect(await run('repair')).toEqual(['recounted', stuck('a')]);
    expect(await world.client.hkeys(unique)).toEqual([keyIn(tiedProbe('b'))[0]]);
  });

  it('leaves a key alone that passed to another job after its time while the first holder still exists', async () => {
    await world.push([tiedProbe('a', { key: 'one', most: 10 })]);
    world.offset = 500;
    await world.push([tiedProbe('b', { key: 'one', most: 10 })]);
    expect(await run('repair')).toEqual(['recounted', []]);
    await world.client.lpop(world.queue().ready);
    expect(await run('repair')).toEqual(['recounted', []]);
  });

  it('gives a free key to the first job that should hold it, and not to one that need not', async () => {
    await world.push([tiedProbe('a'), tiedProbe('starts', { until: 'start' }), tiedProbe('bounded', { most: 500 })]);
    const { unique } = world.queue();
    await world.client.del(unique);
    const [key, tie] = keyIn(tiedProbe('a'));
    expect(await run('repair')).toEqual(['recounted', ['unheld', key, 'a']]);
    expect(await world.client.hgetall(unique)).toEqual({ [key]: tie });
  });

  it('counts the pending jobs of a batch by their weights', async () => {
    await world.push([member('a', 3), member('b')]);
    await keepBatch(6);
    expect(await run('repair')).toEqual(['recounted', ['miscounted', 'batch', '6', '4']]);
    expect(await world.client.hget(world.queue().batches, 'batch')).toMatch(/^4 0 0 2 /);
    await world.push([member('c', 5)]);
    expect(await run('repair')).toEqual(['recounted', ['miscounted', 'batch', '4', '9']]);
    expect(await world.client.hget(world.queue().batches, 'batch')).toMatch(/^9 0 0 0 /);
  });

  it('is carried out once, however often it is repeated', async () => {
    await keepBatch(2);
    const sequence = world.nextSequence();
    const answer = await run('repair', { sequence });
    await keepBatch(1);
    expect(await run('repair', { sequence })).toEqual(answer);
    expect(await world.client.hget(world.queue().batches, 'batch')).toMatch(/^1 /);
    expect(await run('repair', { sequence: sequence - 1 })).toEqual(['stale']);
  });

  it.each([
    ['a queue that is new', { names: 1 }, 'changed'],
    ['more jobs than it may look at', { jobs: 1 }, 'unseen'],
    ['longer texts than it may look at', { bytes: 100 }, 'unseen'],
  ])('reports nothing for %s and writes nothing', async (_, bounds, word) => {
    await world.push([tiedProbe('a'), tiedProbe('b')]);
    await world.client.lpop(world.queue().ready);
    await world.push([probe('c')]);
    const before = await world.whole();
    expect(await run('repair', bounds)).toEqual([word]);
    expect(await world.whole()).toEqual(before);
  });

  it('is completed by a repeat, whichever of its commands is refused', async () => {
    const answers: unknown[] = [];
    for (let refusedCall = 1; answers.length === 0; refusedCall += 1) {
      await world.fresh();
      await world.push([tiedProbe('gone'), tiedProbe('here')]);
      await world.client.lpop(world.queue().ready);
      await keepBatch(2);
      await keepCallback();
      world.refusedCall = refusedCall;
      await world.client.del(REFUSED);
      const answer = await run('repair').catch(() => undefined);
      world.refusedCall = undefined;
      if ((await world.client.exists(REFUSED)) === 0) answers.push(answer);
      await run('repair');
      expect(await run('repair')).toEqual(['recounted', []]);
      expect(await world.client.hget(world.queue().batches, 'batch')).toMatch(/^0 0 0 2 /);
      // A job is there twice at worst if the script stops half way.
      const told = await world.client.llen(world.queue('told').ready);
      expect([1, 2]).toContain(told);
      expect(answers.length === 0 || told === 1).toBe(true);
    }
    expect(answers).toEqual([['recounted', [...stuck('gone'), 'miscounted', 'batch', '2', '0']]]);
  });
});
