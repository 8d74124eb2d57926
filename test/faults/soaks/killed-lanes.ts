/** Jobs of many lanes from several processes, whose worker processes are killed with SIGKILL and frozen, and the lanes asked all the while. */
import type { LaneState } from '../../../src/connections/contract';
import { readTies } from '../../../src/payload/ties';
import { meantToPass } from '../../support/meant-to-pass';
import { Crew } from '../kit/crew';
import { IN_LANE, InLane } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { atMost, type Soak, tally, whileAsking } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly lanes: number;
  /** Jobs of each lane. */
  readonly jobs: number;
  readonly kills: number;
  /** On PostgreSQL and MySQL, which take longer: also for a renewal, on a busy machine. */
  readonly killsOnServers: number;
  readonly leaseOnServers: number;
  readonly freezes: number;
}

const WORKERS = 4;
/** Seconds for a call: on a busy machine all these processes take turns at the locks of a database, and none is meant to give up. */
const DEADLINE = 60;

export const killedLanes: Soak<Size> = {
  name: 'lanes',
  title: 'jobs of many lanes from three processes, whose worker processes are killed with SIGKILL and frozen',
  figure: `0 lost; at no moment more than ${IN_LANE} of a lane with workers; none held at the end`,
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql'],
  inTests: ['redis'],
  sizes: {
    test: {
      lease: meantToPass(6),
      lanes: 8,
      jobs: 30,
      kills: 2,
      killsOnServers: 2,
      leaseOnServers: meantToPass(6),
      freezes: 0,
    },
    soak: {
      lease: meantToPass(1),
      lanes: 40,
      jobs: 500,
      kills: 100,
      killsOnServers: 20,
      leaseOnServers: meantToPass(5),
      freezes: 50,
    },
    full: {
      lease: meantToPass(1),
      lanes: 40,
      jobs: 500,
      kills: 100,
      killsOnServers: 20,
      leaseOnServers: meantToPass(5),
      freezes: 50,
    },
  },

  async play(store, { lanes, jobs, killsOnServers, leaseOnServers, ...size }) {
    const isServer = store === 'postgres' || store === 'mysql';
    const lease = isServer ? leaseOnServers : size.lease;
    const kills = isServer ? killsOnServers : size.kills;
    const freezes = isServer ? 0 : size.freezes;
    const stage = await Stage.open(store, { lease, deadline: DEADLINE });
    try {
      const allSent = stage.hireSenders({ job: 'InLane', milliseconds: 10, count: lanes * jobs, lanes });
      const crew = new Crew(stage, WORKERS, { concurrency: 10 });
      let [most, looks, frozen] = [0, 0, 0];
      const feed = () => stage.dispatch([new InLane(200, 'lane-0')]);
      const ask = async (): Promise<void> => {
        most = Math.max(most, await mostOfALane(stage));
        looks += 1;
      };
      await whileAsking(ask, async () => {
        for (let kill = 1; kill <= kills; kill += 1) {
          await crew.killOne((kill * lanes * jobs) / (kills + 1), { feed });
          if (kill * freezes >= kills * (frozen + 1)) {
            frozen += 1;
            await crew.freezeOne(lease * 1500, feed);
          }
        }
        await allSent();
        await stage.drained();
      });
      await stage.dismiss();

      const account = await stage.account();
      const left = await leftLanes(stage);
      const offences = [
        ...account.offences,
        ...atMost('the number of failed jobs', account.failed, 0),
        ...atMost('the most of a lane with workers', most, IN_LANE),
      ];
      if (left.length > 0) offences.push(`${JSON.stringify(left)} is left of the lanes`);
      return {
        reached: `${tally(account)}; ${kills} kills, ${frozen} freezes; at most ${most} of a lane in ${looks} looks`,
        offences,
      };
    } finally {
      await stage.close();
    }
  },
};

/** Asks the store how many jobs of each lane are reserved. Returns the most of any lane. */
async function mostOfALane({ driver }: Stage): Promise<number> {
  const counts = new Map<string, number>();
  for (const { payload } of await driver.queues.peek!('default', 'reserved', 1000)) {
    const lane = readTies(payload)?.lane?.key ?? '';
    counts.set(lane, (counts.get(lane) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

async function leftLanes({ driver }: Stage): Promise<readonly LaneState[]> {
  return (await driver.lanes!.list('default')).lanes;
}
