/** Calls the scripts like the driver, and shows the whole keyspace. */
import { Keys, type QueueKeys } from '../../src/connections/redis/keys';
import { script, type ScriptName } from '../../src/connections/redis/scripts';
import { debounceKey, readTies, type UniqueTie, uniqueKey, withTies } from '../../src/payload/ties';
import { keyspace } from '../connections/redis/keyspace';
import { RedisWorld } from '../connections/redis/open-redis';

/** What is sent to know that everything before it was heard. */
const HEARD = 'all was heard';

export type Argument = string | number | Buffer;

/** Times in states are rounded to this many seconds from the start of the test, because tests move the clock by hundreds. */
const ROUNDING = 100;

export const probe = (id: string, attempts = 0): string =>
  `{"job":"probe","data":{},"id":"${id}","attempts":${attempts}}`;

/** A job that holds a unique key, by default until its end. */
export const tiedProbe = (
  id: string,
  { key = id, until = 'end' as UniqueTie['until'], attempts = 0, most = 0 } = {},
): string =>
  withTies(probe(id, attempts), {
    unique: { key: uniqueKey('Probe', key), until, ...(most > 0 && { for: most }) },
  });

/** A debounced job, which can be put off for `longest` seconds at most. */
export function debouncedProbe(id: string, { key = 'one', longest }: { key?: string; longest?: number } = {}): string {
  return withTies(probe(id), { debounce: { key: debounceKey('Probe', key, 'q'), longest } });
}

export const probes = (count: number): string[] => Array.from({ length: count }, (_, at) => probe(`p${at}`));

/** The unique key of a job and its tie, as arguments of the scripts. */
export function keyIn(text: string): readonly [key: string, tie: string] {
  const { id, unique } = readTies(Buffer.from(text, 'latin1'))!;
  return [unique!.key, `${(unique!.for ?? 0) * 1000} ${id}`];
}

/** The keys of pushed jobs, as arguments of push.lua. */
export function keysOf(payloads: readonly Argument[]): Argument[] {
  const unique = payloads.flatMap((payload, at) => {
    const text = String(payload);
    return readTies(Buffer.from(text))?.unique === undefined ? [] : [[at + 1, ...keyIn(text)] as const];
  });
  const keys = uniqueArguments(unique);
  const debounced = payloads.flatMap((payload, at) => {
    const { id, debounce } = readTies(Buffer.from(String(payload))) ?? {};
    return debounce === undefined ? [] : [at + 1, debounce.key, `${(debounce.longest ?? 0) * 1000} ${id}`];
  });
  return [unique.length, debounced.length / 3, lanedAmong(payloads), ...keys, ...debounced];
}

function lanedAmong(payloads: readonly Argument[]): number {
  return payloads.filter((payload) => readTies(Buffer.from(String(payload)))?.lane !== undefined).length;
}

/** Unique keys as push.lua takes them. */
export function uniqueArguments(unique: readonly (readonly [place: number, key: string, tie: string])[]): string[] {
  if (unique.length === 0) return [];
  return [unique.map(([place]) => place).join(' '), ...unique.map(([, key]) => key), ...unique.map(([, , tie]) => tie)];
}

export class ScriptWorld {
  readonly #redis: RedisWorld;
  #start = 0;
  #sequence = 0;
  offset = 0;
  /** Makes every call happen at the same microsecond. */
  frozen = false;
  /** The number of the command of a script that is refused, from 1. */
  refusedCall: number | undefined;

  private constructor(redis: RedisWorld) {
    this.#redis = redis;
  }

  static async start(): Promise<ScriptWorld> {
    return new ScriptWorld(await RedisWorld.start());
  }

  async fresh(): Promise<void> {
    this.#redis.fresh();
    this.offset = 0;
    this.frozen = false;
    this.refusedCall = undefined;
    const [seconds] = await this.client.time();
    this.#start = Number(seconds);
  }

  stop(): Promise<void> {
    return this.#redis.stop();
  }

  get client() {
    return this.#redis.client;
  }

  get prefix(): string {
    return this.#redis.prefix;
  }

