/** Worker processes are frozen past their leases, like on a paused machine, and then go on unaware. */
import { eventually } from '../../support/eventually';
import { Take } from '../kit/programs/jobs';
import type { LedgerLine } from '../kit/ledger';
import { Stage, type StoreName } from '../kit/stage';
import type { WorkerProcess } from '../kit/worker-process';
import { meantToPass } from '../../support/meant-to-pass';
import { type Soak, tally } from './soak';

interface Size {
  readonly freezes: number;
  readonly atOnce: number;
}

/** Seconds. The lease of frozen workers. Those of the others last as long as they need. */
const LEASE = meantToPass(1);
/** Milliseconds. Long enough to freeze a process that is seen to run a job before the job ends. */
const TAKES = 300;

export const frozenWorkers: Soak<Size> = {
  name: 'freeze',
  title: 'worker processes frozen past their leases, then thawed',
  figure: 'every stale outcome refused, 0 lost',
  // Not on beanstalkd, which also hands jobs to the waiting connection of a frozen worker, where each counts a crash.
  stores: ['redis', 'sqlite', 'postgres', 'mysql'],
  // The conformance suite refuses stale outcomes on every store.
  inTests: ['redis', 'mysql'],
  sizes: {
    test: { freezes: 2, atOnce: 2 },
    soak: { freezes: 1000, atOnce: 20 },
    full: { freezes: 1000, atOnce: 20 },
  },

  async play(store, { freezes, atOnce }) {
    const stage = await Stage.open(store);
    try {
      const victims = Array.from({ length: atOnce }, () => stage.hire({ concurrency: 2 }, { lease: LEASE }));
      const others = [stage.hire({ concurrency: 20 }), stage.hire({ concurrency: 20 })];
      await Promise.all([...victims, ...others].map(({ ready }) => ready));
      for (const { pid } of victims) stage.disturbed.add(pid);
      let stale = 0;
      for (let frozen = 0; frozen < freezes; frozen += atOnce) {
        const held = await freezeAll(stage, store, victims);
        stale += held.length;
        await eventually(() => held.every((run) => isDoneElsewhere(stage, run)));
        for (const victim of victims) victim.thaw();
        await eventually(() => held.every((run) => hasOutcome(stage, run)), { deadline: 150_000 });
      }
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      const missing = stale - account.refused;
      return {
        reached: `${tally(account)}; ${freezes} freezes that held ${stale} jobs`,
        offences: [...account.offences, ...(missing > 0 ? [`${missing} stale outcomes were not refused`] : [])],
      };
    } finally {
      await stage.close();
    }
  },
};

/** Freezes each while it runs a job, and returns these runs. */
async function freezeAll(
  stage: Stage,
  store: StoreName,
  victims: readonly WorkerProcess[],
): Promise<readonly LedgerLine[]> {
  const seen = stage.ledger.lines.length;
  const awake = new Set(victims);
  await stage.dispatch(Array.from({ length: 4 * victims.length }, () => new Take(TAKES)));
  await eventually(async () => {
    for (const victim of awake) {
      if (openRuns(stage, victim, seen).length === 0) continue;
      victim.freeze();
      // A process frozen during a write keeps the SQLite file locked for everybody.
      if (store === 'sqlite' && !(await stage.tryDispatch([new Take(TAKES)]))) victim.thaw();
      else awake.delete(victim);
    }
    const { ready } = await stage.driver.queues.counts('default');
    // The others may have taken all jobs.
    if (awake.size > 0 && ready === 0)
      await stage.dispatch([...awake].flatMap(() => [new Take(TAKES), new Take(TAKES)]));
    return awake.size === 0;
  });
  return victims.flatMap((victim) => openRuns(stage, victim, seen));
}

/** The jobs that a process is running of those started after the first `seen` lines. */
function openRuns({ ledger }: Stage, { pid }: WorkerProcess, seen: number): readonly LedgerLine[] {
  const own = ledger.since(seen).filter((line) => line.pid === pid);
  const done = new Set(own.filter(({ event }) => event === 'done').map(({ id }) => id));
  return own.filter(({ event, id }) => event === 'started' && !done.has(id));
}

const isDoneElsewhere = ({ ledger }: Stage, run: LedgerLine): boolean =>
  ledger.lines.some(({ id, event, fence }) => id === run.id && event === 'done' && fence > run.fence);

const hasOutcome = ({ ledger }: Stage, run: LedgerLine): boolean =>
  ledger.lines.some(
    ({ id, pid, event }) => id === run.id && pid === run.pid && (event === 'lost' || event === 'completed'),
  );
