import { Idle } from '../../src/worker/idle';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { Gate, until as untilOn } from '../support/application';
import { application, Note, ran, setTheScene } from './scene';

setTheScene();

const worker = (options: WorkerOptions = {}): Worker => new Worker(options, application.manager);
const counts = (queue = 'default'): Promise<object> => application.manager.driver().counts(queue);

const idleWorker = (): Idle => {
  const { manager, clock } = application;
  return new Idle({ connection: manager.driver(), queues: ['default'], sleep: 1, clock, hooks: manager.hooks });
};

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

describe('looping', () => {
  it('is called before each reserve, and a veto prevents reserves for the time of sleep', async () => {
    await application.bus.dispatch(new Note('a'));
    let allowed = false;
    application.manager.hooks.on('looping', () => allowed);
    const running = worker({ sleep: '5s' });
    void running.run();

    await application.clock.advance('4s');
    expect(ran).toEqual([]);
    allowed = true;
    await application.clock.advance('1s');
    await until(() => ran.length === 1);

    await running.stop();
  });

  it('keeps a veto for a whole step of the loop, or the worker would neither reserve nor wait', async () => {
    const { manager, clock } = application;
    manager.hooks.on('looping', () => false);
    const idle = idleWorker();
    expect(idle.isAllowed()).toBe(false);

    await clock.advance('2s');
    expect(idle.isHeldBack).toBe(true);

    idle.tellTime();
    expect(idle.isHeldBack).toBe(false);
  });

  it('gives an answer for one reserve within the following step, because the hooks may answer differently later', async () => {
    const { manager, clock } = application;
    manager.hooks.on('looping', () => true);
    const idle = idleWorker();
    const asked = async (): Promise<void> => {
      expect(idle.isAllowed()).toBe(false);
      await clock.advance(0);
    };
    await asked();
    idle.tellTime();
    expect([idle.isAllowed(), idle.isAllowed()]).toEqual([true, false]);

    await clock.advance(0);
    idle.tellTime();
    idle.tellTime();
    expect(idle.isAllowed()).toBe(false);
  });

  it('counts a veto as an empty queue for stopWhenEmpty', async () => {
    await application.bus.dispatch(new Note('a'));
    application.manager.hooks.on('looping', () => false);

    expect(await worker({ stopWhenEmpty: true }).run()).toBe('empty');
    expect(ran).toEqual([]);
  });

  it('counts a veto as an empty queue for once', async () => {
    application.manager.hooks.on('looping', () => false);

    const ended = worker({ once: true, sleep: '3s' }).run();
    await application.clock.advance('3s');

    expect(await ended).toBe('empty');
  });

  it('never delays a settle, however long a hook takes', async () => {
    await application.bus.bulk(['a', 'b'].map((text) => new Note(text)));
    const slow = new Gate();
    let asked = 0;
    application.manager.hooks.on('looping', () => {
      asked += 1;
      return asked === 1 ? true : slow.opened;
    });
    const running = worker();
    void running.run();

    await until(() => ran.length === 1);
    await application.clock.advance('1s');
    expect(await counts()).toEqual({ ready: 1, delayed: 0, reserved: 0 });

    slow.open();
    await running.stop();
  });
});
