/** The store's clock is moved by an hour and back while jobs are delayed and others run. */
import { systemClock } from '../../../src/base/clock';
import { connectRedis } from '../../../src/connections/redis/connection';
import { builtInConnectors, QueueManager, silentLogger, Worker } from '../../../src/index';
import { eventually } from '../../support/eventually';
import { Take } from '../kit/programs/jobs';
import { note, openLedger } from '../kit/programs/pen';
import { Stage } from '../kit/stage';
import { atMost, tally, type Soak } from './soak';

interface Size {
  /** The number of jobs of each kind. */
  readonly jobs: number;
}

/** Longer than the whole soak, so that only the moved clock ends a lease. */
const LEASE = 600;
/** Milliseconds. Long enough to be running when the clock is moved ahead. */
const RUNS = 2000;
const HOUR = 3600;
const SOON = '30m';
const LATE = '90m';

export const movedClock: Soak<Size> = {
  name: 'clock',
  title: "the store's clock moved back and ahead by hours",
  figure:
    'none earlier than the jump explains, none lost, none run twice (except jobs running while the clock jumps ahead)',
  stores: ['redis', 'sqlite'],
  sizes: { test: { jobs: 50 }, soak: { jobs: 2000 }, full: { jobs: 2000 } },

  async play(store, { jobs }) {
    const stage = await Stage.open(store, { lease: LEASE });
    const moved = new MovedClock(stage);
    try {
      openLedger(stage.ledger.file);
      const soon = await stage.dispatch(Array.from({ length: jobs }, () => new Take(0).delay(SOON)));
      const late = await stage.dispatch(Array.from({ length: jobs }, () => new Take(0).delay(LATE)));
      const offences: string[] = [];
      const expectDone = async (when: string, done: readonly string[], waiting: readonly string[]): Promise<void> => {
        // This job is ready now and comes after all due ones, so when it is done they are done too.
        const [mark] = await stage.dispatch([new Take(0)]);
        const isDone = (): boolean => isAllDone(stage, [...done, mark!]);
        await eventually(isDone, { deadline: 150_000, of: when }).catch((error: Error) => offences.push(error.message));
        const early = new Set(stage.ledger.lines.map(({ id }) => id));
        const found = waiting.filter((id) => early.has(id)).length;
        if (found > 0) offences.push(`${when}, ${found} jobs ran before their time`);
      };
      const running = await stage.dispatch(Array.from({ length: 4 }, () => new Take(RUNS)));
      moved.startWorkers();
      await expectDone('with the clock as it was', [], [...soon, ...late]);
      moved.to(-HOUR);
      await expectDone('an hour back', [], [...soon, ...late]);
      moved.to(0);
      await expectDone('with the clock as it was again', [], [...soon, ...late]);
      moved.to(HOUR);
      await expectDone('an hour ahead', soon, late);
      moved.to(2 * HOUR);
      await expectDone('two hours ahead', [...late, ...running], []);
      await moved.stop();

      // A clock that jumps ahead by more than a lease ends all leases, even of live workers.
      stage.disturbed.add(process.pid);
      const account = await stage.account();
      const doubled = runsOfOthers(stage, running) - (account.dispatched - running.length);
      return {
        reached: `${tally(account)}, all of them among ${running.length} that ran while the clock went ahead`,
        offences: [...offences, ...account.offences, ...atMost('the number of other jobs run twice', doubled, 0)],
      };
    } finally {
      await moved.stop();
      await stage.close();
    }
  },
};

const isAllDone = ({ ledger }: Stage, ids: readonly string[]): boolean => {
  const done = new Set(ledger.lines.filter(({ event }) => event === 'completed').map(({ id }) => id));
  return ids.every((id) => done.has(id));
};

const runsOfOthers = ({ ledger }: Stage, running: readonly string[]): number =>
  ledger.lines.filter(({ event, id }) => event === 'started' && !running.includes(id)).length;

/** Workers whose store has a clock of its own. Each has its own connections, as in a separate process. */
class MovedClock {
  readonly #stage: Stage;
  readonly #managers: QueueManager[] = [];
  #offset = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  to(seconds: number): void {
    this.#offset = seconds;
  }

  startWorkers(): void {
    for (let worker = 0; worker < 2; worker += 1) {
      const clock = { ...systemClock, now: (): number => Date.now() + this.#offset * 1000 };
      const connectors = {
        ...builtInConnectors,
        redis: (...[config, context]: Parameters<typeof connectRedis>) =>
          connectRedis(config, { ...context, offset: () => this.#offset }),
      };
      const connections = { store: this.#stage.config };
      const manager = new QueueManager({ connectors, logger: silentLogger, clock }, { connections });
      manager.hooks.on('after', ({ job }) => note('completed', job));
      manager.hooks.on('lost', ({ job }) => note('lost', job));
      this.#managers.push(manager);
      void new Worker({ concurrency: 5 }, manager).run();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#managers.splice(0).map((manager) => manager.close()));
  }
}
