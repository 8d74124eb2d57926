/** Worker processes are killed with SIGKILL again and again, in the middle of batches, some of whose jobs fail and some of which are links of chains. */
import { START_BATCH } from '../../../src/dispatch/batch/send-batch';
import { Crew } from '../kit/crew';
import type { LedgerLine } from '../kit/ledger';
import { Link } from '../kit/programs/jobs';
import { Stage } from '../kit/stage';
import { meantToPass } from '../../support/meant-to-pass';
import type { Soak } from './soak';

interface Size {
  /** Seconds. On a machine that runs other tests too, a renewal may be late. */
  readonly lease: number;
  readonly batches: number;
  readonly kills: number;
  /** Milliseconds that each job takes. */
  readonly takes: number;
  /** Further batches of four jobs, one for each worker, whose last jobs end at the same time. */
  readonly rounds: number;
}

const WORKERS = 4;
const CONCURRENCY = 10;
/** Seconds for a call, which none is meant to pass: after several that do, what sends a batch comes again only after a minute. */
const DEADLINE = 60;
/** The jobs of a batch: six single ones and two chains of three. */
const JOBS = 12;
/** One in this many batches has a job that fails. */
const FAILING = 4;
/** Milliseconds that a job takes that is dispatched because all others were done. Long enough to be seen. */
const SEEN = 500;
const CALLBACKS = { then: 100, catch: 101, finally: 102, next: 103 } as const;
/** One in this many batches is a link of a chain, so that a worker sends its jobs, and the link behind it. It is not one that has a failing job. */
const LINKED = 4;
const isLinked = (number: number, batches: number): boolean => number < batches && number % LINKED === 1;

export const killedBatches: Soak<Size> = {
  name: 'batches',
  title: 'batches of jobs and chains, some of them a link of a chain, whose worker processes are killed with SIGKILL',
  figure:
    '0 unfinished batches, pending + completed + failed + skipped = total at every look, each callback and each next link sent once',
  stores: ['redis', 'cluster', 'sqlite', 'postgres', 'mysql'],
  // On SQLite the tests kill workers in the middle of single jobs.
  inTests: ['cluster', 'postgres', 'mysql'],
  sizes: {
    test: { lease: meantToPass(6), batches: 12, kills: 2, takes: 10, rounds: 10 },
    soak: { lease: meantToPass(1), batches: 500, kills: 100, takes: 20, rounds: 1000 },
    full: { lease: meantToPass(1), batches: 500, kills: 100, takes: 20, rounds: 1000 },
  },

  async play(store, { lease, batches, kills, takes, rounds }) {
    const stage = await Stage.open(store, { lease, deadline: DEADLINE });
    const offences: string[] = [];
    try {
      for (let number = 0; number < rounds; number += 1) await begin(stage, batches + number, 4, 0);
      for (let number = 0; number < batches; number += 1)
        await begin(stage, number, JOBS, takes, isLinked(number, batches));
      const crew = new Crew(stage, WORKERS, { concurrency: CONCURRENCY });
      const jobs = batches * JOBS + rounds * 4;
      let begun = batches + rounds;
      const feed = (): Promise<void> => begin(stage, begun++, 4, SEEN);
      for (let kill = 1; kill <= kills; kill += 1) {
        await crew.killOne((kill * jobs) / (kills + 2), { feed });
        offences.push(...(await uncounted(stage, batches)));
      }
      await stage.drained();
      const { lines } = stage.ledger;
      const again = await sentAgain(stage, offences);
      await stage.drained();
      await stage.dismiss();

      stage.dispatched.push(...new Set(lines.filter(({ event }) => event === 'started').map(({ id }) => id)));
      const account = await stage.account();
      const failing = Math.ceil(batches / FAILING);
      if (account.failed !== failing) offences.push(`${account.failed} jobs failed, and ${failing} were to`);
      const unended = (await all(stage)).filter(({ isFinished, pending }) => !isFinished || pending > 0);
      if (unended.length > 0) offences.push(`${unended.length} batches have no end, such as ${unended[0]!.id}`);
      const sent = callbacksIn(lines);
      for (let number = 0; number < begun; number += 1) {
        const good = isLinked(number, batches) ? ['finally', 'next', 'then'] : ['finally', 'then'];
        const expected = number < batches && number % FAILING === 0 ? ['catch', 'finally'] : good;
        const found = sent.get(number) ?? [];
        if (found.join() !== expected.join()) offences.push(`batch ${number} sent ${found.join(' and ') || 'nothing'}`);
      }
      return {
        reached:
          `${begun - unended.length} of ${begun} batches ended, ${account.completed} jobs completed, ` +
          `${account.failed} failed, by ${kills} kills; ${[...sent.values()].flat().length} callbacks` +
          (again > 0 ? `; ${again} batches sent only by a retry, after three crashes` : ''),
        // In some batches one job should fail.
        offences: [...offences, ...account.offences.filter((offence) => !offence.includes('failed without cause'))],
      };
    } finally {
      await stage.close();
    }
  },
};

