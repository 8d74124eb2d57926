/** Worker processes are killed with SIGKILL at random lines of long jobs, which have five steps and a cursor. */
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';
import { Resume } from '../kit/programs/jobs';
import type { LedgerLine } from '../kit/ledger';
import { Stage } from '../kit/stage';
import type { WorkerProcess } from '../kit/worker-process';
import { type Soak, tally } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly jobs: number;
  readonly kills: number;
  readonly rows: number;
}

/** Milliseconds of each row and each step. */
const TAKES = 20;
const STEPS = ['1', '2', '3', '4', '5'];
/** How far a cursor may go back: the pause between two writes, and what a busy store takes for one. */
const LATE = 1000 + meantToPass(1) * 1000;

export const killedSteps: Soak<Size> = {
  name: 'steps',
  title: 'long jobs of five steps and a cursor, whose worker processes are killed with SIGKILL at random lines',
  figure: 'each step runs once, and once more only for a kill that hit it; no cursor goes back by more than a second',
  stores: ['redis', 'sqlite', 'postgres'],
  inTests: ['sqlite'],
  sizes: {
    test: { lease: meantToPass(6), jobs: 4, kills: 3, rows: 40 },
    soak: { lease: meantToPass(1), jobs: 60, kills: 200, rows: 100 },
    full: { lease: meantToPass(1), jobs: 60, kills: 200, rows: 100 },
  },

  async play(store, { lease, jobs, kills, rows }) {
    const stage = await Stage.open(store, { lease });
    try {
      await stage.dispatch(Array.from({ length: jobs }, () => new Resume(rows, TAKES)));
      const workers = Array.from({ length: 3 }, () => stage.hire());
      for (let kill = 0; kill < kills; kill += 1) await killOne(stage, workers);
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      const { again, offences } = lookAt(stage);
      const kept = await stage.driver.records!.list('checkpoint', { limit: jobs });
      const left = kept.filter(({ id }) => !diedAfter(id, stage));
      return {
        reached: `${tally(account)}; ${kills} kills, ${again} steps run again by them`,
        offences: [...account.offences, ...offences, ...left.map(({ id }) => `the record of ${id} is left`)],
      };
    } finally {
      await stage.close();
    }
  },
};

/** Kills a worker at the next line that it writes, or a few lines later; if all jobs are done, none. */
async function killOne(stage: Stage, workers: WorkerProcess[]): Promise<void> {
  const { length } = stage.ledger.lines;
  const waits = Math.floor(Math.random() * 30);
  const victim = await eventually(
    async () => {
      const since = stage.ledger.since(length);
      if (since.length > waits) return workers.find(({ pid }) => pid === since.at(-1)!.pid);
      return (await stage.manager.connection().size()) === 0 ? workers[0] : undefined;
    },
    { of: 'a line of a job' },
  );
  if (victim === undefined) throw new Error('nobody works');
  stage.disturbed.add(victim.pid);
  await victim.kill();
  workers.splice(workers.indexOf(victim), 1, stage.hire());
}

function lookAt(stage: Stage): { readonly again: number; readonly offences: readonly string[] } {
  const all = stage.ledger.lines;
  const offences: string[] = [];
  let again = 0;
  for (const id of stage.dispatched) {
    const lines = all.filter((line) => line.id === id);
    for (const step of STEPS) {
      const runs = lines.filter(({ event, note }) => event === 'said' && note === `step ${step}`);
      if (runs.length === 0) offences.push(`step ${step} of ${id} never ran`);
      again += Math.max(0, runs.length - 1);
      for (const run of runs.slice(0, -1))
        if (!wasHit(run, lines, stage)) offences.push(`step ${step} of ${id} ran again`);
    }
    offences.push(...setBack(id, lines));
  }
  return { again, offences };
}

/** Whether the last worker of a job was killed once its end was stored: then nobody removes the record, and it expires. */
function diedAfter(record: string, { disturbed, ledger }: Stage): boolean {
  const last = ledger.lines.findLast(({ id }) => record === `store:${id}`);
  return last !== undefined && disturbed.has(last.pid);
}

/** Whether the worker was killed before the step was kept: nothing of a later step or row was said by this run. */
function wasHit({ pid, fence, note }: LedgerLine, lines: readonly LedgerLine[], { disturbed }: Stage): boolean {
  const last = lines.findLast((line) => line.pid === pid && line.fence === fence);
  return disturbed.has(pid) && [note, note.replace('step', 'end')].includes(last!.note);
}

/** How long before the end of each earlier run were the rows done that a later one does again? */
function* setBack(id: string, lines: readonly LedgerLine[]): Iterable<string> {
  for (const { note, fence } of lines) {
    const [, from] = /^from (\d+)$/.exec(note) ?? [];
    if (from === undefined) continue;
    for (const lost of lines.filter((line) => line.fence < fence && line.note === `row ${Number(from) + 1}`)) {
      const end = lines.findLast((line) => line.fence === lost.fence)!;
      if (end.at - lost.at > LATE) yield `the cursor of ${id} went back by ${end.at - lost.at} ms`;
    }
  }
}
