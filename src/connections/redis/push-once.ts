/** Pushes a job by a key, once, in a call of its own: a repeat of that call is told by a name that no other has. */
import type { BatchEnd } from '../batch-store';
import type { FollowUp, Once, Pushed } from '../contract';
import { batchEnded } from '../errors';
import { entriesOf } from './entries';
import { joiningOf } from './joining';
import { clientId } from './keys';
import { script } from './scripts';
import type { RedisStore } from './store';

/** @throws E_BATCH_ENDED its batch takes no more; nothing was written */
export async function pushOnce(
  { caller, keys, names }: RedisStore,
  { queue, entry }: FollowUp,
  { key, until }: Once,
): Promise<Pushed | 'before' | 'late'> {
  // Sent before the job, as by a push: none is to be in a queue that nobody lists.
  if (!names.has(queue)) names.add(queue).catch(() => undefined);
  const { once, ready, delayed, notify, unique } = keys.queue(queue);
  const joining = joiningOf(keys, queue, [entry], undefined);
  const [word, id] = (await caller.script(
    script('push-once'),
    [once(key), ready, delayed, notify, unique, ...(joining?.keys ?? [])],
    [clientId(), until / 1000, ...entriesOf([[entry]]).args, ...(joining?.args ?? [])],
    { consequence: 'a job was not queued' },
  )) as [word: Buffer, id?: Buffer];
  switch (String(word)) {
    case 'before':
    case 'late':
      return String(word) as 'before' | 'late';
    case 'held':
      return { duplicate: String(id) };
    case 'ended':
      throw batchEnded(caller.settings.name, joining!.id, String(id) as BatchEnd);
    default:
      return id === undefined ? 'queued' : { replaced: String(id) };
  }
}
