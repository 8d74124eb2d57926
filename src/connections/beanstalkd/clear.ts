/** Empties a tube, in pages. Jobs held by other processes are out of reach: only their holders can end them. */
import type { BeanstalkdCaller } from './caller';
import type { Command, Link } from './link';
import type { Reply } from './protocol';
import type { Reservers } from './reservers';

const PAGE = 100;

/** @throws QueueUnavailableError */
export async function clearTube(caller: BeanstalkdCaller, reservers: Reservers, tube: string): Promise<number> {
  const consequence = 'the queue was not cleared, or not all of it';
  // A new connection: if it fails, the server takes back the jobs that it reserved and did not delete.
  const link = await caller.open(consequence);
  const ask = (commands: readonly Command[]): Promise<readonly Reply[]> => link.call(commands, caller.deadline);
  try {
    let count = 0;
    for (const held of [...reservers.held()]) if (held.job.tube === tube && (await held.reserver.end(held))) count += 1;
    await ask(link.watch([tube]));
    for (let page = await takeReady(ask); page.length > 0; page = await takeReady(ask)) {
      await ask(page.map(({ args }) => `delete ${args[0]}`));
      count += page.length;
    }
    return count + (await endDelayed(ask, link, tube));
  } catch (error) {
    throw caller.explainLink(error, consequence, true);
  } finally {
    link.finish();
  }
}

type Ask = (commands: readonly Command[]) => Promise<readonly Reply[]>;

async function takeReady(ask: Ask): Promise<readonly Reply[]> {
  const replies = await ask(Array.from({ length: PAGE }, () => 'reserve-with-timeout 0'));
  return replies.filter(({ word }) => word === 'RESERVED');
}

/** The server shows only the first one. A job that becomes ready meanwhile may be somebody's, and stays. */
async function endDelayed(ask: Ask, link: Link, tube: string): Promise<number> {
  for (let count = 0; ;) {
    const first = (await ask([...link.use(tube), 'peek-delayed'])).at(-1)!;
    if (first.word !== 'FOUND') return count;
    const [deleted] = await ask([`delete ${first.args[0]}`]);
    if (deleted!.word === 'DELETED') count += 1;
  }
}
