/** Worker processes with wrong clocks keep schedules, and are killed with SIGKILL one after another. */
import { systemClock, type Milliseconds } from '../../../src/base/clock';
import { stateIn } from '../../../src/schedule/occurrence';
import { eventually } from '../../support/eventually';
import type { LedgerLine } from '../kit/ledger';
import { Recur } from '../kit/programs/jobs';
import { Stage, type StoreName } from '../kit/stage';
import type { WorkerProcess } from '../kit/worker-process';
import { meantToPass } from '../../support/meant-to-pass';
import { atMost, type Soak } from './soak';

interface Size {
  readonly minutes: number;
}

const LEASE = meantToPass(1);
/** Milliseconds by which the clock of each process is ahead. Processes that share a file share the clock of its machine. */
const SKEWS: readonly Milliseconds[] = [0, 10_000, -10_000, 4000, -4000];
const MINUTE: Milliseconds = 60_000;
const BETWEEN_KILLS: Milliseconds = 1000;
/** Seconds until a new process has looked and a killed job has come back. */
const LONGEST_PAUSE = 30;
/** Milliseconds by which two ways to read the clock of one machine may differ. */
const TOLERANCE: Milliseconds = 5;

/** `each` is pushed ahead of time, `alone` at its time, and skipped while the previous one exists. */
const SCHEDULES = [
  { name: 'each', every: '2s', overlap: 'allow' },
  { name: 'alone', every: '3s', overlap: 'skip' },
] as const;

/** Stored while the processes run. */
const STORED = 'stored';

const SPAN: Readonly<Record<string, Milliseconds>> = { each: 2000, alone: 3000, [STORED]: 2000 };

export const keptSchedules: Soak<Size> = {
  name: 'schedules',
  title: 'schedules kept by five processes with clocks up to 10 s off, one killed with SIGKILL each second',
  figure: 'every occurrence once, none before its time by the clock of the store',
  stores: ['redis', 'sqlite', 'postgres', 'mysql'],
  inTests: ['redis'],
  sizes: { test: { minutes: 10 / 60 }, soak: { minutes: 5 }, full: { minutes: 15 } },

  async play(store, { minutes }) {
    const stage = await Stage.open(store, { lease: LEASE });
    const keepers = new Keepers(stage, store);
    try {
      const isUp = ({ name }: { readonly name: string }): boolean =>
        occurrencesOf(stage.ledger.lines, 'done').some(({ schedule }) => schedule === name);
      await eventually(() => SCHEDULES.every(isUp), { of: 'the first occurrences' });
      await stage.manager.schedules.put(STORED, { every: '2s', overlap: 'allow', missed: 'all' }, new Recur());
      const putAt = (await stage.driver.now?.()) ?? Date.now();
      const end = Date.now() + minutes * MINUTE;
      let kills = 0;
      while (Date.now() < end) {
        await new Promise<void>((resolve) => void systemClock.after(BETWEEN_KILLS, resolve, true));
        await keepers.killOne();
        kills += 1;
      }
      const state = await stateIn(stage.driver.records!, 'each');
      const wanted = [
        ...momentsBetween(state!.since, end - SPAN['each']!, SPAN['each']!).map((at) => ({ schedule: 'each', at })),
        ...momentsBetween(putAt, end - SPAN[STORED]!, SPAN[STORED]!).map((at) => ({ schedule: STORED, at })),
      ];
      const missing = (): typeof wanted => {
        const done = new Set(occurrencesOf(stage.ledger.lines, 'done').map(({ schedule, at }) => `${schedule} ${at}`));
        return wanted.filter(({ schedule, at }) => !done.has(`${schedule} ${at}`));
      };
      await eventually(() => missing().length === 0, { deadline: 150_000, of: 'all occurrences' }).catch(
        () => undefined,
      );
      await stage.dismiss();

      const failed = (await stage.driver.failed?.list({ limit: 10 })) ?? [];
      const started = occurrencesOf(stage.ledger.lines, 'started');
      const early = started.filter(({ at, by }) => by < at - TOLERANCE);
      const runs = started.map(({ schedule, at, fence }) => `${schedule} ${at} ${fence}`);
      const alone = new Set(started.filter(({ schedule }) => schedule === 'alone').map(({ at }) => at));
      // An occurrence may be skipped if its job was killed or no process was up in time, but not all later ones.
      const since = Math.round((end - Math.max(...alone)) / 1000);
      return {
        reached:
          `${wanted.length} occurrences of a declared and a stored schedule, ${missing().length} missing, ${runs.length - new Set(runs).size} ` +
          `doubled, ${early.length} early; ${alone.size} of one without overlaps; ${kills} kills`,
        offences: [
          ...missing().map(
            ({ schedule, at }) => `no job of the occurrence of ${schedule} at ${new Date(at).toISOString()} was done`,
          ),
          ...failed.map(({ name, id, exception }) => `${name} ${id} failed: ${exception.split('\n')[0]!}`),
          ...early.map(({ schedule, at, by }) => `${schedule} ran ${at - by} ms early`),
          ...atMost('the number of runs of the same occurrence and fence', runs.length - new Set(runs).size, 0),
          ...atMost('the seconds since the last one without overlaps', since, LONGEST_PAUSE),
        ],
      };
    } finally {
      await stage.close();
    }
  },
};

/** Five processes. A killed one is replaced by one with the same clock. */
class Keepers {
  readonly #stage: Stage;
  readonly #skews: readonly Milliseconds[];
  readonly #processes: WorkerProcess[];
  #next = 0;

  constructor(stage: Stage, store: StoreName) {
    this.#stage = stage;
    this.#skews = store === 'sqlite' ? SKEWS.map(() => 0) : SKEWS;
    this.#processes = this.#skews.map((skew) => this.#hire(skew));
  }

  async killOne(): Promise<void> {
    const place = this.#next;
    this.#next = (place + 1) % this.#processes.length;
    await this.#processes[place]!.kill();
    this.#processes[place] = this.#hire(this.#skews[place]!);
  }

  #hire(skew: Milliseconds): WorkerProcess {
    return this.#stage.hire({ concurrency: 2 }, { skew, schedules: SCHEDULES });
  }
}

interface Occurrence {
  readonly schedule: string;
  readonly at: Milliseconds;
  /** The time by a right clock. */
  readonly by: Milliseconds;
  readonly fence: number;
}

function occurrencesOf(lines: readonly LedgerLine[], event: LedgerLine['event']): readonly Occurrence[] {
  return lines
    .filter((line) => line.event === event)
    .map(({ note, fence }) => {
      const [schedule = '', at, by] = note.split(' ');
      return { schedule, at: Number(at), by: Number(by), fence };
    });
}

function momentsBetween(after: Milliseconds, to: Milliseconds, span: Milliseconds): readonly Milliseconds[] {
  const first = Math.floor(after / span) + 1;
  return Array.from({ length: Math.max(Math.floor(to / span) - first + 1, 0) }, (_, place) => (first + place) * span);
}
