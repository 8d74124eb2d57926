import { Idle } from '../../src/worker/idle';
import { TestClock } from '../../src/testing/test-clock';
import { testApplication } from '../support/application';

function idleWorker(clock = new TestClock()): { readonly idle: Idle; readonly close: () => Promise<void> } {
  const { manager } = testApplication();
  const { hooks } = manager;
  const idle = new Idle({ connection: manager.driver(), queues: ['default'], sleep: 1, clock, hooks });
  return { idle, close: () => manager.close() };
}

describe('what a worker knows about the jobs in its store', () => {
  it('does not change within a step of its loop, or the worker would neither reserve a job that comes due nor wait', async () => {
    const clock = new TestClock();
    const { idle, close } = idleWorker(clock);
    idle.answered(idle.news, false, 1);

    await clock.advance('2s');
    expect(idle.mayHaveMore).toBe(false);

    idle.tellTime();
    expect(idle.mayHaveMore).toBe(true);
    await close();
  });

  it('is asked for again when two replies have crossed, because the later one may not know the next due job', async () => {
    const { idle, close } = idleWorker();
    const { news } = idle;
    idle.answered(news, false, 0.5);
    expect(idle.mayHaveMore).toBe(false);

    idle.answered(news, false, Infinity);
    expect(idle.mayHaveMore).toBe(true);
    await close();
  });
});
