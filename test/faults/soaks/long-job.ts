/** A job runs many times as long as its lease, beside idle workers and under load. */
import { eventually } from '../../support/eventually';
import { Take } from '../kit/programs/jobs';
import { Stage, type StoreName } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { type Finding, type Soak, tally } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly leases: number;
  /** Milliseconds of each job beside it: the shorter, the more load. */
  readonly takes: number;
}

export const longJob: Soak<Size> = {
  name: 'long-job',
  title: 'a job that runs for many leases, beside idle workers and under load',
  figure: 'runs once',
  stores: ['redis', 'sqlite', 'postgres', 'mysql', 'beanstalkd'],
  // The conformance suite renews leases on every store; beanstalkd has a way of its own.
  inTests: ['beanstalkd'],
  sizes: {
    test: { lease: meantToPass(6), leases: 1.5, takes: 100 },
    soak: { lease: meantToPass(1), leases: 10, takes: 20 },
    full: { lease: meantToPass(1), leases: 60, takes: 20 },
  },

  async play(store, size) {
    const findings = await Promise.all([playOne(store, size, false), playOne(store, size, true)]);
    return {
      reached: `idle: ${findings[0].reached}. Under load: ${findings[1].reached}`,
      offences: findings.flatMap(({ offences }) => offences),
    };
  },
};

async function playOne(store: StoreName, { lease, leases, takes }: Size, loaded: boolean): Promise<Finding> {
  const stage = await Stage.open(store, { lease });
  try {
    const [long] = await stage.dispatch([new Take(leases * lease * 1000)]);
    for (let worker = 0; worker < 3; worker += 1) stage.hire({ concurrency: 5 });
    await eventually(
      async () => {
        const { ready } = await stage.driver.queues.counts('default');
        if (loaded && ready < 50) await stage.dispatch(Array.from({ length: 100 }, () => new Take(takes)));
        return stage.ledger.lines.some(({ id, event }) => id === long && event === 'done');
      },
      { deadline: leases * lease * 2000 + 30_000 },
    );
    await stage.drained();
    await stage.dismiss();

    const account = await stage.account();
    const runs = stage.ledger.lines.filter(({ id, event }) => id === long && event === 'started').length;
    return { reached: `${runs} run; ${tally(account)}`, offences: account.offences };
  } finally {
    await stage.close();
  }
}
