import '../../src/composition';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import { replaceDefaultManager } from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import type { QueueManager } from '../../src/application/queue-manager';
import { Worker } from '../../src/worker/worker';
import { Gate } from '../support/application';
import { type WatchedApplication, watchedApplication } from '../support/watched-application';

/** Dispatched by the steps of a run. No worker takes it. */
@Job({ queue: 'followed' })
class Followed extends Job {
  constructor(readonly from: string) {
    super();
  }
}

@Job()
class Leading extends Job {
  constructor(
    readonly name: string,
    readonly fails = false,
  ) {
    super();
  }

  middleware() {
    return [
      async (_job: JobContext, next: () => Promise<unknown>): Promise<void> => {
        await Followed.dispatch(`middleware of ${this.name}`);
        await next();
      },
    ];
  }

  async handle(): Promise<void> {
    met += 1;
    if (met === 2) both.open();
    await both.opened;
    await Followed.dispatch(`handle of ${this.name}`);
    await Queue.pushOn('followed', new Followed(`Queue in handle of ${this.name}`));
    void Followed.dispatch(`forgotten of ${this.name}`);
    if (this.fails) throw new Error('It fails.');
  }

  async failed(): Promise<void> {
    await Followed.dispatch(`failed of ${this.name}`);
  }
}

/** Opens once a job of each manager runs. */
let both: Gate;
let met: number;
let front: WatchedApplication;
let own: WatchedApplication;
let before: QueueManager | undefined;

const CONNECTIONS = { default: 'main', connections: { main: { driver: 'memory' }, sync: { driver: 'sync' } } } as const;

beforeEach(() => {
  both = new Gate();
  met = 0;
  [front, own] = [watchedApplication(CONNECTIONS), watchedApplication(CONNECTIONS)];
  before = replaceDefaultManager(front.manager);
});

afterEach(async () => {
  replaceDefaultManager(before);
  await Promise.all([front.manager.close(), own.manager.close()]);
});

/** The jobs dispatched to the store of an application, sorted. */
async function followed({ watched }: WatchedApplication): Promise<string[]> {
  const payloads = await watched().payloads('followed');
  return payloads.map(({ data }) => (data as { command: { from: string } }).command.from).toSorted();
}

const busOf = ({ manager }: WatchedApplication): JobBus => new JobBus(() => manager);

describe('a worker of a second manager', () => {
  it('makes its jobs dispatch to that manager, even while a worker of the default manager runs', async () => {
    await Promise.all([
      busOf(own).dispatch(new Leading('own', true)),
      busOf(front).dispatch(new Leading('front', true)),
    ]);

    await Promise.all([
      new Worker({ stopWhenEmpty: true, queue: 'default' }, own.manager).run(),
      new Worker({ stopWhenEmpty: true, queue: 'default' }).run(),
    ]);
    await Promise.all([own.manager.outbox.flush(), front.manager.outbox.flush()]);

    const steps = ['Queue in handle', 'failed', 'forgotten', 'handle', 'middleware'];
    expect(await followed(own)).toEqual(steps.map((step) => `${step} of own`));
    expect(await followed(front)).toEqual(steps.map((step) => `${step} of front`));
  });

  it('makes its hooks and its onError dispatch to that manager too', async () => {
    both.open();
    const { hooks } = own.manager;
    const names = ['looping', 'before', 'exceptionOccurred', 'failing', 'after', 'stopping'] as const;
    for (const name of names) {
      const off = hooks.on(name, async () => {
        off(); // once is enough
        await Followed.dispatch(name);
        if (name === 'stopping') throw new Error('It is heard by onError.');
      });
    }
    own.manager.onError(async () => void (await Followed.dispatch('onError')));
    await busOf(own).dispatch(new Leading('a'));
    await busOf(own).dispatch(new Leading('b', true));

    await new Worker({ stopWhenEmpty: true, queue: 'default' }, own.manager).run();
    await own.manager.outbox.flush();

    expect(await followed(own)).toEqual(expect.arrayContaining([...names, 'onError']));
    expect(await followed(front)).toEqual([]);
  });
});

describe('a job that a second manager runs synchronously', () => {
  it.each([
    ['dispatchSync', (bus: JobBus) => bus.dispatchSync(new Leading('own'))],
    ['the sync connection', (bus: JobBus) => bus.dispatch(new Leading('own')).onConnection('sync')],
    ['dispatchNow', (bus: JobBus) => bus.dispatchNow(new Leading('own'))],
  ])('dispatches to that manager: %s', async (_way, run) => {
    both.open();

    await run(busOf(own));
    await own.manager.outbox.flush();

    expect(await followed(own)).toEqual(expect.arrayContaining(['handle of own', 'forgotten of own']));
    expect(await followed(front)).toEqual([]);
  });
});

describe('a job of a second manager that uses Queue', () => {
  it('adds connectors to that manager and closes it', async () => {
    @Job()
    class Closing extends Job {
      async handle(): Promise<void> {
        Queue.addConnector('null', () => own.watched());
        await Queue.close();
      }
    }
    const added = jest.spyOn(own.manager, 'addConnector');

    await busOf(own).dispatchNow(new Closing());

    expect(added).toHaveBeenCalledTimes(1);
    expect(() => own.manager.driver()).toThrow(expect.objectContaining({ code: 'E_MANAGER_CLOSED' }));
    expect(front.manager.driver().name).toBe('main');
  });
});
