/** Worker processes are killed with SIGKILL again and again, in the middle of chains. */
import { eventually } from '../../support/eventually';
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
/** The places between the first and the last. */
const BETWEEN = [1, 2, 3];
const WORKERS = 4;
const CONCURRENCY = 10;
/** Seconds for a call, which none is meant to pass: after several that do, what sends a batch comes again only after a minute. */
const DEADLINE = 60;
/** In one of this many chains the links between the first and the last are a batch, which is sent in two calls. */
const BATCHED = 3;
/** Where one of the jobs of each batch goes; in a cluster all are in one queue. */
const SECOND = 'second';

const isBatched = (chain: number): boolean => chain % BATCHED === 0;
/** The places that must be done before this one begins, and those that must not have begun when it begins again. */
const before = (chain: number, place: number): readonly number[] => {
  if (place === 0) return [];
  if (!isBatched(chain)) return [place - 1];
  return place === LINKS - 1 ? BETWEEN : [0];
};
const behind = (chain: number, place: number): readonly number[] => {
  if (place === LINKS - 1) return [];
  if (!isBatched(chain)) return [place + 1];
  return place === 0 ? BETWEEN : [LINKS - 1];
};

export const killedChains: Soak<Size> = {
  name: 'chains',
  title: 'chains of five links, some of them a batch, whose worker processes are killed with SIGKILL',
  figure:
    '0 broken chains, 0 links out of order, 0 batches cancelled; a link runs twice only after a kill, and never once the next one was pushed',
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql'],
  // test/faults/chains.test.ts kills workers of chains on SQLite. On the other stores the tests kill workers in the middle of
  // batches, which contain chains.
  inTests: [],
  sizes: {
    test: { lease: meantToPass(6), chains: 40, kills: 2, takes: 10 },
    soak: { lease: meantToPass(1), chains: 2000, kills: 100, takes: 20 },
    full: { lease: meantToPass(1), chains: 2000, kills: 100, takes: 20 },
  },

  async play(store, { lease, chains, kills, takes }) {
    const stage = await Stage.open(store, { lease, deadline: DEADLINE });
    try {
      for (let chain = 0; chain < chains; chain += 1) {
        const links = Array.from({ length: LINKS }, (_, place) => new Link(chain, place, takes));
        const [first, ...rest] = links as [Link, ...Link[]];
        const last = rest.pop()!;
        if (store !== 'cluster' && isBatched(chain)) rest[1]!.onQueue(SECOND);
        await stage.bus.chain(isBatched(chain) ? [first, stage.bus.batch(rest), last] : links).dispatch();
      }
      const crew = new Crew(stage, WORKERS, { queue: ['default', SECOND], concurrency: CONCURRENCY });
      const isOver = (): boolean => stage.ledger.count('done') >= chains * LINKS;
      for (let kill = 1; kill <= kills; kill += 1)
        await crew.killOne((kill * chains * LINKS) / (kills + 1), { isOver });
      const left = async (): Promise<number> => {
        const sizes = ['default', SECOND].map((queue) => stage.manager.connection().size(queue));
        return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      };
      await eventually(async () => (await left()) === 0, { of: 'the end of all chains' });
      await stage.dismiss();
      const sent = await stage.manager.batches.list({ limit: chains });
      const ended = sent.filter(({ completed, isCancelled }) => completed === BETWEEN.length && !isCancelled).length;
      const batches = Math.ceil(chains / BATCHED);

      const { lines } = stage.ledger;
      // Ids of links are known from their runs. Links that never ran are missing from their chains.
      stage.dispatched.push(...new Set(lines.filter(({ event }) => event === 'started').map(({ id }) => id)));
      const account = await stage.account();
      const found = lookAt(lines, chains);
      const { whole, again, late } = found;
      return {
        reached:
          `${whole} of ${chains} chains whole, ${account.completed} links completed, ${account.failed} failed; ${again} links run again by ${kills} kills, ` +
          `${late} of them after the next one had begun; ${ended} of ${batches} batches complete`,
        offences: [
          ...account.offences,
          ...found.offences,
          ...(ended === batches ? [] : [`${batches - ended} batches are not complete`]),
        ],
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
    if (before(chain, place).some((one) => !seen[chain]![one]!.isDone))
      offences.push(`link ${place} of chain ${chain} ran out of order`);
    if (behind(chain, place).some((one) => seen[chain]![one]!.started > 0)) {
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
