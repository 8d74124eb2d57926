/** A Redis that writes each command to disk first is killed with SIGKILL under load and restarted. */
import { eventually } from '../../support/eventually';
import { DurableRedis } from '../kit/durable-redis';
import { Take } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { atMost, type Soak, tally } from './soak';

interface Size {
  readonly kills: number;
  /** Milliseconds that it stays away, one after another. */
  readonly away: readonly number[];
}

/** Longer than it stays away, so that no run may be repeated. */
const LEASE = 15;
const WORKERS = 3;
/** The dispatcher is faster than the workers, so the jobs that wait at the end must be quick. */
const MOST_AHEAD = 5000;

export const killedRedis: Soak<Size> = {
  name: 'kill-redis',
  title: 'Redis (appendfsync always) killed with SIGKILL under load',
  figure: '0 lost, 0 run twice; workers back ≤ 5 s',
  stores: ['redis'],
  sizes: {
    test: { kills: 2, away: [0, 400] },
    soak: { kills: 20, away: [0, 500, 3000, 8000] },
    full: { kills: 60, away: [0, 500, 3000, 8000] },
  },

  async play(store, { kills, away }) {
    const redis = await DurableRedis.start();
    const stage = await Stage.open(store, { lease: LEASE, redis });
    try {
      let over = false;
      let refusals = 0;
      const dispatching = (async (): Promise<void> => {
        while (!over) {
          await eventually(() => over || stage.dispatched.length - stage.ledger.count('completed') < MOST_AHEAD);
          if (!(await stage.tryDispatch(Array.from({ length: 20 }, () => new Take(20))))) refusals += 1;
        }
      })();
      for (let worker = 0; worker < WORKERS; worker += 1) stage.hire({ concurrency: 10 });
      let longest = 0;
      for (let kill = 0; kill < kills; kill += 1) {
        const before = stage.ledger.count('completed');
        await eventually(() => stage.ledger.count('completed') > before + 200, { deadline: 150_000 });
        await redis.killFor(away[kill % away.length]!);
        const back = Date.now();
        const seen = stage.ledger.lines.length;
        const first = await eventually(
          () => stage.ledger.since(seen).find(({ event, at }) => event === 'started' && at > back),
          { deadline: 150_000 },
        );
        longest = Math.max(longest, (first!.at - back) / 1000);
      }
      over = true;
      await dispatching;
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      return {
        reached:
          `${tally(account)}; ${kills} kills, ${refusals} dispatches refused, ` +
          `${stage.uncertain.length} jobs without an answer; back after ${longest.toFixed(1)} s at most`,
        offences: account.offences,
        late: atMost('the seconds until jobs ran again', longest, 5),
      };
    } finally {
      await stage.close();
    }
  },
};
