import { Worker } from '../../src/worker/worker';
import { Veto } from '../../src/worker/veto';
import { resolveWorkerOptions, type WorkerOptions } from '../../src/worker/worker-options';
import { Gate, until as untilOn } from '../support/application';
import { application, Note, ran, setTheScene } from './scene';

setTheScene();

const worker = (options: WorkerOptions = {}): Worker => new Worker(options, application.manager);
const counts = (queue = 'default'): Promise<object> => application.manager.driver().queues.counts(queue);

const veto = (): Veto => {
  const { manager } = application;
  const connection = manager.driver();
  const options = resolveWorkerOptions({});
  const queues = [{ name: 'default', weight: 1 }];
  const kept = { failedStore: undefined, records: undefined, process: {} };
  const settings = { name: 'here', options, connection, queues, lease: 30, application: manager, ...kept };
  return new Veto(settings, () => undefined);
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
    const hooks = veto();
    expect(hooks.allows()).toBe(false);

    await clock.advance('2s');
    expect(hooks.until).toBeLessThan(Infinity);

    hooks.tellTime(clock.monotonic());
    expect(hooks.until).toBe(Infinity);
  });

  it('gives an answer for one reserve within the following step, because the hooks may answer differently later', async () => {
    const { manager, clock } = application;
    manager.hooks.on('looping', () => true);
    const hooks = veto();
    expect(hooks.allows()).toBe(false);
    await clock.advance(0);
    hooks.tellTime(clock.monotonic());
    expect([hooks.allows(), hooks.allows()]).toEqual([true, false]);

    await clock.advance(0);
    hooks.tellTime(clock.monotonic());
    hooks.tellTime(clock.monotonic());
    expect(hooks.allows()).toBe(false);
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
