/** The tubes of queues: their names, how jobs get in, how a tube is emptied, and jobs that are buried in it. */
import { tubeName, jobTooBig } from './errors';
import type { Seconds } from '../../base/clock';
import type { Entry, Buried } from '../contract';
import type { BeanstalkdCaller } from './caller';
import { putCommand, tubeCounts, type Command, type Link, type Reply } from './link';
import { freshPriority } from './marks';
import type { Reservers } from './reserver';

const NAME = /^[A-Za-z0-9+/;.$_()][A-Za-z0-9+/;.$_()-]{0,199}$/;

export class Tubes {
  readonly #connection: string;
  readonly #prefix: string;

  constructor(connection: string, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** @throws E_BEANSTALKD_TUBE_NAME */
  of(queue: string): string {
    const tube = this.#prefix + queue;
    if (!NAME.test(tube)) throw tubeName(this.#connection, queue, tube);
    return tube;
  }

  /** Undefined if it is not one of ours. */
  queueOf(tube: string): string | undefined {
    return tube.startsWith(this.#prefix) ? tube.slice(this.#prefix.length) : undefined;
  }
}

export interface PushTerms {
  readonly priority: number;
  readonly lease: Seconds;
}

/** @throws E_BEANSTALKD_JOB_TOO_BIG, then nothing was sent; QueueUnavailableError */
export async function push(
  caller: BeanstalkdCaller,
  tube: string,
  entries: readonly Entry[],
  { priority, lease }: PushTerms,
): Promise<void> {
  if (entries.length === 0) return;
  const consequence = `${entries.length} ${entries.length === 1 ? 'job was' : 'jobs were'} not queued`;
  const bodies = entries.map(({ payload }) => Buffer.from(payload));
  const limit = Number((await caller.facts(consequence)).get('max-job-size'));
  const size = Math.max(...bodies.map(({ length }) => length));
  const { name: connection, address } = caller.settings;
  if (size > limit) throw jobTooBig({ connection, address, size, limit, consequence });
  const puts = bodies.map((body, index) =>
    putCommand({ body, priority: freshPriority(priority), delay: entries[index]!.delay ?? 0, lease }),
  );
  let used: Link | undefined;
  const commands = (link: Link): readonly Command[] => [...(used = link).use(tube), ...puts];
  const replies = await caller.call(commands, { consequence });
  const refused = replies.find(({ word }) => word !== 'INSERTED' && word !== 'USING');
  if (refused === undefined) return;
  // The link still uses the previous tube, in which nobody looks for these jobs.
  if (refused === replies[0] && replies.length > puts.length) used?.close();
  const left = await takeBack(caller, replies, consequence);
  const out = entries.length - left;
  const part = left === 0 ? consequence : `${out} of ${entries.length} jobs ${out === 1 ? 'was' : 'were'} not queued`;
  throw caller.refusal('put', refused, part, left > 0);
}

/**
 * Removes the jobs that were taken, so that all can be sent again, or elsewhere. A server without memory may even take a job
 * and bury it.
 *
 * @returns how many of the jobs somebody has already
 */
async function takeBack(caller: BeanstalkdCaller, replies: readonly Reply[], consequence: string): Promise<number> {
  const taken = replies.filter(({ word }) => word === 'INSERTED' || word === 'BURIED');
  const deletes = taken.map(({ args }) => `delete ${args[0]}`);
  const answers = await caller.call(() => deletes, { consequence, repeatable: true });
  return answers.filter(({ word }) => word !== 'DELETED').length;
}

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

/** Failed jobs for which there is no failed store: buried, and kicked to run again. @param queues lists all */
export function buriedJobs(caller: BeanstalkdCaller, tubes: Tubes, queues: () => Promise<readonly string[]>): Buried {
  const count = async (queue: string): Promise<number> =>
    tubeCounts(await caller.ask(`stats-tube ${tubes.of(queue)}`, 'the buried jobs were not counted')).buried;
  const each = async (command: string, done: string, those: readonly string[]): Promise<number> => {
    const consequence = 'not all buried jobs were reached';
    const question = { consequence, repeatable: true };
    let reached = 0;
    for (const queue of those) {
      const tube = tubes.of(queue);
      // No more than there are now: a job that fails again is buried again.
      for (let left = await count(queue); left > 0; left -= 1) {
        const first = (await caller.call((link) => [...link.use(tube), 'peek-buried'], question)).at(-1)!;
        if (first.word !== 'FOUND') break;
        if ((await caller.ask(`${command} ${first.args[0]}`, consequence)).word === done) reached += 1;
      }
    }
    return reached;
  };
  return {
    count,
    // One by one: a kick of many would take delayed jobs once no buried ones are left.
    kick: async () => each('kick-job', 'KICKED', await queues()),
    flush: async (queue) => each('delete', 'DELETED', queue === undefined ? await queues() : [queue]),
  };
}
