/**
 * The records and sums of a Redis: a hash of values and a sorted set of their ends for each kind of record, and a hash for
 * sums.
 */
import { pauseAfter, within, type Seconds, type Timer } from '../../base/clock';
import { groupsOf, pageBytes, pagesOf } from '../../base/collections';
import type { RecordPage, RecordStore, RecordWake, StoreRecord, Sums } from '../record-store';
import { RecordListeners, type Notifications } from '../kit/record-listeners';
import { RedisPart, type RedisStore } from './store';
import type { Redis } from 'ioredis';
import { isReply } from './refusals';

/** The current value that a record must have to be written. */
type Condition = readonly [rule: 'any' | 'none' | 'this', expected: string];

const ANY: Condition = ['any', ''];

/** Prefix of the fields that hold amounts: a hash of sums also holds its end. */
const COUNTED = '+';

export class RedisRecordStore extends RedisPart implements RecordStore {
  readonly wake: RecordWake;
  readonly listeners: RecordListeners;

  /** @param checkOpen throws if the connection is closed; listeners are told only that nothing is heard */
  constructor(store: RedisStore, checkOpen: (operation: string) => void) {
    super(store);
    const { keys } = store;
    const { listeners } = new RecordChannels(store);
    this.listeners = listeners;
    this.wake = {
      put: async (record, keep) => {
        checkOpen('records.wake.put');
        const { kind, id } = record;
        await this.#put(kind, [record], keep, undefined, ANY, keys.recordChannel(kind, id));
      },
      listen: (kind, id, wake) => listeners.listen(keys.recordChannel(kind, id), wake),
    };
  }

  async put(records: readonly StoreRecord[], keep: Seconds, most?: number): Promise<void> {
    for (const [kind, own] of groupsOf(records, (record) => record.kind)) {
      for (const page of pagesOf(own, ({ value }) => pageBytes(value))) {
        await this.#put(kind, page, keep, most, ANY);
      }
    }
  }

  async replace(record: StoreRecord, expected: string | undefined, keep: Seconds): Promise<boolean> {
    const condition: Condition = expected === undefined ? ['none', ''] : ['this', expected];
    const [word] = await this.#put(record.kind, [record], keep, undefined, condition);
    return String(word) === 'put';
  }

  async get(kind: string, id: string): Promise<string | undefined> {
    const { caller, keys } = this.store;
    const [word, value] = await caller.script('record-get', keys.records(kind), [id], `${kind} ${id} was not read`);
    return String(word) === 'got' ? String(value) : undefined;
  }

  async list(kind: string, { limit, offset = 0 }: RecordPage): Promise<readonly StoreRecord[]> {
    const { caller, keys } = this.store;
    const consequence = `the records of ${kind} were not read`;
    const records: StoreRecord[] = [];
    for (let from = offset; from >= 0 && records.length < limit;) {
      const args = [from, limit - records.length];
      const answer = await caller.script('record-list', keys.records(kind), args, consequence);
      const [, next, ...words] = answer;
      for (let at = 0; at < words.length; at += 2) {
        records.push({ kind, id: String(words[at]), value: String(words[at + 1]) });
      }
      from = Number(next);
    }
    return records;
  }

  async add(sums: readonly Sums[], source: string, sequence: number): Promise<void> {
    const { caller, keys } = this.store;
    const names = [keys.added(source), ...sums.map(({ name }) => keys.sum(name))];
    const args = sums.flatMap(({ amounts, keep }) => {
      const fields = Object.keys(amounts).map((name) => COUNTED + name);
      return [Math.round(keep * 1000), fields.length, ...fields, ...Object.values(amounts)];
    });
    await caller.script('sum-add', names, [sequence, ...args], 'the sums were not updated');
  }

