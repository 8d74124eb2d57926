import { Queue } from 'onqueue';
import type { FakeQueue } from 'onqueue/testing';
import { MakeReport, RunScript, seen, SendReport } from './jobs';

let queue: FakeQueue;

beforeEach(() => {
  Queue.configure({ default: 'main', connections: { main: { driver: 'redis', retryAfter: '30s' } } });
  queue = Queue.fake();
});

afterEach(async () => {
  queue.restore();
  seen.length = 0;
  RunScript.script = () => undefined;
  await Queue.close();
});

describe('control calls under a fake', () => {
  it('cancel a waiting job, which still counts as pushed', async () => {
    const id = await MakeReport.dispatch().delay('1h');

    expect(await Queue.cancel(id)).toBe('removed');

    const report = await queue.drain({ delayed: true });
    expect([report.completed, report.cancelled]).toEqual([[], []]);
    queue.assertPushed(MakeReport, 1);
  });

  it('cancel a running job: its signal aborts at the next renewal, and the report lists it', async () => {
    const told: unknown[] = [];
    Queue.cancelled(({ job }) => void told.push(job.id));
    RunScript.script = async ({ id, signal }) => {
      told.push(await Queue.cancel(id));
      await queue.advance('15s');
      told.push((signal.reason as { code: string }).code);
      signal.throwIfAborted();
    };
    const id = await RunScript.dispatch();

    const { completed, cancelled, failed } = await queue.drain();

    expect(told).toEqual(['signalled', 'E_JOB_CANCELLED', id]);
    expect(cancelled).toMatchObject([{ id, outcome: 'cancelled' }]);
    expect([completed, failed]).toEqual([[], []]);
    expect(await Queue.size()).toBe(0);
  });

  it('keep the jobs of a paused queue until it is resumed', async () => {
    await SendReport.dispatch('later');
    await Queue.pause('reports');

    expect((await queue.drain({ delayed: true })).completed).toEqual([]);
    await Queue.resume('reports');

    expect((await queue.drain()).completed).toHaveLength(1);
  });

  it('call the hook lost for a lost job, as a worker does', async () => {
    const lost: unknown[] = [];
    Queue.lost(({ job, outcome }) => void lost.push(job.id, outcome));
    RunScript.script = () => Queue.clear();
    const id = await RunScript.dispatch();

    await queue.drain();

    expect(lost).toEqual([id, 'completed']);
  });
});
