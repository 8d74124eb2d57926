/**
 * Pushes to one queue. Dispatches that arrive while a call is under way travel together in the next call.
 *
 * If they fill calls, several calls are under way. Redis carries out such a call only if the call before it was the last one
 * carried out: a call that is refused or lost with its connection holds up those behind it, and a repeat needs only a number
 * to find out how far they came.
 */
import type { BatchEnd, NewBatch } from '../batch-store';
import type { Entry, Pushed, Once, PageToPush, PushedOnce } from '../contract';
import { batchEnded, DuplicatePayloadError } from '../errors';
import type { RedisCaller } from './caller';
import { clientId, type Keys } from './keys';
import { fillsCall, Lane, whenOf, type Waiting } from './lane';
import { afterMicrotasks, type Seconds } from '../../base/clock';
import { MOST_JOBS, pageBytes, pagesOf } from '../../base/collections';
import type { RedisStore } from './store';
import { idOfTied, mostOf, type UniqueTie } from '../../payload/ties';

/** Enough to keep Redis from ever waiting for the next call. */
export const PUSHES_AT_ONCE = 10;

type Answer = readonly [
  word: Buffer,
  /** After `ended`: how the batch ended. */
  duplicates?: readonly number[] | Buffer,
  found?: Buffer,
  /** Pairs: a place, and the id of the job that holds the key. */
  held?: readonly (number | Buffer)[],
  /** Pairs: a place, and the id of the job that was replaced. */
  replaced?: readonly (number | Buffer)[],
];

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  /** The batch that the entries join. */
  readonly joining: Joining | undefined;
  /** @param pushed undefined: all were queued */
  resolve(pushed?: readonly Pushed[]): void;
}

export class PushLane extends Lane<Push> {
  readonly #queue: string;
  readonly #names: Keys;
  readonly #keys: readonly string[];
  readonly #onForgotten: () => void;
  /** The last call sent may refuse a duplicate. Its answer must be known: the record of a later call would hide it. */
  #mayRefuse = false;
  /** The batch of the last call sent, if its end is all that can refuse that call. */
  #batch: string | undefined;

  /** @param onForgotten called when Redis turns out to have lost data that it had confirmed */
  constructor(caller: RedisCaller, queue: string, keys: Keys, onForgotten: () => void) {
    super(caller);
    this.#queue = queue;
    this.#names = keys;
    const { client, ready, delayed, notify, unique } = keys.queue(queue);
    this.#keys = [client(this.id), ready, delayed, notify, unique];
    this.#onForgotten = onForgotten;
  }

