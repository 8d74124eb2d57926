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
import { clientId, type Keys } from './keys';
import { CallHead } from './link';
import { script } from './scripts';
import { fillsCall, Lane, Records, whenOf, type Sent, type Waiting } from './lane';
import { afterMicrotasks, type Seconds } from '../../base/clock';
import { MOST_JOBS, pageBytes, pagesOf } from '../../base/collections';
import type { RedisStore } from './store';
import { idOfTied, mostOf } from '../../payload/ties';

/** Enough to keep Redis from ever waiting for the next call. */
export const PUSHES_AT_ONCE = 10;

/** A number of an entry, and the id of another job, again and again. */
type Pairs = readonly (number | Buffer)[];

type Answer = readonly [
  word: Buffer,
  duplicates?: readonly number[],
  found?: Buffer,
  /** With the ids of the jobs that hold the keys. */
  held?: Pairs,
  /** With the ids of the jobs that were replaced. */
  replaced?: Pairs,
];

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  /** Some entry has a key, or a lane. */
  readonly isKeyed: boolean;
  /** The batch that the entries join. */
  readonly joining: Joining | undefined;
  /** @param pushed undefined: all were queued */
  resolve(pushed?: readonly Pushed[]): void;
}

export class PushLane extends Lane<Push> {
  readonly #store: RedisStore;
  readonly #queue: string;
  readonly #records = new Records();
  readonly #keys: readonly string[];
  readonly #laneKeys: readonly string[];
  /** The beginning of calls without lanes and batches. */
  #head: CallHead | undefined;
  /** The last call sent may refuse a duplicate. Its answer must be known: the record of a later call would hide it. */
  #mayRefuse = false;
  /** The batch of the last call sent, if its end is all that can refuse that call. */
  #batch: string | undefined;
  /**
   * The last call that is known to be recorded: otherwise Redis has lost it, such as a replica that took over. One that refused an
   * entry is left out: on a full server it may have written nothing.
   */
  #recorded = 0;

  constructor(store: RedisStore, queue: string) {
    super(store.caller);
    this.#store = store;
    this.#queue = queue;
    const { client, ready, delayed, notify, unique, lanes, held } = store.keys.queue(queue);
    this.#keys = [client(this.id), ready, delayed, notify, unique];
    this.#laneKeys = [lanes, held];
  }

