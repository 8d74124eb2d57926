/** What happens to outcomes that a database refuses: a worker on its tables, and jobs that end in all ways. */
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import type { Configuration } from '../../../src/application/configuration/configuration';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';

@Job({ tries: 2, maxExceptions: 1 })
export class Ends extends Job {
  constructor(
    readonly how: 'completes' | 'releases' | 'fails' | 'stays',
    readonly filling = '',
  ) {
    super();
  }
  handle(): void {
    if (this.how === 'releases') this.release('1h');
    if (this.how === 'fails') throw new Error('long '.repeat(4000));
  }
}

export interface Working {
  readonly manager: QueueManager;
  readonly bus: JobBus;
  readonly worker: Worker;
  readonly log: RecordingLogger;
}

export class Workings {
  readonly #closing: (() => Promise<void>)[] = [];

  start(configuration: Configuration): Working {
    const log = new RecordingLogger();
    const manager = new QueueManager({ connectors: builtInConnectors, logger: log }, configuration);
    const worker = new Worker({ concurrency: 4, sleep: '100ms' }, manager);
    const ended = worker.run();
    this.#closing.push(async () => {
      await worker.stop();
      await ended;
      await manager.close();
    });
    return { manager, bus: new JobBus(() => manager), worker, log };
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0)) await close();
  }
}

/** Statements that make the tables of a test refuse certain outcomes. */
export interface Forbidding {
  /** Exceptions of more than 1000 characters. */
  readonly longExceptions: () => Promise<unknown>;
  /** Jobs that are delayed. */
  readonly delays: () => Promise<unknown>;
  /** To remove jobs whose payload holds `stays`. */
  readonly removals: () => Promise<unknown>;
  /** To add jobs whose payload holds `closed`. */
  readonly additions: () => Promise<unknown>;
}

export function describeRefusals(configuration: () => Promise<Configuration>, forbid: Forbidding): void {
  const workings = new Workings();
  const good = Array.from({ length: 40 }, () => new Ends('completes'));

  afterEach(() => workings.close());

  async function run(bad: Ends, outcomes: object): Promise<Working> {
    const working = workings.start(await configuration());
    await working.bus.bulk([...good.slice(0, 20), bad, ...good.slice(20)]);
    await eventually(() => {
      expect(working.worker.health()).toMatchObject({ ready: true, outcomes });
      return true;
    });
    return working;
  }
  const errorOf = ({ log }: Pick<Working, 'log'>): object | undefined =>
    log.lines.find(({ level }) => level === 'error');

  it('an error that a constraint refuses is stored in a shortened form', async () => {
    await forbid.longExceptions();
    const working = await run(new Ends('fails'), { completed: 40, failed: 1, lost: 0 });
    const [entry] = await working.manager.failed.list();
    expect(entry!.exception).toMatch(/^Error: long /);
    expect(errorOf(working)).toMatchObject({
      facts: { code: 'E_DATABASE_REFUSED', job: 'Ends', outcome: 'failed' },
      message: expect.stringContaining('migrate --connection=main') as string,
    });
  });

  it('a job that a constraint keeps out of its queue fails and can be retried', async () => {
    await forbid.delays();
    const working = await run(new Ends('releases'), { completed: 40, failed: 1, lost: 0 });
    const [entry] = await working.manager.failed.list();
    expect(entry!.exception).toContain('The store refused the outcome of Ends');
    expect(await working.manager.failed.retry(entry!.id)).toBe(true);
  });

  it('a job that a trigger keeps from being removed stays with its worker and holds up no other', async () => {
    await forbid.removals();
    const working = await run(new Ends('stays'), { completed: 40, failed: 0, lost: 0 });
    await eventually(() => errorOf(working));
    expect(errorOf(working)).toMatchObject({ facts: { code: 'E_DATABASE_REFUSED', outcome: 'completed' } });
    expect(await working.manager.driver().queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 1 });
    expect(working.worker.health().ready).toBe(true);
  });

  it('a job whose next link a trigger refuses fails, pushes nothing, and holds up no other', async () => {
    await forbid.additions();
    const { bus, manager, worker, log } = workings.start(await configuration());
    const chains = Array.from({ length: 10 }, (_, at) =>
      bus.chain([new Ends('completes'), new Ends('completes', at === 5 ? 'closed' : '')]).dispatch(),
    );
    await Promise.all(chains);
    await eventually(() => {
      expect(worker.health()).toMatchObject({ ready: true, outcomes: { completed: 18, failed: 1, lost: 0 } });
      return true;
    });
    expect(await eventually(() => errorOf({ log }))).toMatchObject({ facts: { outcome: 'completed' } });
    expect(await manager.driver().queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
    expect(await manager.failed.list()).toMatchObject([{ name: 'Ends' }]);
  });
}
