import { Job } from '../../src/job/job';
import { processWorker, type Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { until as untilOn } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';

setTheScene();

/** Ignores its signal. */
@Job({ timeout: '1s' })
class Hangs extends Job {
  async handle(): Promise<void> {
    ran.push('hangs');
    await gate.opened;
  }
}

const worker = (options: WorkerOptions = {}, endsProcess = false): Worker =>
  processWorker({ grace: '1s', ...options }, application.manager, { endsProcess });
const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

/** Moves the clock past timeout and grace of `count` jobs that hang. */
async function givesUp(count: number): Promise<void> {
  await until(() => ran.length === count);
  await application.clock.advance('1s');
  await application.clock.advance('1s');
}

describe('a worker whose slots are all held by handlers that were given up', () => {
  it('is neither live nor ready until one of them returns', async () => {
    await application.bus.bulk([new Hangs(), new Hangs()]);
    const stuck = worker({ concurrency: 2 });
    const ended = stuck.run();
    await givesUp(2);
    await until(() => stuck.health().outcomes.failed === 2);
    expect(stuck.health()).toMatchObject({ state: 'running', live: false, ready: false, running: 2 });

    gate.open();
    await until(() => stuck.health().ready);

    expect(stuck.health()).toMatchObject({ live: true, running: 0 });
    await stuck.stop();
    expect(await ended).toBe('stopped');
  });

  it('logs once which jobs hold the slots, for how long, and that it takes no more jobs', async () => {
    await application.bus.dispatch(new Hangs());
    const stuck = worker();
    void stuck.run();
    await givesUp(1);
    await until(() => application.log.messages('error').length === 2);
    await application.bus.dispatch(new Note('waits'));
    await application.clock.advance('10s');

    const [said, , ...others] = application.log.messages('error');
    expect(said).toMatch(
      /^Each slot of the worker is held by a job that was given up .*: Hangs [-0-9a-f]{36} \(2 s\)\. The worker takes no/,
    );
    expect(others).toEqual([]);
    expect(ran).toEqual(['hangs']);
  });

  it('ends in a process of the command once their outcomes are stored', async () => {
    await application.bus.bulk([new Hangs(), new Hangs(), new Note('for the next process')]);
    const ended = worker({ concurrency: 2 }, true).run();
    await givesUp(2);

    expect(await ended).toBe('stuck');
    expect(await application.manager.connection().counts()).toMatchObject({ ready: 1, reserved: 0 });
    expect(application.log.messages('error')).toContainEqual(expect.stringContaining('The process ends, and with it'));
  });

  it('ends as empty under stopWhenEmpty if nothing is left', async () => {
    await application.bus.dispatch(new Hangs());
    const ended = worker({ stopWhenEmpty: true }, true).run();
    await givesUp(1);

    expect(await ended).toBe('empty');
  });
});

it('a worker with a free slot beside those of given-up handlers goes on', async () => {
  await application.bus.bulk([new Hangs(), new Note('beside')]);
  const alive = worker({ concurrency: 2 }, true);
  void alive.run();
  await givesUp(2);
  await until(() => alive.health().outcomes.failed === 1);

  expect(alive.health()).toMatchObject({ state: 'running', live: true, ready: true, running: 1 });
  await application.bus.dispatch(new Note('goes on'));
  await until(() => ran.includes('goes on'));
});