  /**
   * Sends longer lists in several calls, one after another: if one fails, the following ones are not sent. Undefined: all
   * were queued.
   */
  push(entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | undefined> {
    const id = begins?.id ?? entries[0]?.ties?.batch?.id;
    if (id !== undefined) return this.#pushPage(entries, joiningOf(id, this.#store.keys, this.#queue, entries, begins));
    return entries.length === 1 ? this.#pushPage(entries) : this.#pushPages(entries);
  }

  async #pushPages(entries: readonly Entry[]): Promise<readonly Pushed[] | undefined> {
    const pages: (readonly Pushed[] | undefined)[] = [];
    const lengths: number[] = [];
    for (const page of pagesOf(entries, ({ payload }) => pageBytes(payload))) {
      lengths.push(page.length);
      pages.push(await this.#pushPage(page));
    }
    if (pages.every((page) => page === undefined)) return undefined;
    return pages.flatMap((page, at) => page ?? Array<Pushed>(lengths[at]!).fill('queued'));
  }

  // A bulk pushes its pages in consecutive microtasks.
  protected override readonly gather = afterMicrotasks;

  protected override maySendBehind(): boolean {
    if (this.underWay >= PUSHES_AT_ONCE) return false;
    // A batch that has ended refuses the following calls too: they report it even if the first answer was lost.
    const isRest = this.#batch !== undefined && this.waiting[0]?.joining?.id === this.#batch;
    return (!this.#mayRefuse || isRest) && fillsCall(this.waiting);
  }

  #pushPage(entries: readonly Entry[], joining?: Joining): Promise<readonly Pushed[] | undefined> {
    let bytes = 0;
    let isKeyed = false;
    for (const { payload, ties } of entries) {
      bytes += pageBytes(payload);
      isKeyed ||= ties?.unique !== undefined || ties?.debounce !== undefined || ties?.lane !== undefined;
    }
    const since = this.caller.settings.clock.monotonic();
    // All entries of a batch may be refused, so they fill a call of their own.
    const jobs = joining === undefined ? entries.length : MOST_JOBS;
    return new Promise((resolve, reject) => {
      this.waiting.push({ entries, isKeyed, joining, jobs, bytes, isSingle: false, since, resolve, reject });
      this.goOn();
    });
  }

  protected async carry(pushes: readonly Push[], { sequence, since, at, before }: Sent): Promise<void> {
    const { args, count, mayRefuse, isLaned } = entriesOf(pushes);
    const { joining } = pushes[0]!;
    this.#mayRefuse = mayRefuse || joining?.isNew === false;
    this.#batch = mayRefuse ? undefined : joining?.id;
    const keys =
      joining === undefined && !isLaned
        ? (this.#head ??= new CallHead(script('push'), this.#keys))
        : [...this.#keys, ...this.#laneKeys, ...(joining?.keys ?? [])];
    if (joining !== undefined) args.push(...joining.args);
    const consequence = notQueued(count);
    const after = before === undefined ? this.#recorded : 'next';
    // Asked in its turn: what is pushed after it must not get ahead of it.
    for (const { entries, bytes } of pushes)
      if (bytes > this.caller.longest) await this.caller.admit(entries, this.#keys[1]!, consequence, { since });
    let answer = await this.caller.script('push', keys, [sequence, after, ...args], consequence, { since });
    if (String(answer[0]) === 'gap') {
      this.answeredAt = this.caller.settings.clock.monotonic();
      await before;
      const patience = { since: Math.max(since, this.answeredAt) };
      answer = await this.caller.script('push', keys, [sequence, this.#recorded, ...args], consequence, patience);
    }
    const { name } = this.caller.settings;
    if (String(answer[0]) === 'ended') throw batchEnded(name, joining!.id, String(answer[1]) as BatchEnd);
    const [, duplicates = [], found, held, replaced] = answer as Answer;
    if (duplicates.length === 0 && (held === undefined || held.length === 0))
      this.#recorded = Math.max(this.#recorded, sequence);
    const unrecorded = found !== undefined && String(found) === 'unrecorded';
    if (this.#records.areLost(this.#keys[0]!, at, unrecorded, this.caller.settings.clock)) {
      this.#tellForgotten();
      this.#store.names.forget();
      this.#store.names.note(this.#queue);
    }
    for (const number of duplicates) {
      const { list, at: place } = placesOf(pushes)[number - 1]!;
      const { payload } = pushes[list]!.entries[place]!;
      pushes[list]!.reject(new DuplicatePayloadError(name, this.#queue, payload));
    }
    const told = held === undefined ? [] : pushedOf(pushes, held, replaced);
    for (const [list, push] of pushes.entries()) push.resolve(told[list]);
  }

  #tellForgotten(): void {
    const { name, address, logger } = this.caller.settings;
    logger.error(
      { connection: name, address, queue: this.#queue, outcome: 'forgotten' },
      `${address} has lost data that it had confirmed: it was flushed, came back without its data, or is a replica that took over ` +
        'without the last of it. Jobs that were pushed before may be gone; what was pushed now is there.',
    );
  }
}

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
  const { once, ready } = keys.queue(queue);
  const consequence = notQueued(entries.length);
  await caller.admit(entries, ready, consequence);
  const id = begins?.id ?? entries[0]?.ties?.batch?.id;
  const joining = id === undefined ? undefined : joiningOf(id, keys, queue, entries, begins);
  const { args } = entriesOf([{ entries, isKeyed: true }]);
  const [word, held = [], replaced] = (await caller.script(
    'push-once',
    [once(key), ...keys.of(queue, ['ready', 'delayed', 'notify', 'unique', 'lanes', 'held']), ...(joining?.keys ?? [])],
    [clientId(), until / 1000, ...args, ...(joining?.args ?? [])],
    consequence,
  )) as readonly [Buffer, ...pairs: Pairs[]];
  switch (String(word)) {
    case 'before':
    case 'late':
    case 'skipped':
      return String(word) as 'before' | 'late' | 'skipped';
    case 'ended':
      throw batchEnded(caller.settings.name, joining!.id, String(held) as BatchEnd);
  }
  return pushedOf([{ entries }], held, replaced)[0] ?? entries.map(() => 'queued');
}

function notQueued(jobs: number): string {
  return `${jobs === 1 ? 'a job was' : `${jobs} jobs were`} not queued`;
}

/** What became of the entries of each list, for lists of which some entries were not simply queued. */
function pushedOf(
  lists: readonly { readonly entries: readonly Entry[] }[],
  held: Pairs,
  replaced: Pairs = [],
): readonly (readonly Pushed[] | undefined)[] {
  const told: (Pushed[] | undefined)[] = lists.map(() => undefined);
  const places = placesOf(lists);
  for (const [became, pairs] of [
    ['duplicate', held],
    ['replaced', replaced],
  ] as const) {
    for (let word = 0; word < pairs.length; word += 2) {
      const { list, at } = places[Number(pairs[word]) - 1]!;
      const results = (told[list] ??= lists[list]!.entries.map(() => 'queued' as const));
      results[at] = { [became]: String(pairs[word + 1]) } as Exclude<Pushed, string>;
    }
  }
  return told;
}

interface Entries {
  readonly count: number;
  readonly args: (string | number)[];
  /** Some entries may be left out, or replace other jobs. */
  readonly mayRefuse: boolean;
  readonly isLaned: boolean;
}

/** Some of the entries of a call. */
type Listed = Pick<Push, 'entries' | 'isKeyed'>;

/** The arguments of `lua/push.lua` for entries: unique keys, keys of debounced jobs, ready entries, then delayed ones. */
function entriesOf(lists: readonly Listed[]): Entries {
  const ready: Entry[] = [];
  const delayed: Entry[] = [];
  let isKeyed = false;
  for (const list of lists) {
    isKeyed ||= list.isKeyed;
    for (const entry of list.entries) (isReady(entry) ? ready : delayed).push(entry);
  }
  const args: (string | number)[] = isKeyed ? [ready.length, ...keysOf(lists, ready.length)] : [ready.length, 0, 0, 0];
  for (const { payload } of ready) args.push(payload);
  const isLaned = isKeyed && args[3] !== 0;
  let mayRefuse = isKeyed && args.slice(1, 3).some((keyed) => keyed !== 0);
  for (const { payload, delay = 0, dueAt, distinct = false, ties } of delayed) {
    const isTied = ties?.unique !== undefined || ties?.debounce !== undefined;
    args.push(distinct && !isTied ? 'unique' : 'any', whenOf(delay, dueAt), payload);
    mayRefuse ||= distinct;
  }
  return { count: ready.length + delayed.length, args, mayRefuse, isLaned };
}

/** Ready entries come before the delayed ones: so the scripts number them, from 1. */
function isReady({ delay = 0, dueAt }: Entry): boolean {
  return delay <= 0 && dueAt === undefined;
}

interface Place {
  readonly list: number;
  readonly at: number;
}

/** Where the entries stand, in the order of their numbers. */
function placesOf(lists: readonly { readonly entries: readonly Entry[] }[]): readonly Place[] {
  const [ready, delayed]: [Place[], Place[]] = [[], []];
  for (const [list, { entries }] of lists.entries()) {
    for (const [at, entry] of entries.entries()) (isReady(entry) ? ready : delayed).push({ list, at });
  }
  return [...ready, ...delayed];
}

/**
 * How many entries have a unique key, how many are debounced, how many have a lane; and their keys, in the order of the entries: if
 * two have the same one, the first counts.
 */
function keysOf(lists: readonly Listed[], ready: number): readonly (string | number)[] {
  const [numbers, keys, ties]: [number[], string[], string[]] = [[], [], []];
  const debounced: (string | number)[] = [];
  let [lastReady, lastDelayed, laned] = [0, ready, 0];
  for (const entry of lists.flatMap(({ entries }) => entries)) {
    const { payload, ties: { unique, debounce, lane } = {} } = entry;
    if (lane !== undefined) laned += 1;
    const number = isReady(entry) ? (lastReady += 1) : (lastDelayed += 1);
    const id = unique === undefined && debounce === undefined ? undefined : idOfTied(payload);
    if (id === undefined) continue;
    if (unique === undefined) {
      debounced.push(number, ...tieOf(debounce!.key, debounce!.longest, id));
      continue;
    }
    const [key, tie] = tieOf(unique.key, unique.for, id);
    numbers.push(number);
    keys.push(key);
    ties.push(tie);
  }
  const uniques = numbers.length === 0 ? [] : [numbers.join(' '), ...keys, ...ties];
  return [numbers.length, debounced.length / 3, laned, ...uniques, ...debounced];
}

/** The arguments of a key that a job holds for so long. See `lua/parts/unique.lua`. */
export function tieOf(key: string, longest: Seconds | undefined, id: string): readonly [key: string, tie: string] {
  return [key, `${longest === undefined ? 0 : mostOf(longest)} ${id}`];
}

/** The arguments of `lua/push.lua` about the batch that entries join: its keys, and what follows the entries. */
interface Joining {
  readonly id: string;
  /** The call begins the batch. Otherwise the call is refused if the batch has ended. */
  readonly isNew: boolean;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

function joiningOf(
  id: string,
  keys: Keys,
  queue: string,
  entries: readonly Entry[],
  begins: NewBatch | undefined,
): Joining {
  // In the order in which the script numbers the entries.
  const weights = placesOf([{ entries }]).map(({ at }) => {
    const batch = entries[at]!.ties?.batch;
    return batch?.id === id ? batch.weight : 0;
  });
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
