/** A job learns at once that its worker is to stop, and is cut short only when the grace is over. */
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse, until as untilOn } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';

setTheScene();

let running: JobContext;

/** Defers itself as soon as it is told of the end, in the manner of a long import. */
@Job({ timeout: 0 })
class Import extends Job {
  async handle(): Promise<void> {
    running = this.job;
    this.signal.addEventListener('abort', () => ran.push('cut short'));
    this.job.stopping.addEventListener('abort', () => ran.push('told'));
    await gate.opened;
  }
}

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

async function start(options: WorkerOptions = {}): Promise<{ worker: Worker; ended: Promise<string> }> {
  await application.bus.dispatch(new Import());
  const worker = new Worker(options, application.manager);
  const ended = worker.run();
  await until(() => running !== undefined);
  return { worker, ended };
}

beforeEach(() => {
  running = undefined!;
});

it('is told at once by stop(), and its signal aborts when the grace is over', async () => {
  const { worker, ended } = await start({ grace: '10s' });

  void worker.stop();
  expect(ran).toEqual(['told']);
  expect(running.stopping.reason).toMatchObject({ code: 'E_WORKER_STOPPING' });
  await elapse(application.clock, 9);
  expect(ran).toEqual(['told']);
  await elapse(application.clock, 7);

  expect(ran).toEqual(['told', 'cut short']);
  expect(await ended).toBe('stopped');
});

it('goes on elsewhere at no cost in tries where it defers itself', async () => {
  const { worker, ended } = await start();
  running.stopping.addEventListener('abort', () => {
    running.defer();
    gate.open();
  });

  void worker.stop();

  expect(await ended).toBe('stopped');
  const [job] = await application.manager.driver().peek('default', 'ready', 1);
  expect(job?.payload.toString()).toMatch(/"releases":1,"attempts":0}$/);
});

it('is told where it looks only then', async () => {
  const seen: boolean[] = [];
  @Job()
  class LooksLate extends Job {
    async handle(): Promise<void> {
      ran.push('started');
      await gate.opened;
      seen.push(this.job.stopping.aborted);
    }
  }
  await application.bus.dispatch(new LooksLate());
  const worker = new Worker({}, application.manager);
  void worker.run();
  await until(() => ran.length === 1);
  const stopped = worker.stop();
  gate.open();
  await stopped;

  expect(seen).toEqual([true]);
});

it('is told when maxTime is over', async () => {
  const { ended } = await start({ maxTime: '5s', concurrency: 2 });

  await elapse(application.clock, 6);

  expect(ran).toEqual(['told']);
  gate.open();
  expect(await ended).toBe('max-time');
});

it('is told when all workers are to start anew', async () => {
  const { ended } = await start({ concurrency: 2 });
  await application.manager.driver().control!.restart();

  await elapse(application.clock, 3);

  expect(ran).toEqual(['told']);
  gate.open();
  expect(await ended).toBe('restart');
});

it.each<[string, WorkerOptions]>([
  ['once', { once: true }],
  ['max-jobs', { maxJobs: 2, concurrency: 3 }],
])('is not told where the worker has nothing more to do: %s', async (reason, options) => {
  const { ended } = await start(options);
  await application.bus.dispatch(new Note('beside it'));
  await elapse(application.clock, 3);

  expect(ran).not.toContain('told');
  gate.open();
  expect(await ended).toBe(reason);
});
