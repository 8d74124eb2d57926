/** Worker processes are killed with SIGKILL again and again, in the middle of their jobs. */
import { Crew, type Kill } from '../kit/crew';
import { Take } from '../kit/programs/jobs';
import type { LedgerLine } from '../kit/ledger';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { atMost, type Soak, tally } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly jobs: number;
  readonly kills: number;
  /** Milliseconds that each job takes. */
  readonly takes: number;
}

const WORKERS = 4;
const CONCURRENCY = 10;

export const killedWorkers: Soak<Size> = {
  name: 'kill-9',
  title: 'worker processes killed with SIGKILL in the middle of their jobs',
  figure: '0 lost; run twice ≤ jobs in flight at the kills; each of these done ≤ lease + 6 s after its kill',
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql', 'beanstalkd'],
  // On the other stores the tests kill workers in the middle of batches, where each job is counted too.
  inTests: ['redis', 'sqlite', 'beanstalkd'],
  sizes: {
    test: { lease: meantToPass(6), jobs: 300, kills: 2, takes: 10 },
    soak: { lease: meantToPass(1), jobs: 100_000, kills: 100, takes: 20 },
    full: { lease: meantToPass(1), jobs: 100_000, kills: 100, takes: 20 },
  },

  async play(store, { lease, jobs, kills, takes }) {
    const stage = await Stage.open(store, { lease });
    try {
      await stage.dispatch(Array.from({ length: jobs }, () => new Take(takes)));
      const crew = new Crew(stage, WORKERS, { concurrency: CONCURRENCY });
      const killed: Kill[] = [];
      const feed = () => stage.dispatch(Array.from({ length: CONCURRENCY }, () => new Take(200)));
      while (killed.length < kills)
        killed.push(await crew.killOne(((killed.length + 1) * jobs) / (kills + 1), { feed }));
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      const { inFlight, longest } = recovery(stage.ledger.lines, killed);
      return {
        reached: `${tally(account)}; ${kills} kills with ${inFlight} in flight; the last of them done after ${longest.toFixed(1)} s`,
        offences: [...account.offences, ...atMost('the number of jobs run twice', account.again, inFlight)],
        late: atMost('the seconds from a kill to the end of its jobs', longest, lease + 6),
      };
    } finally {
      await stage.close();
    }
  },
};

/** The jobs that killed workers were running, and the time until the last of them was done elsewhere. */
function recovery(lines: readonly LedgerLine[], kills: readonly Kill[]): { inFlight: number; longest: number } {
  const killedAt = new Map(kills.map(({ pid, at }) => [pid, at]));
  const open = new Map<string, number>();
  let inFlight = 0;
  let longest = 0;
  for (const { pid, event, id, at } of lines) {
    const killed = killedAt.get(pid);
    if (event === 'started' && killed !== undefined) {
      open.set(id, killed);
      inFlight += 1;
    } else if (event === 'completed' && killed !== undefined) {
      open.delete(id);
      inFlight -= 1;
    } else if (event === 'done' && killed === undefined) {
      longest = Math.max(longest, at - (open.get(id) ?? at));
      open.delete(id);
    }
  }
  return { inFlight, longest: longest / 1000 };
}
