/** Puts jobs into a tube. */
import type { Seconds } from '../../clock/clock';
import type { Entry } from '../../queue/connection';
import type { Caller } from './caller';
import { putCommand } from './commands';
import { JobTooBigError } from './errors';
import { freshPriority } from './marks';
import { refusal } from './trouble';

export interface PushTerms {
  readonly priority: number;
  readonly lease: Seconds;
}

/** @throws JobTooBigError, then nothing was sent; QueueUnavailableError */
export async function push(
  caller: Caller,
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
  if (size > limit) throw new JobTooBigError({ connection, address, size, limit, consequence });
  const puts = bodies.map((body, index) =>
    putCommand({ body, priority: freshPriority(priority), delay: entries[index]!.delay ?? 0, lease }),
  );
  const replies = (await caller.call((link) => [...link.use(tube), ...puts], { consequence })).slice(-puts.length);
  const refused = replies.find(({ word }) => word !== 'INSERTED');
  if (refused === undefined) return;
  // Without memory it takes a job, and lets nobody have it.
  const buried = replies.filter(({ word }) => word === 'BURIED').map(({ args }) => `delete ${args[0]}`);
  await caller.call(() => buried, { consequence, again: true });
  const missing = replies.filter(({ word }) => word !== 'INSERTED').length;
  const part = entries.length === 1 ? consequence : `${missing} of ${entries.length} jobs were not queued`;
  throw refusal(caller.settings, 'put', refused, part);
}