async function begin(stage: Stage, number: number, jobs: number, takes: number, isLink = false): Promise<void> {
  const link = (place: number): Link =>
    new Link(number, place, takes, place === 1 && jobs === JOBS && number % FAILING === 0);
  const members = Array.from({ length: jobs === JOBS ? 6 : jobs }, (_, place) => link(place));
  const chains = jobs === JOBS ? [6, 9].map((first) => [link(first), link(first + 1), link(first + 2)]) : [];
  const batch = stage.bus
    .batch([...members, ...chains])
    .name(String(number))
    .allowFailures()
    .then(new Link(number, CALLBACKS.then))
    .catch(new Link(number, CALLBACKS.catch))
    .finally(new Link(number, CALLBACKS.finally));
  await (isLink ? stage.bus.chain([batch, new Link(number, CALLBACKS.next)]) : batch).dispatch();
}

const all = (stage: Stage) => stage.manager.batches.list({ limit: 10_000 });

async function uncounted(stage: Stage, batches: number): Promise<readonly string[]> {
  const wrong = (await all(stage)).filter(({ name, total }) => total !== (Number(name) < batches ? JOBS : 4));
  return wrong.map(({ name, total }) => `batch ${name} counted ${total} jobs`);
}

/**
 * What sends a batch that is a link fails, and keeps its chain, if three kills hit it while it ran. A retry sends the batch. Returns
 * how many were sent again, and takes those for faulty that had not run as often.
 */
async function sentAgain({ driver, ledger, manager }: Stage, offences: string[]): Promise<number> {
  const senders = (await driver.failed!.list({ limit: 10_000 })).filter(({ name }) => name === START_BATCH);
  for (const { id, exception } of senders) {
    const starts = ledger.lines.filter(
      ({ note }) => note.includes(`${START_BATCH} starts`) && note.includes(id),
    ).length;
    if (starts < 3) offences.push(`${START_BATCH} ${id} failed after ${starts} starts: ${exception.split('\n')[0]!}`);
    await manager.failed.retry(id);
  }
  return senders.length;
}

/** The callbacks that ran, by the number of the batch. One that was sent as two jobs occurs twice. */
function callbacksIn(lines: readonly LedgerLine[]): ReadonlyMap<number, readonly string[]> {
  const done = new Map<string, string>();
  for (const { event, id, note } of lines) if (event === 'done') done.set(id, note);
  const sent = new Map<number, string[]>();
  for (const note of done.values()) {
    const [number, place] = note.split(' ').map(Number) as [number, number];
    const name = Object.entries(CALLBACKS).find(([, callback]) => callback === place)?.[0];
    if (name !== undefined) sent.set(number, [...(sent.get(number) ?? []), name].toSorted());
  }
  return sent;
}
