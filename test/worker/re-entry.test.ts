import { Job } from '../../src/job/job';
import { closeDefaultManager, defaultManager, replaceDefaultManager } from '../../src/application/default-manager';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { until } from '../support/application';
import { application, Note, ran, setTheScene } from './scene';

setTheScene();

let worker: Worker;
let meanwhile: () => Promise<unknown>;

@Job({ timeout: 0 })
class Calls extends Job {
  constructor(readonly fails = false) {
    super();
  }
  async handle(): Promise<void> {
    if (this.fails) throw new Error('refused');
    await meanwhile();
    ran.push('came back');
  }
  async failed(): Promise<void> {
    await meanwhile();
    ran.push('failed() came back');
  }
}

/** Runs a worker without moving the clock, so that a job that waits for its own end would hang. */
async function works(job: object, options: WorkerOptions = {}): Promise<string | undefined> {
  await application.bus.dispatch(job);
  worker = new Worker(options, application.manager);
  let reason: string | undefined;
  void worker.run().then((given) => (reason = given));
  await until(application.clock, () => reason !== undefined);
  return reason;
}

describe('a worker still ends despite', () => {
  it('a job that waits for stop()', async () => {
    meanwhile = () => worker.stop();

    expect(await works(new Calls())).toBe('stopped');
    expect(ran).toEqual(['came back']);
    expect(worker.health().outcomes.completed).toBe(1);
  });

  it('a job that runs another job synchronously, which waits for stop()', async () => {
    meanwhile = () => {
      meanwhile = () => worker.stop();
      return application.bus.dispatchSync(new Calls());
    };

    expect(await works(new Calls())).toBe('stopped');
    expect(ran).toEqual(['came back', 'came back']);
  });

  it('failed() that waits for stop()', async () => {
    meanwhile = () => worker.stop();

    expect(await works(new Calls(true))).toBe('stopped');
    expect(ran).toEqual(['failed() came back']);
  });

  it.each(['before', 'after', 'stopping'] as const)('a hook %s that waits for stop()', async (hook) => {
    const heard = async (): Promise<void> => {
      await worker.stop();
      ran.push('hook came back');
    };
    application.manager.hooks.on(hook, heard);

    expect(await works(new Note('ran'), { maxJobs: 1 })).toMatch(/stopped|max-jobs/);
    expect(ran.toSorted()).toEqual(['hook came back', 'ran']);
  });

  it('a job that waits for its application to close, and the job is still settled', async () => {
    meanwhile = () => application.manager.close();

    expect(await works(new Calls())).toBe('stopped');
    expect(worker.health().outcomes.completed).toBe(1);
    await application.manager.close();
    expect(() => application.manager.driver()).toThrow('This QueueManager was closed');
  });

  it('a job that waits for Queue.close(), and Queue belongs to its application until the end', async () => {
    const before = replaceDefaultManager(application.manager);
    let found: unknown;
    meanwhile = async () => {
      await closeDefaultManager();
      found = defaultManager();
    };

    expect(await works(new Calls())).toBe('stopped');
    expect(found).toBe(application.manager);
    await application.manager.close();
    expect(replaceDefaultManager(before)).toBeUndefined();
  });
});

it('stop() called in a job waits for another worker, and called outside of jobs for its own', async () => {
  meanwhile = async () => {
    const other = new Worker({}, application.manager);
    void other.run();
    await other.stop();
    ran.push(`other ${other.health().state}`);
  };

  expect(await works(new Calls(), { maxJobs: 1 })).toBe('max-jobs');
  await worker.stop();

  expect(ran).toEqual(['other stopped', 'came back']);
});
