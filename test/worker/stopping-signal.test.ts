/** A job is told at once that its worker stops, and is aborted only when the grace is over. */
import { getMaxListeners } from 'node:events';
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse, until as untilOn } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';

setTheScene();

let running: JobContext;

/** A long job that can stop early when it is told to. */
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

it('a job is told at once by stop(), and its signal aborts when the grace is over', async () => {
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

it('a job that defers itself when it is told continues elsewhere without losing a try', async () => {
  const { worker, ended } = await start();
  running.stopping.addEventListener('abort', () => {
    running.defer();
    gate.open();
  });

  void worker.stop();

  expect(await ended).toBe('stopped');
  const [job] = await application.manager.driver().queues.peek!('default', 'ready', 1);
  expect(job?.payload.toString()).toMatch(/"releases":1,"attempts":0}$/);
});

it('a job that first looks at its stopping signal after the stop sees it aborted', async () => {
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

it('a job is told when maxTime is over', async () => {
  const { ended } = await start({ maxTime: '5s', concurrency: 2 });

  await elapse(application.clock, 6);

  expect(ran).toEqual(['told']);
  gate.open();
  expect(await ended).toBe('max-time');
});

it('a job is told when all workers are to restart', async () => {
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
])('a job is not told if the worker only waits for its last jobs: %s', async (reason, options) => {
  const { ended } = await start(options);
  await application.bus.dispatch(new Note('beside it'));
  await elapse(application.clock, 3);

  expect(ran).not.toContain('told');
  gate.open();
  expect(await ended).toBe(reason);
});

it('a job may listen to its signals in any number of places without being taken for a leak', async () => {
  await start();

  expect([running.signal, running.stopping].map((signal) => getMaxListeners(signal))).toEqual([Infinity, Infinity]);
});
