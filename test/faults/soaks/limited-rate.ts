/** Jobs that share a rate, and worker processes that are killed with SIGKILL in the middle of them. */
import type { Milliseconds } from '../../../src/base/clock';
import { Crew } from '../kit/crew';
import { BRISKLY_METERED, BrisklyMetered } from '../kit/programs/jobs';
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
/** Seconds for a call: on a busy machine all these processes take turns at a database, and none is meant to give up. */
const DEADLINE = 60;
const ALLOW = BRISKLY_METERED.allow;
const EVERY: Milliseconds = BRISKLY_METERED.every * 1000;
/** A start may follow its decision so late on a busy machine: in a window that is so much shorter, the limit holds. */
const LATENESS: Milliseconds = 1000;
/** What a round trip to the store lets through, of a hundred. */
const LET_THROUGH = 2;

export const limitedRate: Soak<Size> = {
  name: 'rate',
  title: `a rate of ${ALLOW} starts in ${BRISKLY_METERED.every} s for the jobs of three processes, whose 4 workers are killed with SIGKILL`,
  figure: `0 lost; in any window no more than ${ALLOW} starts and the ${LET_THROUGH} % that a round trip lets through`,
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql'],
  // test/faults/limits.test.ts does so with few jobs, in processes that believe in other times.
  inTests: [],
  sizes: {
    test: { lease: meantToPass(6), jobs: 600, kills: 2, takes: 50 },
    soak: { lease: meantToPass(1), jobs: 6000, kills: 50, takes: 50 },
    full: { lease: meantToPass(1), jobs: 12_000, kills: 100, takes: 50 },
  },

  async play(store, { lease, jobs, kills, takes }) {
    const stage = await Stage.open(store, { lease, deadline: DEADLINE });
    try {
      const allSent = stage.hireSenders({ job: 'BrisklyMetered', milliseconds: takes, count: jobs });
      const crew = new Crew(stage, WORKERS, { concurrency: CONCURRENCY });
      const feed = () => stage.dispatch(Array.from({ length: CONCURRENCY }, () => new BrisklyMetered(200)));
      for (let kill = 1; kill <= kills; kill += 1) await crew.killOne((kill * jobs) / (kills + 1), { feed });
      await allSent();
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      const starts = startsIn(stage);
      const most = mostWithin(starts, EVERY);
      const certain = mostWithin(starts, EVERY - LATENESS);
      const spent = (starts.at(-1)! - starts[0]!) / 1000;
      return {
        reached: `${tally(account)}; ${starts.length} starts in ${spent.toFixed(1)} s, ${most} in a window at most; ${kills} kills`,
        offences: [...account.offences, ...atMost('the number of starts in a shorter window', certain, ALLOW)],
        late: atMost('the number of starts in a window', most, ALLOW * (1 + LET_THROUGH / 100)),
      };
    } finally {
      await stage.close();
    }
  },
};

/** The real times of the starts, in order. */
export function startsIn({ ledger }: Stage): readonly Milliseconds[] {
  const starts = ledger.lines.flatMap(({ event, note }) => (event === 'started' ? [Number(note)] : []));
  return starts.toSorted((one, other) => one - other);
}

/** The most in any window of this length. */
export function mostWithin(moments: readonly Milliseconds[], span: Milliseconds): number {
  let [first, most] = [0, 0];
  for (const [last, moment] of moments.entries()) {
    while (moments[first]! <= moment - span) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
