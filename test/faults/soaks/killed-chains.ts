/** Worker processes are killed with SIGKILL again and again, in the middle of chains. */
import { Crew } from '../kit/crew';
import { Link } from '../kit/programs/jobs';
import type { LedgerLine } from '../kit/ledger';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import type { Soak } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly chains: number;
  readonly kills: number;
  /** Milliseconds that each link takes. */
  readonly takes: number;
}

const LINKS = 5;
const WORKERS = 4;
const CONCURRENCY = 10;

export const killedChains: Soak<Size> = {
  name: 'chains',
  title: 'chains of five links whose worker processes are killed with SIGKILL',
  figure:
    '0 broken chains, 0 links out of order; a link runs twice only after a kill, and never once the next one was pushed',
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql'],
  // On the other stores the tests kill workers in the middle of batches, which contain chains.
  inTests: ['redis', 'sqlite'],
  sizes: {
    test: { lease: meantToPass(6), chains: 100, kills: 2, takes: 10 },
    soak: { lease: meantToPass(1), chains: 2000, kills: 100, takes: 20 },
    full: { lease: meantToPass(1), chains: 2000, kills: 100, takes: 20 },
  },

  async play(store, { lease, chains, kills, takes }) {
    const stage = await Stage.open(store, { lease });
    try {
      for (let chain = 0; chain < chains; chain += 1) {
        const links = Array.from({ length: LINKS }, (_, place) => new Link(chain, place, takes));
        await stage.bus.chain(links).dispatch();
      }
      const crew = new Crew(stage, WORKERS, { concurrency: CONCURRENCY });
      const isOver = (): boolean => stage.ledger.count('done') >= chains * LINKS;
      for (let kill = 1; kill <= kills; kill += 1)
        await crew.killOne((kill * chains * LINKS) / (kills + 1), { isOver });
      await stage.drained();
      await stage.dismiss();

      const { lines } = stage.ledger;
      // Ids of links are known from their runs. Links that never ran are missing from their chains.
      stage.dispatched.push(...new Set(lines.filter(({ event }) => event === 'started').map(({ id }) => id)));
      const account = await stage.account();
      const found = lookAt(lines, chains);
      const { whole, again, late } = found;
      return {
        reached:
          `${whole} of ${chains} chains whole, ${account.completed} links completed, ${account.failed} failed; ${again} links run again by ${kills} kills, ` +
          `${late} of them after the next one had begun`,
        offences: [...account.offences, ...found.offences],
      };
    } finally {
      await stage.close();
    }
  },
};

interface Seen {
  started: number;
  isDone: boolean;
  id: string;
}

/** `late` counts links that started again after the next one had started. */
function lookAt(
  lines: readonly LedgerLine[],
  chains: number,
): { whole: number; again: number; late: number; offences: readonly string[] } {
  const seen = Array.from({ length: chains }, () =>
    Array.from({ length: LINKS }, (): Seen => ({ started: 0, isDone: false, id: '' })),
  );
  const offences: string[] = [];
  let again = 0;
  let late = 0;
  for (const { event, id, note } of lines) {
    if (event !== 'started' && event !== 'done') continue;
    const [chain, place] = note.split(' ').map(Number) as [number, number];
    const link = seen[chain]![place]!;
    if (event === 'done') {
      link.isDone = true;
      continue;
    }
    if (link.started > 0) again += 1;
    if (link.started > 0 && link.id !== id) offences.push(`link ${place} of chain ${chain} was sent as two jobs`);
    if (place > 0 && !seen[chain]![place - 1]!.isDone)
      offences.push(`link ${place} of chain ${chain} ran out of order`);
    if ((seen[chain]![place + 1]?.started ?? 0) > 0) {
      late += 1;
      offences.push(`link ${place} of chain ${chain} ran again after the next one had begun`);
    }
    link.started += 1;
    link.id = id;
  }
  const broken = seen.flatMap((links, chain) => (links.every(({ isDone }) => isDone) ? [] : [chain]));
  if (broken.length > 0) offences.push(`${broken.length} chains broke off, such as ${broken.slice(0, 3).join(', ')}`);
  return { whole: chains - broken.length, again, late, offences };
}
