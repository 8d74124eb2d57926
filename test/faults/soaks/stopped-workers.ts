/** Worker processes are stopped again and again while they work, some during jobs that outlive their grace. */
import { eventually } from '../../support/eventually';
import { Heed, Take } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { atMost, type Soak, tally } from './soak';

interface Size {
  readonly stops: number;
}

const LEASE = meantToPass(5);
/** Seconds. */
const GRACE = meantToPass(0.5);
const WORKERS = 4;

export const stoppedWorkers: Soak<Size> = {
  name: 'sigterm',
  title: 'worker processes stopped with SIGTERM under load',
  figure: 'exit ≤ grace + 1 s, tries unchanged, 0 lost',
  stores: ['redis', 'sqlite'],
  // A stop is the worker's own; conformance covers what a store does with a job that is given back.
  inTests: ['redis'],
  sizes: { test: { stops: 2 }, soak: { stops: 1000 }, full: { stops: 1000 } },

  async play(store, { stops }) {
    const stage = await Stage.open(store, { lease: LEASE });
    try {
      let left = stops;
      const took: number[] = [];
      const unclean: string[] = [];
      const stopOneAfterAnother = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          const before = stage.ledger.lines.length;
          const worker = stage.hire({ concurrency: 10, grace: GRACE });
          const hasBegun = async (): Promise<boolean> => {
            // Again and again, because others take what was meant for this one.
            await feed(stage);
            return stage.ledger.since(before).some(({ pid, event }) => pid === worker.pid && event === 'started');
          };
          await eventually(hasBegun, { of: `a job of process ${worker.pid}` });
          const told = Date.now();
          const { code, signal, at } = await worker.terminate();
          took.push((at - told) / 1000);
          if (code !== 0) unclean.push(`process ${worker.pid} ended with ${code ?? signal}`);
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, stopOneAfterAnother));
      stage.hire({ concurrency: 50 });
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      took.sort((one, other) => one - other);
      const longest = took.at(-1)!;
      const released = stage.ledger.count('released');
      return {
        reached: `${tally(account)}; ${stops} stops gave ${released} back; they took ${took[stops >> 1]!.toFixed(2)} s, the slowest ${longest.toFixed(2)} of ${GRACE + 1} s`,
        offences: [...account.offences, ...unclean],
        late: atMost('the seconds from SIGTERM to the exit', longest, GRACE + 1),
      };
    } finally {
      await stage.close();
    }
  },
};

/** Most jobs are short. Every twentieth outlives the grace. */
async function feed(stage: Stage): Promise<void> {
  const { ready } = await stage.driver.queues.counts('default');
  if (ready > 100) return;
  await stage.dispatch(Array.from({ length: 200 }, (_, index) => (index % 20 === 0 ? new Heed(1500) : new Take(20))));
}
