/** A handler blocks the event loop of its process for longer than the lease, beside others in the same process. */
import { eventually } from '../../support/eventually';
import { Block, Take } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import { type Soak, tally } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly leases: number;
  readonly times: number;
}

const NEIGHBOURS = 4;

export const blockedLoop: Soak<Size> = {
  name: 'block',
  title: 'an event loop blocked for 3 leases, with neighbours in its process',
  figure: 'one completion; the other jobs keep their tries',
  stores: ['redis', 'cluster', 'sqlite'],
  // test/faults/blocked-loop.test.ts covers the others, and more.
  inTests: ['cluster'],
  sizes: {
    test: { lease: meantToPass(2), leases: 1.5, times: 1 },
    soak: { lease: meantToPass(1), leases: 3, times: 10 },
    full: { lease: meantToPass(1), leases: 10, times: 30 },
  },

  async play(store, { lease, leases, times }) {
    const stage = await Stage.open(store, { lease });
    try {
      const blocked = stage.hire({ concurrency: NEIGHBOURS + 1 });
      await blocked.ready;
      for (let time = 0; time < times; time += 1) {
        await stage.dispatch(Array.from({ length: NEIGHBOURS }, () => new Take(500)));
        const [block] = await stage.dispatch([new Block(leases * lease * 1000)]);
        await eventually(() => stage.ledger.lines.some(({ id }) => id === block));
        // This one can only take jobs that another seems to have left.
        const hungry = stage.hire({ concurrency: NEIGHBOURS + 1 });
        await stage.drained();
        await hungry.terminate();
      }
      await stage.dismiss();

      const account = await stage.account();
      return { reached: `${tally(account)}; ${times} times`, offences: account.offences };
    } finally {
      await stage.close();
    }
  },
};