  queue(name = 'q'): QueueKeys {
    return this.keys.queue(name);
  }

  /** The keys of all lanes. */
  get laneKeys(): readonly [lanes: string, held: string] {
    const { lanes, held } = this.queue();
    return [lanes, held];
  }

  get keys(): Keys {
    return new Keys(this.prefix, false);
  }

  /** Runs a script. Bytes in its reply become Latin-1 texts. */
  async run(name: ScriptName, keys: readonly string[], args: readonly Argument[]): Promise<unknown[]> {
    const source =
      this.refusedCall === undefined ? script(name).source : refusing(script(name).source, this.refusedCall);
    const shown = this.frozen ? source.replace("call('TIME')", `{ ${this.#start}, 5 }`) : source;
    const reply = await this.client.callBuffer('eval', [shown, keys.length, ...keys, this.offset, ...args]);
    return texts(reply) as unknown[];
  }

  /** The commands that scripts send while the step is carried out. */
  async commandsOf(step: () => Promise<unknown>): Promise<readonly (readonly string[])[]> {
    const commands: (readonly string[])[] = [];
    const monitor = await this.client.monitor();
    const heard = new Promise<void>((resolve) => {
      monitor.on('monitor', (_time: string, words: readonly string[], source: string) => {
        if (source === 'lua') commands.push(words);
        if (words.includes(HEARD)) resolve();
      });
    });
    await step();
    await this.client.echo(HEARD);
    await heard;
    monitor.disconnect();
    return commands;
  }

  nextSequence(): number {
    return ++this.#sequence;
  }

  async push(
    payloads: readonly Argument[],
    { sequence = this.nextSequence(), queue = 'q', after = 0 as number | 'next' } = {},
  ): Promise<unknown[]> {
    return this.#push(queue, [sequence, after, payloads.length, ...keysOf(payloads), ...payloads]);
  }

  async pushLater(
    entries: readonly (readonly [rule: 'any' | 'unique', delay: number | string, payload: string])[],
    { sequence = this.nextSequence() } = {},
  ): Promise<unknown[]> {
    const keys = keysOf(entries.map(([, , payload]) => payload));
    return this.#push('q', [sequence, 0, 0, ...keys, ...entries.flat()]);
  }

