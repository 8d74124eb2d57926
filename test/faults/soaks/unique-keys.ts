/** Many processes dispatch unique jobs with one key while their workers are killed with SIGKILL. */
import { Crew } from '../kit/crew';
import { Only } from '../kit/programs/jobs';
import type { LedgerLine } from '../kit/ledger';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import type { Soak } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly dispatchers: number;
  /** Jobs with the one key, by each dispatcher. */
  readonly dispatches: number;
  /** Jobs with keys of their own, by each dispatcher: some in chains of four, two of which are a batch. */
  readonly others: number;
  readonly kills: number;
}

const WORKERS = 3;
/** Seconds for a call: on SQLite all these processes take turns at one file, and none of them is meant to give up. */
const DEADLINE = 60;

export const uniqueKeys: Soak<Size> = {
  name: 'unique',
  title:
    'unique jobs with one key from many dispatchers, and others in chains and batches, whose worker processes are killed with SIGKILL',
  figure: 'one holder of the key at a time, every key free at the end',
  stores: ['redis', 'sqlite', 'postgres', 'mysql'],
  // On the other stores the tests of the connections let many clients race for a key.
  inTests: ['redis'],
  sizes: {
    test: { lease: meantToPass(6), dispatchers: 3, dispatches: 20, others: 40, kills: 2 },
    soak: { lease: meantToPass(1), dispatchers: 50, dispatches: 200, others: 2000, kills: 20 },
    full: { lease: meantToPass(1), dispatchers: 50, dispatches: 200, others: 2000, kills: 100 },
  },

  async play(store, { lease, dispatchers, dispatches, others, kills }) {
    const stage = await Stage.open(store, { lease, deadline: DEADLINE });
    try {
      const crew = new Crew(stage, WORKERS, { concurrency: 20 });
      const hired = Array.from({ length: dispatchers }, (_, number) =>
        stage.hireDispatcher({ number, dispatches, others }),
      );
      const isOver = (): boolean => stage.ledger.count('ended') === dispatchers;
      for (let kill = 0; kill < kills; kill += 1) await crew.killOne(stage.ledger.count('done') + 5, { isOver });
      const exits = await Promise.all(hired.map(({ exited }) => exited));
      await stage.drained();
      const offences = exits.filter(({ code }) => code !== 0).map(({ code }) => `a dispatcher ended with ${code}`);
      const { status } = await stage.bus.dispatch(new Only('one', 0)).result;
      if (status !== 'queued') offences.push('the key is held when all has ended');
      const again = await stage.bus.bulk(Array.from({ length: others }, (_, place) => new Only(`0-${place}`, 0)));
      await stage.drained();
      await stage.dismiss();

      const { lines } = stage.ledger;
      stage.dispatched.push(...new Set(lines.filter(({ event }) => event === 'started').map(({ id }) => id)));
      const account = await stage.account();
      const ran = new Set(stage.dispatched);
      const refused = again.filter((id) => !ran.has(id)).length;
      if (refused > 0) offences.push(`${refused} keys are held when all has ended`);
      const found = holdersOf(lines);
      const wanted = dispatchers * others;
      if (found.others !== wanted) offences.push(`${found.others} of ${wanted} jobs with keys of their own ran`);
      return {
        reached:
          `${found.jobs} jobs of the one key ran of ${dispatchers * dispatches} dispatched by ${dispatchers} processes, ` +
          `one at a time, and ${found.others} with keys of their own; ${kills} kills`,
        offences: [...offences, ...found.offences, ...account.offences],
      };
    } finally {
      await stage.close();
    }
  },
};

/** A job holds the key from its first start until it is done, so no other may start in between. */
function holdersOf(lines: readonly LedgerLine[]): { jobs: number; others: number; offences: readonly string[] } {
  const offences: string[] = [];
  const jobs = new Set<string>();
  const others = new Set<string>();
  let holder: string | undefined;
  for (const { event, id, note } of lines) {
    if (event !== 'started' && event !== 'done') continue;
    if (note !== 'one') {
      // The last round, which finds the keys free, uses those of the first dispatcher again.
      if (event === 'done') others.add(note);
      continue;
    }
    jobs.add(id);
    if (event === 'started' && holder !== undefined && holder !== id) offences.push(`${id} ran beside ${holder}`);
    holder = event === 'started' ? id : undefined;
  }
  return { jobs: jobs.size, others: others.size, offences };
}
