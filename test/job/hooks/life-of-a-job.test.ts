/** The hooks that follow a job and its worker, in the order in which they are called. */
import type { HookName } from '../../../src/job/hooks';
import { Job } from '../../../src/job/job';
import type { JobContext } from '../../../src/job/job-context';
import { Worker } from '../../../src/worker/worker';
import { elapse, until } from '../../support/application';
import { application, gate, Note, ran, setTheScene } from '../../worker/scene';

setTheScene();

let told: string[];

@Job({ tries: 2, backoff: '5s' })
class Stumble extends Job {
  handle(): void {
    if (this.attempts === 1) throw new Error('not yet');
  }
}

@Job()
class Fails extends Job {
  handle(): void {
    throw new Error('never');
  }
}

const ALL: readonly HookName[] = [
  'queueing',
  'queued',
  'starting',
  'before',
  'exceptionOccurred',
  'after',
  'failing',
  'released',
  'cancelled',
  'attempted',
  'idle',
  'stopping',
];

function watch(...names: readonly HookName[]): void {
  for (const name of names) application.manager.hooks.on(name, () => void told.push(name));
}

const work = async (seconds = 0): Promise<void> => {
  const ended = new Worker({ drain: true }, application.manager).run();
  await elapse(application.clock, seconds);
  await ended;
};

beforeEach(() => {
  told = [];
});

it('the hooks of a job that completes are called in order', async () => {
  watch(...ALL);

  await application.bus.dispatch(new Note('a'));
  expect(told).toEqual(['queueing', 'queued']);
  await work();

  expect(told.slice(2)).toEqual(['starting', 'before', 'after', 'attempted', 'stopping']);
});

it('the hooks of a job that is retried are called in order, with one idle in between', async () => {
  await application.bus.dispatch(new Stumble());
  watch(...ALL);

  await work(6);

  expect(told).toEqual([
    ...['starting', 'before', 'exceptionOccurred', 'released', 'attempted'],
    ...['idle', 'before', 'after', 'attempted', 'stopping'],
  ]);
});

it('attempted tells the outcome of an attempt once it is stored', async () => {
  const seen: unknown[] = [];
  const tell = (job: JobContext, exception: Error | undefined): void => {
    const { isReleased, isDeleted, hasFailed, name, maxTries } = job;
    seen.push({ isReleased, isDeleted, hasFailed, name, maxTries, exception: exception?.message });
  };
  application.manager.hooks.on('attempted', ({ job, exception }) => tell(job, exception));
  await application.bus.bulk([new Stumble(), new Note('done'), new Fails()]);

  await work(6);

  const none = { isReleased: false, isDeleted: false, hasFailed: false, exception: undefined };
  expect(seen).toEqual([
    { ...none, name: 'Stumble', maxTries: 2, isReleased: true, exception: 'not yet' },
    { ...none, name: 'Note', maxTries: 1, isDeleted: true },
    { ...none, name: 'Fails', maxTries: 1, hasFailed: true, exception: 'never' },
    { ...none, name: 'Stumble', maxTries: 2, isDeleted: true },
  ]);
});

it('released tells the delay and the error, which is undefined if the job was deferred', async () => {
  const seen: unknown[] = [];
  application.manager.hooks.on('released', ({ delay, exception, job: { attempts } }) => {
    seen.push([delay, exception?.message, attempts]);
  });
  await application.bus.dispatch(new Stumble());
  await application.manager.connection().pushRaw('{"job":"Stranger","id":"s","attempts":0}', 'other');
  const { hooks } = application.manager;
  const takeOff: () => void = hooks.on('before', ({ job }) => (job.attempts === 2 ? defer(job) : undefined));
  const defer = (job: JobContext): void => {
    takeOff();
    job.defer('7s');
  };

  await work(20);

  expect(seen).toEqual([
    [5, 'not yet', 1],
    [7, undefined, 2],
  ]);
});

it('queueing and queued are called for every push, including bulk and raw ones', async () => {
  const seen: unknown[] = [];
  application.manager.hooks.on('queueing', ({ id, queue }) => void seen.push(['queueing', queue, id]));
  application.manager.hooks.on('queued', async (event) => {
    const { ready, delayed } = await application.manager.connection().counts(event.queue);
    seen.push(['queued', event.queue, event.id, ready + delayed]);
  });
  const { connectionName } = await new Promise<{ connectionName: string }>((resolve) => {
    application.manager.hooks.on('queued', resolve);
    void application.bus.dispatch(new Note('a')).onQueue('one').delay('5s');
  });
  const one = seen.splice(0).map((line) => (line as unknown[])[2]);
  const [first, second] = await application.manager.connection().bulk([new Note('b'), new Note('c')], 'two');
  await application.manager.connection().pushRaw('{"job":"x","id":"r"}', 'three');
  await application.manager.connection().pushRaw('{"job":"x"}', 'four');

  expect(connectionName).toBe('memory');
  expect(new Set(one).size).toBe(1);
  expect(seen).toEqual([
    ...[
      ['queueing', 'two', first],
      ['queueing', 'two', second],
      ['queued', 'two', first, 2],
      ['queued', 'two', second, 2],
    ],
    ...[
      ['queueing', 'three', 'r'],
      ['queued', 'three', 'r', 1],
    ],
    ...[
      ['queueing', 'four', undefined],
      ['queued', 'four', undefined, 1],
    ],
  ]);
});

it('queued is not called if the store refuses the job, and a hook that throws does not keep a job out of its queue', async () => {
  watch('queued');
  application.manager.hooks.on('queueing', () => {
    throw new Error('a hook');
  });
  const driver = application.manager.driver();
  jest.spyOn(driver, 'push').mockRejectedValueOnce(new Error('full'));

  await expect(application.bus.dispatch(new Note('refused'))).rejects.toThrow('full');
  expect(told).toEqual([]);
  await application.bus.dispatch(new Note('taken'));

  expect(told).toEqual(['queued']);
});

it('the worker waits for starting hooks, which may stop it', async () => {
  const worker = new Worker({}, application.manager);
  application.manager.hooks.on('starting', async ({ queue, connectionName }) => {
    ran.push(`${connectionName}, ${queue}`);
    await gate.opened;
  });
  await application.bus.dispatch(new Note('waits for it'));
  const ended = worker.run();
  await until(application.clock, () => ran.length === 1);
  await elapse(application.clock, 5);
  expect(ran).toEqual(['memory, default']);

  gate.open();
  await until(application.clock, () => ran.length === 2);
  await worker.stop();
  await ended;

  application.manager.hooks.on('starting', () => second.stop());
  const second = new Worker({}, application.manager);
  expect(await second.run()).toBe('stopped');
});

it('a starting hook that never resolves does not keep the worker from stopping', async () => {
  application.manager.hooks.on('starting', () => gate.opened);
  const worker = new Worker({}, application.manager);
  const ended = worker.run();

  void worker.stop();
  await elapse(application.clock, 40);

  expect(await ended).toBe('stopped');
});