  /**
   * Sends longer lists in several calls, one after another: if one fails, the following ones are not sent. Undefined: all
   * were queued.
   */
  async push(entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | undefined> {
    const joining = joiningOf(this.#names, this.#queue, entries, begins);
    if (entries.length === 1 || joining !== undefined) return this.#pushPage(entries, joining);
    const pages: (readonly Pushed[] | undefined)[] = [];
    const lengths: number[] = [];
    for (const page of pagesOf(entries, bytesOf)) {
      lengths.push(page.length);
      pages.push(await this.#pushPage(page));
    }
    if (pages.every((page) => page === undefined)) return undefined;
    return pages.flatMap((page, at) => page ?? Array<Pushed>(lengths[at]!).fill('queued'));
  }

  // A bulk pushes its pages in consecutive microtasks.
  protected override gather(send: () => void): void {
    afterMicrotasks(() => this.caller.together(send));
  }

  protected override maySendBehind(underWay: number): boolean {
    if (underWay >= PUSHES_AT_ONCE) return false;
    // A batch that has ended refuses the following calls too: they report it even if the first answer was lost.
    const isRest = this.#batch !== undefined && this.waiting[0]?.joining?.id === this.#batch;
    return (!this.#mayRefuse || isRest) && fillsCall(this.waiting);
  }

  #pushPage(entries: readonly Entry[], joining?: Joining): Promise<readonly Pushed[] | undefined> {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      // All entries of a batch may be refused, so they fill a call of their own.
      const jobs = joining === undefined ? entries.length : MOST_JOBS;
      this.enqueue({ entries, joining, jobs, bytes, isSingle: false, since, resolve, reject });
    });
  }

  protected async carry(pushes: readonly Push[], sequence: number, before?: Promise<void>): Promise<void> {
    const { args, count, mayRefuse, placeOf } = entriesOf(pushes.map(({ entries }) => entries));
    const { joining } = pushes[0]!;
    this.#mayRefuse = mayRefuse || joining?.isNew === false;
    this.#batch = mayRefuse ? undefined : joining?.id;
    const consequence = `${count === 1 ? 'a job was' : `${count} jobs were`} not queued`;
    const sentAt = this.moment;
    const push = (rule: 'next' | 'any'): Promise<Answer> =>
      this.caller.script(
        'push',
        joining === undefined ? this.#keys : [...this.#keys, ...joining.keys],
        [sequence, rule, ...args, ...(joining?.args ?? [])],
        { consequence, since: this.waitingSince(pushes) },
      ) as Promise<never>;
    let answer = await push(before === undefined ? 'any' : 'next');
    if (String(answer[0]) === 'gap') {
      this.heard();
      await before;
      answer = await push('any');
    }
    if (String(answer[0]) === 'ended')
      throw batchEnded(this.caller.settings.name, joining!.id, String(answer[1]) as BatchEnd);
    const [, duplicates = [], found, held = [], replaced = []] = answer;
    if (this.forgot(this.#keys[0]!, sentAt, found !== undefined && String(found) === 'unrecorded')) {
      this.#tellForgotten();
      this.#onForgotten();
    }
    for (const number of duplicates) {
      const { list, at } = placeOf(number);
      const { payload } = pushes[list]!.entries[at]!;
      pushes[list]!.reject(new DuplicatePayloadError(this.caller.settings.name, this.#queue, payload));
    }
    const told = new Map<Push, Pushed[]>();
    const tell = (words: readonly (number | Buffer)[], became: (id: string) => Pushed): void => {
      for (let word = 0; word < words.length; word += 2) {
        const { list, at } = placeOf(Number(words[word]));
        const push = pushes[list]!;
        const results = told.get(push) ?? push.entries.map(() => 'queued' as const);
        results[at] = became(String(words[word + 1]));
        told.set(push, results);
      }
    };
    tell(held, (duplicate) => ({ duplicate }));
    tell(replaced, (id) => ({ replaced: id }));
    for (const one of pushes) one.resolve(told.get(one));
  }

  #tellForgotten(): void {
    const { name, address, logger } = this.caller.settings;
    logger.error(
      { connection: name, address, queue: this.#queue, outcome: 'forgotten' },
      `${address} has lost data that it had confirmed: it was flushed, or came back without its data. Jobs that waited there ` +
        'are gone; what was pushed now is there.',
    );
  }
}

function bytesOf({ payload }: Entry): number {
  return pageBytes(payload);
}

type OnceAnswer = readonly [
  word: Buffer,
  /** Pairs: a place, and the id of the job that holds the key. After `ended`: how the batch ended. */
  held?: readonly (number | Buffer)[] | Buffer,
  /** Pairs: a place, and the id of the job that was replaced. */
  replaced?: readonly (number | Buffer)[],
];

/**
 * Pushes jobs once per key, in a call of its own. A repeat of that call is recognised by a name that no other call has.
 *
 * @throws E_BATCH_ENDED their batch takes no more; nothing was written
 */
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
  )) as OnceAnswer;
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

/** The position of an entry: its list, and its index there. */
interface Place {
  readonly list: number;
  readonly at: number;
}

interface Entries {
  readonly count: number;
  readonly args: readonly (string | number)[];
  /** Some entries may be left out, or replace other jobs. */
  readonly mayRefuse: boolean;
  /** Where the entry with this number (from 1) in the script's answer stands. Only for entries that the script may name. */
  readonly placeOf: (number: number) => Place;
}

/** See `lua/parts/unique.lua`. */
type KeyArguments = readonly [key: string, tie: string];

interface KeyedEntry {
  readonly places: readonly Place[];
  /** Its number in `places`, from 1. */
  readonly number: number;
  readonly args: KeyArguments;
}

/** The arguments of `lua/push.lua` for entries: unique keys, keys of debounced jobs, ready entries, then delayed ones. */
function entriesOf(lists: readonly (readonly Entry[])[]): Entries {
  const ready: string[] = [];
  const delayed: (string | number)[] = [];
  // A place costs an object per entry. The script names ready entries only if some entry has a key.
  const anyKeyed = lists.some((entries) => entries.some(isKeyed));
  const [readyPlaces, delayedPlaces]: [Place[], Place[]] = [[], []];
  const unique: KeyedEntry[] = [];
  const debounced: KeyedEntry[] = [];
  let mayRefuse = anyKeyed;
  for (const [list, entries] of lists.entries()) {
    for (const [at, entry] of entries.entries()) {
      const { payload, delay = 0, dueAt, distinct = false } = entry;
      const isReadyNow = isReady(entry);
      if (isReadyNow) ready.push(payload);
      else delayed.push(distinct && !isKeyed(entry) ? 'unique' : 'any', whenOf(delay, dueAt), payload);
      if (isReadyNow && !anyKeyed) continue;
      const places = isReadyNow ? readyPlaces : delayedPlaces;
      const number = places.push({ list, at });
      const args = keyOf(entry);
      if (args !== undefined) (entry.ties?.unique === undefined ? debounced : unique).push({ places, number, args });
      mayRefuse ||= distinct;
    }
  }
  const numberOf = ({ places, number }: KeyedEntry): number =>
    places === readyPlaces ? number : ready.length + number;
  const keys: (string | number)[] = debounced.flatMap((entry) => [numberOf(entry), ...entry.args]);
  if (unique.length > 0) {
    const [uniqueKeys, ties] = [unique.map(({ args: [key] }) => key), unique.map(({ args: [, tie] }) => tie)];
    keys.unshift(unique.map(numberOf).join(' '), ...uniqueKeys, ...ties);
  }
  return {
    count: ready.length + delayedPlaces.length,
    args: [ready.length, unique.length, debounced.length, ...keys, ...ready, ...delayed],
    mayRefuse,
    placeOf: (number) => (number > ready.length ? delayedPlaces[number - ready.length - 1]! : readyPlaces[number - 1]!),
  };
}

/** Ready entries come before the delayed ones. */
function isReady({ delay = 0, dueAt }: Entry): boolean {
  return delay <= 0 && dueAt === undefined;
}

function isKeyed({ ties }: Entry): boolean {
  return ties?.unique !== undefined || ties?.debounce !== undefined;
}

function keyOf({ payload, ties: { unique, debounce } = {} }: Entry): KeyArguments | undefined {
  const id = unique === undefined && debounce === undefined ? undefined : idOfTied(payload);
  if (id === undefined) return undefined;
  return unique === undefined ? argumentsOf(debounce!.key, debounce!.longest, id) : tieOf(unique, id);
}

export function tieOf({ key, for: longest }: UniqueTie, id: string): KeyArguments {
  return argumentsOf(key, longest, id);
}

function argumentsOf(key: string, longest: Seconds | undefined, id: string): KeyArguments {
  return [key, `${longest === undefined ? 0 : mostOf(longest)} ${id}`];
}

/**
 * The arguments of `lua/push.lua` about the batch that entries join: its keys, and the arguments after those of the entries.
 */

interface Joining {
  readonly id: string;
  /** The call begins the batch. Otherwise the call is refused if the batch has ended. */
  readonly isNew: boolean;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Undefined if the entries join no batch. */
function joiningOf(
  keys: Keys,
  queue: string,
  entries: readonly Entry[],
  begins: NewBatch | undefined,
): Joining | undefined {
  const id = begins?.id ?? entries[0]?.ties?.batch?.id;
  if (id === undefined) return undefined;
  // In the order in which the script numbers the entries.
  const numbered = [...entries.filter(isReady), ...entries.filter((entry) => !isReady(entry))];
  const weights = numbered.map(({ ties }) => (ties?.batch?.id === id ? ties.batch.weight : 0));
  const args = [id, weights.reduce((sum, weight) => sum + weight, 0), weights.join(' '), ...beginningOf(begins)];
  const own = keys.of(queue, ['batches', 'begunBatches', 'cancelledBatches']);
  const callbackKeys = begins?.callbacks.flatMap((sent) => keys.of(sent.queue, ['ready', 'delayed', 'notify'])) ?? [];
  return {
    id,
    isNew: begins !== undefined,
    keys: [...own, ...callbackKeys],
    args: [...args, args.length],
  };
}

function beginningOf(begins: NewBatch | undefined): readonly (string | number)[] {
  if (begins === undefined) return [];
  const { name, allowsFailures, openFor = 0, every = 0, callbacks } = begins;
  const sent = callbacks.flatMap(({ on, delay = 0, dueAt, head, id }) => [on, whenOf(delay, dueAt), head, id]);
  return [name, allowsFailures ? 1 : 0, openFor, every, ...sent];
}
