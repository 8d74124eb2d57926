/** Puts jobs into a tube. */
import type { Seconds } from '../../base/clock';
import type { Entry } from '../contract';
import type { BeanstalkdCaller } from './caller';
import { jobTooBig } from './errors';
import type { Command, Link } from './link';
import { freshPriority } from './marks';
import { putCommand, type Reply } from './protocol';

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
