/** A queue of which only a few jobs may run at a time, and worker processes that are killed with SIGKILL in the middle of them. */
import { Crew } from '../kit/crew';
import { Take } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { atMost, type Soak, tally, whileAsking } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly jobs: number;
  readonly kills: number;
  /** Milliseconds that each job takes. */
  readonly takes: number;
}

const WORKERS = 4;
const CONCURRENCY = 5;
const RUNNING = 3;
/** Seconds for a call: on a busy machine all these processes take turns at a database, and none is meant to give up. */
const DEADLINE = 60;

export const limitedQueue: Soak<Size> = {
  name: 'limit',
  title:
    'a limit of 3 jobs at a time for a queue that three processes dispatch to, whose 4 workers of 5 slots are killed with SIGKILL',
  figure: 'never more than 3 reserved, asked from the store all the while; 0 lost, none left',
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql'],
  // On every store the conformance suite lets many clients take and end jobs at the same time.
  inTests: [],
  sizes: {
    test: { lease: meantToPass(6), jobs: 150, kills: 2, takes: 10 },
    soak: { lease: meantToPass(1), jobs: 20_000, kills: 50, takes: 10 },
    full: { lease: meantToPass(1), jobs: 20_000, kills: 100, takes: 10 },
  },

  async play(store, { lease, jobs, kills, takes }) {
    const stage = await Stage.open(store, { lease, deadline: DEADLINE });
    try {
      const connection = stage.manager.connection();
      await connection.limit(connection.defaultQueue, { running: RUNNING });
      const allSent = stage.hireSenders({ job: 'Take', milliseconds: takes, count: jobs });
      let [most, looks] = [0, 0];
      const ask = async (): Promise<void> => {
        most = Math.max(most, (await connection.counts()).reserved);
        looks += 1;
      };
      const crew = new Crew(stage, WORKERS, { concurrency: CONCURRENCY });
      const feed = () => stage.dispatch(Array.from({ length: CONCURRENCY }, () => new Take(200)));
      await whileAsking(ask, async () => {
        for (let kill = 1; kill <= kills; kill += 1) await crew.killOne((kill * jobs) / (kills + 1), { feed });
        await allSent();
        await stage.drained();
      });
      await stage.dismiss();

      const account = await stage.account();
      return {
        reached: `${tally(account)}; ${most} reserved at most, in ${looks} looks`,
        offences: [...account.offences, ...atMost('the number of jobs reserved at a time', most, RUNNING)],
      };
    } finally {
      await stage.close();
    }
  },
};
