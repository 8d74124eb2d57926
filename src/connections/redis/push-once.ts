/** Pushes jobs once per key, in a call of its own. A repeat of that call is recognised by a name that no other call has. */
import type { BatchEnd } from '../batch-store';
import type { Once, PageToPush, Pushed, PushedOnce } from '../contract';
import { batchEnded } from '../errors';
import { entriesOf } from './entries';
import { joiningOf } from './joining';
import { clientId } from './keys';
import type { RedisStore } from './store';

type Answer = readonly [
  word: Buffer,
  /** Pairs: a place, and the id of the job that holds the key. After `ended`: how the batch ended. */
  held?: readonly (number | Buffer)[] | Buffer,
  /** Pairs: a place, and the id of the job that was replaced. */
  replaced?: readonly (number | Buffer)[],
];

/** @throws E_BATCH_ENDED their batch takes no more; nothing was written */
export async function pushOnce(
  { caller, keys, names }: RedisStore,
  { queue, entries, begins }: PageToPush,
  { key, until }: Once,
): Promise<PushedOnce> {
  names.note(queue);
  const { once, ready, delayed, notify, unique } = keys.queue(queue);
  const joining = joiningOf(keys, queue, entries, begins);
  const { args, placeOf } = entriesOf([entries]);
  const answer = (await caller.script(
    'push-once',
    [once(key), ready, delayed, notify, unique, ...(joining?.keys ?? [])],
    [clientId(), until / 1000, ...args, ...(joining?.args ?? [])],
    { consequence: entries.length === 1 ? 'a job was not queued' : `${entries.length} jobs were not queued` },
  )) as Answer;
  const [word, held = [], replaced = []] = answer;
  switch (String(word)) {
    case 'before':
    case 'late':
    case 'skipped':
      return String(word) as 'before' | 'late' | 'skipped';
    case 'ended':
      throw batchEnded(caller.settings.name, joining!.id, String(held) as BatchEnd);
  }
  const pushed: Pushed[] = entries.map(() => 'queued');
  const tell = (words: readonly (number | Buffer)[], became: (id: string) => Pushed): void => {
    for (let at = 0; at < words.length; at += 2) pushed[placeOf(Number(words[at])).at] = became(String(words[at + 1]));
  };
  tell(held as readonly (number | Buffer)[], (duplicate) => ({ duplicate }));
  tell(replaced, (id) => ({ replaced: id }));
  return pushed;
}
