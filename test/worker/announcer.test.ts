import { Job } from '../../src/job/job';
import type { Announcer } from '../../src/worker/announcer';
import { payloadOf, reserved } from '../support/reservation';
import { Act, act, application, calls, executor, setTheScene } from './executor-scene';

setTheScene();

let announcer: Announcer;

beforeEach(() => {
  announcer = executor.announcer;
});

describe('once an outcome is stored, the announcer', () => {
  it('calls failed() on a fresh instance, then the failing hooks', async () => {
    application.manager.hooks.on('failing', ({ exception }) => calls.push(`failing: ${exception.message}`));
    act.behave = (job) => {
      Object.assign(job, { line: 'changed by the run' });
      throw new Error('for good');
    };
    const job = reserved(application.manager, payloadOf(new Act('as dispatched')), { attempts: 3 });

    await announcer.announce(job, await executor.run(job));

    expect(calls).toEqual(['handle as dispatched', 'failed as dispatched: for good', 'failing: for good']);
  });

  it('reports an error thrown by failed() and goes on', async () => {
    @Job()
    class FailsTwice extends Job {
      handle(): void {
        throw new Error('first');
      }
      failed(): void {
        throw new Error('second');
      }
    }
    const reported: unknown[] = [];
    application.manager.onError((error, { during }) => reported.push(during, (error as Error).message));
    const job = reserved(application.manager, payloadOf(new FailsTwice()));

    await announcer.announce(job, await executor.run(job));

    expect(reported).toEqual(['failed() of FailsTwice', 'second']);
  });

  it('calls the after hooks for a completed job, but not for a released one', async () => {
    act.behave = () => undefined;
    application.manager.hooks.on('after', () => calls.push('after'));
    const completed = reserved(application.manager, payloadOf(new Act()));
    await announcer.announce(completed, await executor.run(completed));
    act.behave = (job) => job.release();
    const released = reserved(application.manager, payloadOf(new Act()));
    await announcer.announce(released, await executor.run(released));

    expect(calls).toEqual(['handle line', 'after', 'handle line']);
  });

  it('waits for hooks only if one of them is async', async () => {
    act.behave = () => undefined;
    const job = reserved(application.manager, payloadOf(new Act()));
    const outcome = await executor.run(job);
    application.manager.hooks.on('after', () => void calls.push('sync'));
    expect(announcer.announce(job, outcome)).toBeUndefined();

    application.manager.hooks.on('after', async () => void calls.push('async'));
    await announcer.announce(job, outcome);

    expect(calls).toEqual(['handle line', 'sync', 'sync', 'async']);
  });
});
