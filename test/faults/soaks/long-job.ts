/** A job runs many times as long as its lease, beside idle workers and under load. */
import { eventually } from '../../support/eventually';
import { Take } from '../kit/programs/jobs';
import { Stage, type StoreName } from '../kit/stage';
import { type Finding, type Soak, tally } from './soak';

interface Size {
  readonly leases: number;
}

const LEASE = 1;

export const longJob: Soak<Size> = {
  name: 'long-job',
  title: 'a job that runs many leases long, beside idle workers and under load',
  figure: 'runs once',
  stores: ['redis', 'sqlite', 'postgres', 'mysql', 'beanstalkd'],
  sizes: { test: { leases: 2 }, soak: { leases: 10 }, full: { leases: 60 } },

  async play(store, { leases }) {
    const findings = await Promise.all([playOne(store, leases, false), playOne(store, leases, true)]);
    return {
      reached: `idle: ${findings[0].reached}. Under load: ${findings[1].reached}`,
      offences: findings.flatMap(({ offences }) => offences),
    };
  },
};

async function playOne(store: StoreName, leases: number, loaded: boolean): Promise<Finding> {
  const stage = await Stage.open(store, { lease: LEASE });
  try {
    const [long] = await stage.dispatch([new Take(leases * LEASE * 1000)]);
    for (let worker = 0; worker < 3; worker += 1) stage.hire({ concurrency: 5 });
    await eventually(
      async () => {
        const { ready } = await stage.driver.counts('default');
        if (loaded && ready < 50) await stage.dispatch(Array.from({ length: 100 }, () => new Take(20)));
        return stage.ledger.lines.some(({ id, event }) => id === long && event === 'done');
      },
      { deadline: leases * LEASE * 2000 + 30_000 },
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
