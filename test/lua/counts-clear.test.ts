import { probe, probes, ScriptWorld } from './script-world';

describe('counts.lua and clear.lua', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const counts = (): Promise<unknown[]> => {
    const { ready, delayed, reserved } = world.queue();
    return world.run('counts', [ready, delayed, reserved, world.queue().held], []);
  };
  const clear = (sequence = 1): Promise<unknown[]> => {
    const { client, ready, delayed, reserved, notify, cancelled, reasons, unique, batches, cancelledBatches } =
      world.queue();
    return world.run(
      'clear',
      [
        ...[client('cleaner'), ready, delayed, reserved, notify, cancelled, reasons],
        ...[unique, batches, cancelledBatches, ...world.laneKeys],
      ],
      [sequence, -1],
    );
  };
  const fill = async (): Promise<void> => {
    await world.push(probes(5));
    await world.pushLater([['any', 100, probe('later')]]);
    await world.reserve(2);
  };

  it('counts nothing in a missing queue', async () => {
    expect(await counts()).toEqual(['counted', 0, 0, 0]);
    expect(await world.whole()).toEqual({});
  });

  it('counts ready, delayed and reserved jobs and changes nothing', async () => {
    await fill();
    const before = await world.whole();
    expect(await counts()).toEqual(['counted', 3, 1, 2]);
    expect(await world.whole()).toEqual(before);
  });

  it('removes waiting and reserved jobs with the hints, and keeps failed jobs and other queues', async () => {
    await fill();
    await world.push([probe('other')], { queue: 'other' });
    const { failed, failedJobs } = world.queue();
    await world.run('keep', [failed, failedJobs], ['f', '{}', 'payload']);
    expect(await clear()).toEqual(['cleared', 6]);
    expect(await world.state()).toEqual({
      other: [probe('other')],
      'other:notify': ['1'],
      'q:failed': [['f', 0]],
      'q:failed:jobs': { f: '{}\npayload' },
    });
  });

  it('removes the cancellation marks of reserved jobs, and no others', async () => {
    await fill();
    await world.mark('p0', 'p1', 'elsewhere');
    await clear();
    expect(await world.marks()).toEqual(['elsewhere']);
  });

  it('clears nothing in an empty queue', async () => {
    expect(await clear()).toEqual(['cleared', 0]);
  });

  it('does not remove later jobs in a repeat', async () => {
    await fill();
    await clear(1);
    await world.push([probe('since')]);
    const before = await world.whole();
    expect(await clear(1)).toEqual(['cleared', 6]);
    expect(await world.whole()).toEqual(before);
  });

  it('refuses a call that is older than one it has carried out', async () => {
    await clear(2);
    await fill();
    const before = await world.whole();
    expect(await clear(1)).toEqual(['stale']);
    expect(await world.whole()).toEqual(before);
  });
});
