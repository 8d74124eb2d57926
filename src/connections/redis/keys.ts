/** The names of all keys in Redis. Nothing else builds a name. */
import { randomBytes } from 'node:crypto';
import { Recent } from '../../base/collections';

/** The keys of one queue. In a cluster all of them share a slot. */
export type QueueKeys = Readonly<ReturnType<typeof keysOf>>;

/** The keys that every queue has once. */
export type QueueKey = Exclude<keyof QueueKeys, 'once' | 'client'>;

/** What the end of a job concerns besides its queue: the mark of its cancellation, its unique key, its batch, its lane. */
export const TIES = [
  'cancelled',
  'reasons',
  'unique',
  'batches',
  'cancelledBatches',
  'lanes',
  'held',
] as const satisfies readonly QueueKey[];

/** Who owns what all queues share, outside a cluster: the empty name, which belongs to no queue. Its calls are recorded under it. */
export const SHARED = '';

/** The names of further queues are built again each time. */
const MOST_QUEUES = 1000;

export class Keys {
  readonly prefix: string;
  readonly #cluster: boolean;
  readonly #queues = new Recent<string, QueueKeys>(MOST_QUEUES);

  /** @param cluster whether queue names are wrapped in a hash tag, as in Laravel */
  constructor(prefix: string, cluster: boolean) {
    this.prefix = prefix;
    this.#cluster = cluster;
  }

  queue(name: string): QueueKeys {
    return this.#queues.ensure(name, () => {
      const ready = this.prefix + this.#own(name);
      return keysOf(ready, this.#cluster ? ready : this.prefix);
    });
  }

  of(queue: string, names: readonly QueueKey[]): readonly string[] {
    const keys = this.queue(queue);
    return names.map((name) => keys[name]);
  }

  /** The queue whose `ready` key this is. */
  queueOf(ready: string): string {
    const own = ready.slice(this.prefix.length);
    return this.#cluster ? own.slice(1, -1) : own;
  }

  /** set: the names of all queues ever used. The empty name before the colon belongs to no queue */
  get names(): string {
    return `${this.prefix}:queues`;
  }

  /** set: in a cluster, the names of the queues whose workers hear of orders; each has its own hash for them */
  get ordered(): string {
    return `${this.prefix}:ordered`;
  }

  /** hash: orders to all workers. Not used in a cluster */
  get control(): string {
    return controlOf(this.prefix);
  }

  /** list: makes one process's read of hints start again. Not used in a cluster */
  interruption(id: string): string {
    return `${this.prefix}:waiter:${id}`;
  }

  /** string: the token of the lock's owner */
  lock(name: string): string {
    return `${this.prefix}:${this.#own(`lock:${name}`)}`;
  }

  /** The keys of all records of a kind. hash: id → value; sorted set: id → when it expires. In a cluster all kinds share a slot */
  records(kind: string): readonly [values: string, ends: string] {
    const values = `${this.prefix}:${this.#own('records')}:${kind}`;
    return [values, `${values}:ends`];
  }

  /** channel: wakes those who wait for a record. All databases of a Redis share channels */
  recordChannel(kind: string, id: string): string {
    return `${this.records(kind)[0]}:${id}`;
  }

  /** hash: name of an amount → its sum. In a cluster all sums share a slot */
  sum(name: string): string {
    return `${this.prefix}:${this.#own('sums')}:${name}`;
  }

  /** string: the number of the last addition of a source. In a cluster it shares the slot of the sums */
  added(source: string): string {
    return `${this.prefix}:added:${this.#cluster ? '{sums}:' : ''}${source}`;
  }

  #own(name: string): string {
    return this.#cluster ? `{${name}}` : name;
  }

  /** string: exists once a release under this id was carried out. In a cluster it shares the lock's slot */
  released(lock: string, id: string): string {
    return `${this.lock(lock)}:released:${id}`;
  }
}

const controlOf = (owner: string): string => `${owner}:control`;

/** @param owner who the orders belong to: the queue itself, or the empty name before the colon, which belongs to no queue */
function keysOf(ready: string, owner: string) {
  return {
    /** list: payloads ready to run */
    ready,
    /** sorted set: payload → due time */
    delayed: `${ready}:delayed`,
    /** sorted set: payload → lease end */
    reserved: `${ready}:reserved`,
    /** list: wake-up hints */
    notify: `${ready}:notify`,
    /** sorted set: id → when it failed */
    failed: `${ready}:failed`,
    /** hash: id → meta line, payload */
    failedJobs: `${ready}:failed:jobs`,
    /** hash: orders to workers. One per queue in a cluster, otherwise one per connection */
    control: controlOf(owner),
    /** sorted set: id of a cancelled job → when the mark may go. Shared as `control` is */
    cancelled: `${owner}:cancelled`,
    /** hash: id of a cancelled job → its reason. Shared as `control` is */
    reasons: `${owner}:cancelled:reasons`,
    /** hash: unique key → who holds it. Shared as `control` is */
    unique: `${owner}:unique`,
    /** hash: lane → how many of its jobs are ready or reserved. Shared as `control` is */
    lanes: `${owner}:lanes`,
    /** sorted set: jobs that wait until their lane has room. Shared as `control` is */
    held: `${owner}:held`,
    /** hash: id of a batch → its numbers; also its name, and the jobs that it sends. Shared as `control` is */
    batches: `${owner}:batches`,
    /** sorted set: id of a batch → when it began. Shared as `control` is */
    begunBatches: `${owner}:batches:begun`,
    /** sorted set: id of a cancelled batch that has not finished → when it was cancelled. Shared as `control` is */
    cancelledBatches: `${owner}:batches:cancelled`,
    /** string: which call pushed a job under this key, and its answer. Shared as `control` is */
    once: (key: string) => `${owner}:once:${key}`,
    /** string: the last answer given to the client of this id */
    client: (id: string) => `${ready}:client:${id}`,
  };
}

const TYPES: readonly (readonly [ending: RegExp, type: string])[] = [
  [/:client:[^:]*$|:\{?lock:|:(added|once):/, 'string'],
  [/:(delayed|reserved|failed|cancelled|held|batches:begun)$|:\{?records\}?:[a-z]+:ends$/, 'zset'],
  [/:(failed:jobs|control|cancelled:reasons|unique|lanes|batches)$|:\{?records\}?:[a-z]+$|:\{?sums\}?:/, 'hash'],
];

/** The type that Redis reports for one of our keys, except keys that are used without a script. */
export function typeOf(key: string): string {
  return TYPES.find(([ending]) => ending.test(key))?.[1] ?? 'list';
}

/** A name under which Redis records the answers to one caller: short, because it is in many keys, and never given twice. */
export function clientId(): string {
  return randomBytes(8).toString('hex');
}
