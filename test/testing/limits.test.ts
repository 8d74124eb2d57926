import { deferOn, Job, type Middleware, Queue, rateLimited, throttleExceptions, withoutOverlapping } from 'onqueue';
import { runJob, TestClock } from 'onqueue/testing';

class Busy extends Error {}

/** What the jobs of this file do. */
let behave: () => unknown;

@Job({ tries: 1 })
class Limited extends Job {
  constructor(readonly by: 'rate' | 'overlap' | 'throttle' | 'defer') {
    super();
  }
  middleware(): Middleware[] {
    const layers = {
      rate: () => rateLimited('psp', { allow: 2, every: '1m' }),
      overlap: () => withoutOverlapping('card', { wait: '10s' }),
      throttle: () => throttleExceptions({ after: 1, within: '1m', wait: '5m', only: [Busy] }),
      defer: () => deferOn(Busy, () => '30s'),
    };
    return [layers[this.by]()];
  }
  handle(): unknown {
    return behave();
  }
}

const busy = (): never => {
  throw new Busy('busy');
};

beforeEach(() => {
  behave = () => undefined;
  Queue.configure({ connections: { main: { driver: 'redis', url: 'redis://127.0.0.1:1' } } });
});
afterEach(() => Queue.close());

describe('limits under a fake', () => {
  it('obey its clock: rateLimited', async () => {
    using queue = Queue.fake();
    for (let count = 0; count < 3; count += 1) await Limited.dispatch('rate');
    const { completed, released } = await queue.drain();
    expect([completed.length, released.length]).toEqual([2, 1]);
    expect(released[0]!.delay).toBeGreaterThan(60);

    await queue.advance('61s');
    expect((await queue.drain()).completed).toHaveLength(1);
  });

  it('let a drain of delayed jobs move the clock to each slot', async () => {
    using queue = Queue.fake();
    for (let count = 0; count < 7; count += 1) await Limited.dispatch('rate');
    const { completed, released, failed } = await queue.drain({ delayed: true });
    expect([completed.length, released.length, failed.length]).toEqual([7, 5, 0]);
  });

  it('obey its clock: withoutOverlapping', async () => {
    using queue = Queue.fake();
    await Limited.dispatch('overlap');
    await Limited.dispatch('overlap');
    behave = async () => {
      behave = () => undefined;
      // Another worker takes the second job while the first runs.
      expect((await queue.drain()).released).toHaveLength(1);
    };
    expect((await queue.drain()).completed).toHaveLength(1);
    await queue.advance('12s');
    expect((await queue.drain()).completed).toHaveLength(1);
  });

  it('obey its clock: throttleExceptions', async () => {
    using queue = Queue.fake();
    await Limited.dispatch('throttle');
    await Limited.dispatch('throttle');
    behave = busy;
    const { failed, released } = await queue.drain();
    expect([failed.length, released.length]).toEqual([1, 1]);

    behave = () => undefined;
    await queue.advance('5m');
    expect((await queue.drain({ delayed: true })).completed).toHaveLength(1);
  });

  it('obey its clock: deferOn', async () => {
    using queue = Queue.fake();
    await Limited.dispatch('defer');
    behave = busy;
    expect((await queue.drain()).released).toMatchObject([{ delay: 30, attempts: 1 }]);
    behave = () => undefined;
    await queue.advance('30s');
    expect((await queue.drain()).completed).toMatchObject([{ attempts: 1 }]);
  });

  it('tell whoever runs a job at once that it may not start', async () => {
    using queue = Queue.fake();
    await Limited.dispatchSync('rate');
    await Limited.dispatchSync('rate');
    const refusal = { code: 'E_LIMIT_REACHED', facts: { layer: 'rateLimited()', connection: 'sync' } };
    await expect(Limited.dispatchSync('rate')).rejects.toMatchObject(refusal);
    behave = busy;
    await expect(Limited.dispatchSync('defer')).rejects.toThrow('busy');
    queue.assertNothingPushed();
  });
});

describe('limits in runJob', () => {
  it('hold over all runs on one clock', async () => {
    const clock = new TestClock();
    for (let count = 0; count < 2; count += 1)
      expect((await runJob(new Limited('rate'), { clock })).outcome).toBe('completed');
    expect(await runJob(new Limited('rate'), { clock })).toMatchObject({ outcome: 'released' });
    await clock.advance('61s');
    expect((await runJob(new Limited('rate'), { clock })).outcome).toBe('completed');
  });

  it('know nothing of runs on another clock', async () => {
    for (let count = 0; count < 5; count += 1) expect((await runJob(new Limited('rate'))).outcome).toBe('completed');
  });

  it('hold over runs under a fake, whose clock they obey', async () => {
    using queue = Queue.fake();
    behave = busy;
    expect((await runJob(new Limited('throttle'))).outcome).toBe('failed');
    expect((await runJob(new Limited('throttle'))).outcome).toBe('released');
    await queue.advance('5m');
    expect((await runJob(new Limited('throttle'))).outcome).toBe('failed');
  });

  it('put a job off while another run has its key', async () => {
    const clock = new TestClock();
    behave = async () => {
      behave = () => undefined;
      expect(await runJob(new Limited('overlap'), { clock })).toMatchObject({ outcome: 'released' });
    };
    expect((await runJob(new Limited('overlap'), { clock })).outcome).toBe('completed');
    expect((await runJob(new Limited('overlap'), { clock })).outcome).toBe('completed');
  });
});
