/** What all parts of a connection share: its calls, its keys, the names of its queues, and which masters of a cluster are silent. */
import { explained, RedisCaller, type RedisCallerSettings } from './caller';
import type { ClientSource } from './client';
import { Keys } from './keys';
import { RecordedCalls } from './lane';
import { RedisLink } from './link';
import { QueueUnavailableError } from '../errors';
import { Silence, within, type Milliseconds } from '../../base/clock';
import { Recent } from '../../base/collections';
import { isRefusal } from './refusals';

export type RedisContext = Omit<RedisCallerSettings, 'address'>;

export class RedisStore {
  readonly caller: RedisCaller;
  readonly keys: Keys;
  readonly recorded: RecordedCalls;
  /** The names of all queues ever used. */
  readonly names: QueueNames;
  readonly cluster: RedisCluster | undefined;

  constructor(source: ClientSource, prefix: string, context: RedisContext) {
    this.caller = new RedisCaller(new RedisLink(source), { ...context, address: source.address });
    this.keys = new Keys(source.keyPrefix + prefix, source.cluster);
    this.recorded = new RecordedCalls(this.caller, this.keys);
    this.names = new QueueNames(this.caller, this.keys.names);
    if (source.cluster) {
      this.cluster = {
        ordered: new QueueNames(this.caller, this.keys.ordered),
        masters: new SilentMasters(this.caller),
      };
    }
  }
}

/** A part of a connection: its failed jobs, locks, batches, records or orders. */
export abstract class RedisPart {
  constructor(protected readonly store: RedisStore) {}
}

export interface RedisCluster {
  /** The queues whose workers hear of orders. */
  readonly ordered: QueueNames;
  readonly masters: SilentMasters;
}

/** A name that returns after this many others is added again, which changes nothing. */
const MOST_NAMES = 10_000;
/** Another process may have forgotten the queue: after this time its name is added again. */
const AGAIN: Milliseconds = 60_000;

interface Added {
  readonly at: Milliseconds;
  readonly adding: Promise<unknown>;
}

/** A set of queue names in Redis, and the names that this process has added to it in the last minute. */
export class QueueNames {
  readonly #caller: RedisCaller;
  readonly #key: string;
  readonly #added = new Recent<string, Added>(MOST_NAMES);

  constructor(caller: RedisCaller, key: string) {
    this.#caller = caller;
    this.#key = key;
  }

  /** Adds a name once a minute; a failed attempt is repeated. */
  async add(queue: string): Promise<void> {
    await (this.#fresh(queue) ?? this.#addNow(queue)).adding;
  }

  /** @param isEmpty whether the queue has no jobs */
  async remove(queue: string, isEmpty: () => Promise<boolean>): Promise<boolean> {
    if (!(await isEmpty())) return false;
    const removed = await this.#caller.command('srem', [this.#key, queue], `queue '${queue}' was not forgotten`);
    this.#added.delete(queue);
    if (await isEmpty()) return removed === 1;
    // Somebody has pushed meanwhile.
    await this.add(queue);
    return false;
  }

  #fresh(queue: string): Added | undefined {
    const added = this.#added.get(queue);
    return added !== undefined && this.#caller.settings.clock.monotonic() - added.at < AGAIN ? added : undefined;
  }

  #addNow(queue: string): Added {
    const adding = this.#caller.command('sadd', [this.#key, queue], `queue '${queue}' was not made known`);
    const added = { at: this.#caller.settings.clock.monotonic(), adding };
    this.#added.set(queue, added);
    adding.catch(() => this.#added.delete(queue));
    return added;
  }

  /**
   * Adds the name, if Redis takes it: what belongs to the queue must not wait for that. Usually whoever pushed to the queue
   * has added its name.
   *
   * @throws QueueUnavailableError if there is no answer
   */
  async tell(queue: string): Promise<void> {
    try {
      await this.add(queue);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // An error that affects all writes is reported by the write itself.
      if (error instanceof QueueUnavailableError) return;
      await this.#caller.tellOfRefusal(this.#key, [this.#key], error);
    }
  }

  /** Redis has lost the names: each is added again when it is next used. */
  forget(): void {
    this.#added.clear();
  }

  /**
   * Has the name added, once a minute. Sent before a job is, so that no job is in a queue that is not listed. If it fails,
   * the next call sends it again.
   */
  note(queue: string): void {
    if (this.#fresh(queue) === undefined) this.#addNow(queue);
  }

  async all(): Promise<readonly string[]> {
    const asked = this.#caller.command('smembers', [this.#key], 'the queues were not read');
    const names = await asked.catch(async (error: unknown) => {
      throw await explained(this.#caller, [this.#key], error);
    });
    return (names as readonly Buffer[]).map(String).toSorted();
  }
}

/** Part of the deadline that the first unanswered call, and everybody behind it, waits. */
const PATIENCE = 1 / 2;

/** The cluster masters that do not answer at present: calls to several masters go on without them. */
export class SilentMasters {
  readonly #caller: RedisCaller;
  readonly #silent = new Set<string>();

  constructor(caller: RedisCaller) {
    this.#caller = caller;
  }

  has(key: string): boolean {
    return this.#silent.size > 0 && this.#silent.has(this.#caller.link.placeOf(key));
  }

  /**
   * The result of `asked`, or undefined if it does not come in time; at once if the master is known to be silent. `asked`
   * goes on.
   */
  async inTime<T>(key: string, asked: Promise<T>): Promise<T | undefined> {
    const place = this.#caller.link.placeOf(key);
    const isOver = (): unknown => this.#silent.delete(place);
    if (this.#silent.has(place)) {
      asked.then(isOver, isOver);
      return undefined;
    }
    const { clock, deadline } = this.#caller.settings;
    try {
      return await within(clock, deadline * 1000 * PATIENCE, asked, false);
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      this.#silent.add(place);
      asked.then(isOver, isOver);
      return undefined;
    }
  }
}
