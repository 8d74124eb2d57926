import { FailedCap } from '../../../src/application/failed/failed-stores';
import { Job } from '../../../src/job/job';
import { Worker } from '../../../src/worker/worker';
import { Gate, testApplication } from '../../support/application';
import { eventually } from '../../support/eventually';

@Job({ name: 'cap:Fails' })
class Fails extends Job {
  constructor(readonly n: number) {
    super();
  }
  handle(): void {
    throw new Error(`it failed: ${this.n}`);
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => new Fails(n));

describe('the failed jobs of a worker', () => {
  it('are only the newest of each queue, as many as configured, including unreadable ones', async () => {
    const { manager, bus } = testApplication({ failed: { keep: 3 } });
    await bus.bulk(numbered(8));
    await manager.connection().pushRaw('no JSON');
    await manager.connection().bulk(numbered(2), 'other');

    await new Worker({ queue: ['default', 'other'], stopWhenEmpty: true, concurrency: 4 }, manager).run();

    const kept = await manager.failed.list({ queue: 'default' });
    expect(kept.map(({ name }) => name)).toHaveLength(3);
    expect(kept.map(({ name }) => name)).toContain('(unreadable)');
    expect(await manager.failed.list({ queue: 'other' })).toHaveLength(2);
    await manager.close();
  });

  it('do not hold up jobs while the oldest are removed', async () => {
    const { manager, bus } = testApplication({ failed: { keep: 1 } });
    const gate = new Gate();
    const prune = jest.spyOn(manager.driver().failed!, 'prune').mockImplementation(async () => {
      await gate.opened;
      return 0;
    });
    await bus.bulk(numbered(3));
    const worker = new Worker({ concurrency: 1 }, manager);
    const ended = worker.run();

    await eventually(() => worker.health().outcomes.failed === 3);
    expect(prune).toHaveBeenCalled();
    gate.open();
    await worker.stop();
    await ended;
    await manager.close();
  });

  it('can be kept by another connection with its own limit', async () => {
    const { manager } = testApplication({ failed: { connection: 'memory', keep: 1 } });

    expect([manager.failedConnection, manager.keptFailures]).toEqual(['memory', 1]);
    await manager.close();
  });

  it.each([
    [{ keep: 0 }, 'failed: keep: expected a whole number from 1, or Infinity, got 0'],
    [{ kept: 3 }, "failed: expected { connection, keep }, got 'kept'"],
    [{ connection: 'nowhere' }, "failed.connection: there is no connection 'nowhere'"],
  ])('are refused an invalid limit: %j', (failed, message) => {
    expect(() => testApplication({ failed: failed as object })).toThrow(message);
  });
});

describe('the limit of failed jobs', () => {
  function given(keep: number) {
    const prune = jest.fn(async () => 0);
    const failed = jest.fn();
    return { prune, failed, cap: new FailedCap({ store: { prune }, keep, failed }) };
  }

  it('is enforced at the first failure on a queue, and then once for every hundredth of the limit', async () => {
    const { prune, cap } = given(1000);

    for (let n = 0; n < 21; n += 1) await cap.kept('mail');
    await cap.kept('reports');

    expect(prune.mock.calls).toHaveLength(4);
    expect(prune).toHaveBeenLastCalledWith({ queue: 'reports', keep: 1000 });
  });

  it('is enforced again at the next failure if the store was away', async () => {
    const { prune, failed, cap } = given(1000);
    prune.mockRejectedValueOnce(new Error('away'));

    await cap.kept('mail');
    await cap.kept('mail');

    expect(failed).toHaveBeenCalledWith(new Error('away'));
    expect(prune).toHaveBeenCalledTimes(2);
  });

  it('is enforced once for all failures that happen meanwhile', async () => {
    const { prune, cap } = given(1);
    let open: (pruned: number) => void = () => undefined;
    prune.mockReturnValueOnce(new Promise((resolve) => (open = resolve)));

    for (let n = 0; n < 50; n += 1) void cap.kept('mail');
    open(0);
    await cap.idle();
    expect(prune).toHaveBeenCalledTimes(2);

    await cap.kept('mail');
    expect(prune).toHaveBeenCalledTimes(3);
  });

  it('is counted for the last thousand queues, and enforced at once for a queue that was forgotten', async () => {
    const { prune, cap } = given(10_000);
    for (let n = 0; n < 3000; n += 1) await cap.kept(`queue-${n}`);

    expect([cap.kept('queue-2000'), cap.kept('queue-2999')]).toEqual([undefined, undefined]);
    await cap.kept('queue-1999');
    expect(prune).toHaveBeenCalledTimes(3001);
  });

  it('is not enforced if all are to be kept', () => {
    const { prune, cap } = given(Infinity);

    expect(cap.kept('mail')).toBeUndefined();
    expect(prune).not.toHaveBeenCalled();
  });
});
