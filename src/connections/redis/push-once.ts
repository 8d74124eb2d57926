/** Pushes a job once per key, in a call of its own. A repeat of that call is recognised by a name that no other call has. */
import type { BatchEnd } from '../batch-store';
import type { FollowUp, Once, Pushed } from '../contract';
import { batchEnded } from '../errors';
import { entriesOf } from './entries';
import { joiningOf } from './joining';
import { clientId } from './keys';
import type { RedisStore } from './store';

/** @throws E_BATCH_ENDED its batch takes no more; nothing was written */
export async function pushOnce(
  { caller, keys, names }: RedisStore,
  { queue, entry }: FollowUp,
  { key, until }: Once,
): Promise<Pushed | 'before' | 'late'> {
  names.note(queue);
  const { once, ready, delayed, notify, unique } = keys.queue(queue);
  const joining = joiningOf(keys, queue, [entry], undefined);
  const [word, id] = (await caller.script(
    'push-once',
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