  async sums(names: readonly string[]): Promise<readonly Readonly<Record<string, number>>[]> {
    const pages = [...pagesOf(names, pageBytes)].map((page) => this.#sums(page));
    return (await Promise.all(pages)).flat();
  }

  /** One call for each MiB of amounts. */
  async #sums(names: readonly string[]): Promise<readonly Readonly<Record<string, number>>[]> {
    const read: Readonly<Record<string, number>>[] = [];
    while (read.length < names.length) {
      const keys = names.slice(read.length).map((name) => this.store.keys.sum(name));
      const [, text] = await this.store.caller.script('sum-read', keys, [], 'the sums were not read');
      read.push(...(JSON.parse(String(text)) as readonly Readonly<Record<string, string>>[]).map(numbersIn));
    }
    return read;
  }

  #put(
    kind: string,
    records: readonly StoreRecord[],
    keep: Seconds,
    most: number | undefined,
    condition: Condition,
    channel = '',
  ): Promise<readonly unknown[]> {
    const texts = records.flatMap(({ id, value }) => [id, value]);
    const args = [keep, most ?? 'all', ...condition, channel, ...texts];
    const { caller, keys } = this.store;
    return caller.script('record-put', keys.records(kind), args, `nothing was kept among the ${kind}`);
  }
}

function numbersIn(amounts: Readonly<Record<string, string>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, Number(amount)]));
}

const BACKOFF = { first: 100, longest: 5000 };

/**
 * Notifies of new records, on one client for everything that this connection waits for. Each record has a channel of its
 * own, so that nobody is notified of what others wait for.
 *
 * If the client is lost, so are the messages sent meanwhile: notifications count as off until the next subscription is
 * confirmed.
 */
class RecordChannels implements Notifications {
  readonly listeners: RecordListeners;
  readonly #store: RedisStore;
  #client: Redis | undefined;
  #opening = false;
  #failures = 0;
  #pause: Timer | undefined;

  constructor(store: RedisStore) {
    this.#store = store;
    this.listeners = new RecordListeners(store.caller.settings.clock, this);
  }

  join(channel: string): false {
    if (this.#client !== undefined) void this.#subscribe(this.#client, channel);
    else if (this.#pause === undefined) void this.#connect();
    return false;
  }

  leave(channel: string): void {
    // A message that still arrives wakes nobody.
    this.#client?.unsubscribe(channel).catch(() => undefined);
  }

  close(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    const client = this.#client;
    this.#client = undefined;
    client?.disconnect();
  }

  async #connect(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    const client = await this.#open();
    this.#opening = false;
    // Nobody listens any more.
    if (this.listeners.size === 0) return;
    if (client === undefined) return this.#again();
    this.#client = client;
    client.on('message', (channel: string) => this.listeners.wake(channel));
    // Whoever waits keeps the process alive; this socket does not.
    client.on('connect', () => client.stream.unref());
    // Reported by the calls made meanwhile.
    client.on('error', () => undefined);
    client.on('close', () => this.#lose(client));
    for (const channel of this.listeners.names) void this.#subscribe(client, channel);
  }

  /** In a cluster the master of the records may not be known. */
  async #open(): Promise<Redis | undefined> {
    const { caller, keys } = this.#store;
    const [values] = keys.records('');
    const found = caller.link.clientFor(values);
    if (found !== undefined) return found;
    // The client learns the nodes before its first command.
    await caller.glance('exists', [values], 'the master of the records was not found').catch(() => undefined);
    return caller.link.clientFor(values);
  }

  async #subscribe(client: Redis, channel: string): Promise<void> {
    const { clock, deadline } = this.#store.caller.settings;
    try {
      await within(clock, deadline * 1000, client.subscribe(channel), false);
    } catch (error) {
      if (!isReply(error)) return this.#lose(client);
      return this.#store.caller.tellOfPolling('results', 'results are polled every second', error);
    }
    if (this.#client !== client) return;
    this.#failures = 0;
    this.listeners.opened(channel);
  }

  #lose(client: Redis): void {
    client.disconnect();
    if (this.#client !== client) return;
    this.#client = undefined;
    this.listeners.lost();
    if (this.listeners.size > 0) this.#again();
  }

  #again(): void {
    this.#failures += 1;
    this.#pause = this.#store.caller.settings.clock.after(pauseAfter(this.#failures - 1, BACKOFF), () => {
      this.#pause = undefined;
      if (this.listeners.size > 0) void this.#connect();
    });
  }
}
