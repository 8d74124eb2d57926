/** The connections of workers stay open but go silent: first only the current ones, then new ones too. */
import { eventually } from '../../support/eventually';
import { FaultyProxy } from '../kit/faulty-proxy';
import { Take } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { atMost, type Soak, tally } from './soak';

interface Size {
  /** Seconds. The deadline of a call, and the length of the silence. */
  readonly deadline: number;
  readonly silence: number;
}

const LEASE = meantToPass(2);

export const halfOpen: Soak<Size> = {
  name: 'half-open',
  title: 'connections to Redis that stay open but go silent',
  figure: 'back ≤ 5 s after they heal, or earlier on a new connection',
  stores: ['redis'],
  sizes: {
    test: { deadline: meantToPass(1), silence: 3 },
    soak: { deadline: meantToPass(5), silence: 60 },
    full: { deadline: meantToPass(5), silence: 60 },
  },

  async play(store, { deadline, silence }) {
    const stage = await Stage.open(store, { lease: LEASE, deadline });
    const proxy = await FaultyProxy.start(stage.redis!.port);
    try {
      stage.config = { ...stage.config, url: proxy.url } as typeof stage.config;
      for (let worker = 0; worker < 2; worker += 1) stage.disturbed.add(stage.hire({ concurrency: 5 }).pid);
      await keepBusy(stage);
      await eventually(() => stage.ledger.count('completed') > 50);

      const halved = Date.now();
      proxy.goHalfOpen();
      const renewed = await secondsUntilWork(stage, halved, deadline);
      const healed = await proxy.silentFor(silence * 1000);
      const recovered = await secondsUntilWork(stage, healed, deadline);
      await stage.drained();
      await stage.dismiss();

      const account = await stage.account();
      return {
        reached:
          `${tally(account)}; by a new connection after ${renewed.toFixed(1)} s; ` +
          `after ${silence} s of silence back in ${recovered.toFixed(1)} s`,
        offences: account.offences,
        late: [
          ...atMost('the seconds until a new connection worked', renewed, deadline + 5),
          ...atMost('the seconds until jobs ran after it healed', recovered, 5),
        ],
      };
    } finally {
      await proxy.stop();
      await stage.close();
    }
  },
};

/** Pushes more jobs directly to Redis than can be done before the workers are cut off. */
async function keepBusy(stage: Stage): Promise<void> {
  await stage.dispatch(Array.from({ length: 1000 }, () => new Take(20)));
}

/** The time from `moment` to the start of the first job that a worker reserved after it. */
async function secondsUntilWork(stage: Stage, moment: number, deadline: number): Promise<number> {
  // A job that was reserved before but written late is not a sign of life.
  const settled = moment + 100;
  const first = await eventually(
    () => stage.ledger.lines.find(({ event, at }) => event === 'completed' && at > settled),
    { deadline: (deadline + 30) * 1000 },
  );
  return (first!.at - moment) / 1000;
}