  /** @param until seconds from the start; 0: only looks. `batch` is the batch of the entry, with weight 1 */
  async pushOnce(
    payload: string,
    { delay = 0, key = 'k', call = `call-${this.nextSequence()}`, until = 900, batch }: PushingOnce = {},
  ): Promise<unknown[]> {
    const { once, ready, delayed, notify, unique, batches, begunBatches, cancelledBatches } = this.queue();
    const keys = [once(key), ready, delayed, notify, unique, ...this.laneKeys];
    if (batch !== undefined) keys.push(batches, begunBatches, cancelledBatches);
    const entry = delay === 0 ? [1, ...keysOf([payload]), payload] : [0, ...keysOf([payload]), 'any', delay, payload];
    const joining = batch === undefined ? [] : [batch, 1, '1', 3];
    return this.run('push-once', keys, [call, until === 0 ? 0 : this.#start + until, ...entry, ...joining]);
  }

  async #push(name: string, args: readonly Argument[]): Promise<unknown[]> {
    const { client, ready, delayed, notify, unique } = this.queue(name);
    return this.run('push', [client('pusher'), ready, delayed, notify, unique, ...this.laneKeys], args);
  }

  /** Settles `outcomes`, which give queues by their places from 1, then reserves from the first `sources` of `queues`. */
  async exchange({
    outcomes = [],
    queues = ['q'],
    sources = queues.length,
    limit = 0,
    lease = 600,
    sequence = this.nextSequence(),
    client = 'worker',
  }: {
    outcomes?: readonly Argument[];
    queues?: readonly string[];
    sources?: number;
    limit?: number;
    lease?: number;
    sequence?: number;
    client?: string;
  }): Promise<Exchange> {
    const { control, cancelled, reasons, unique, batches, cancelledBatches } = this.queue();
    const keys = [
      this.queue(queues[0]!).client(client),
      control,
      cancelled,
      reasons,
      unique,
      batches,
      cancelledBatches,
      ...this.laneKeys,
    ];
    for (const name of queues) {
      const { ready, delayed, reserved, notify, failed, failedJobs } = this.queue(name);
      keys.push(ready, delayed, reserved, notify, failed, failedJobs);
    }
    const args = [sequence, client, lease, limit, sources, ...outcomes];
    const [word, next, , ...parts] = (await this.run('exchange', keys, args)) as [
      string,
      number,
      number,
      ...unknown[][],
    ];
    const hasNews = parts.length > 0 && typeof parts.at(-1)![0] !== 'number';
    const { lost, aside, news } = apart(hasNews ? parts.pop()! : []);
    return {
      word,
      lost,
      jobs: parts,
      aside,
      nextIn: next < 0 ? Infinity : next / 1_000_000,
      news,
    } as unknown as Exchange;
  }

  /** Reserves up to `limit` jobs of the queue `q` and returns their payloads. */
  async reserve(limit = 1, lease = 600): Promise<string[]> {
    const { jobs } = await this.exchange({ limit, lease });
    return jobs.flatMap(([, ...texts]) => texts);
  }

  /** Marks jobs as cancelled. */
  async mark(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.client.zadd(this.queue().cancelled, 1e10, id);
  }

  marks(): Promise<string[]> {
    return this.client.zrange(this.queue().cancelled, '0', '-1');
  }

  /** All keys except the records of answers, with times as rounded seconds from the start. */
  async state(): Promise<Record<string, unknown>> {
    const all = Object.entries(await keyspace(this.client, this.prefix));
    const shown = all.filter(([key]) => !key.includes(':client:'));
    return Object.fromEntries(shown.map(([key, value]) => [key, this.#rounded(value)]));
  }

  /** All keys, byte for byte. */
  whole(): Promise<Record<string, unknown>> {
    return keyspace(this.client, this.prefix);
  }

  #rounded(value: unknown): unknown {
    if (!Array.isArray(value) || !Array.isArray(value[0])) return value;
    return (value as [string, number][]).map(([member, score]) => [
      member,
      Math.round((score - this.#start) / ROUNDING) * ROUNDING,
    ]);
  }
}

export interface PushingOnce {
  readonly delay?: number | string;
  readonly key?: string;
  readonly call?: string;
  readonly until?: number;
  readonly batch?: string;
}

/** The key that exists once a command was refused. */
export const REFUSED = 'a call was refused';

function refusing(source: string, call: number): string {
  const counted = source.replaceAll('redis.call', 'counted_call').replaceAll('redis.pcall', 'counted_pcall');
  return `local calls = 0
    local function is_refused()
      calls = calls + 1
      if calls == ${call} then redis.call('SET', '${REFUSED}', calls) end
      return calls == ${call}
    end
    local function counted_call(...)
      if is_refused() then error('refused by the test') end
      return redis.call(...)
    end
    local function counted_pcall(...)
      if is_refused() then return redis.error_reply('refused by the test') end
      return redis.pcall(...)
    end
    ${counted}`;
}

export interface Exchange {
  readonly word: string;
  readonly lost: readonly number[];
  readonly jobs: readonly (readonly [place: number, ...texts: string[]])[];
  readonly aside: readonly (number | string)[];
  /** In seconds. */
  readonly nextIn: number;
  /** Words, each followed by its value. */
  readonly news: readonly unknown[];
}

/** Separates the news that nearly every reply has from the rest. */
function apart(words: readonly unknown[]): { lost: unknown; aside: unknown; news: readonly unknown[] } {
  const known: Record<string, unknown> = { lost: [], aside: [] };
  const news: unknown[] = [];
  for (let at = 0; at < words.length; at += 2) {
    if (String(words[at]) in known) known[String(words[at])] = words[at + 1];
    else news.push(words[at], words[at + 1]);
  }
  return { lost: known['lost'], aside: known['aside'], news };
}

function texts(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  return Array.isArray(reply) ? reply.map(texts) : reply;
}
