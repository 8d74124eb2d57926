/** What every key in Redis is called. Nothing else builds a name. */

/** The keys of one queue. In a cluster all of them share a slot. */
export interface QueueKeys {
  /** list: payloads ready to run */
  readonly ready: string;
  /** sorted set: payload → due time */
  readonly delayed: string;
  /** sorted set: payload → lease end */
  readonly reserved: string;
  /** list: wake-up hints */
  readonly notify: string;
  /** sorted set: id → when it failed */
  readonly failed: string;
  /** hash: id → meta line, payload */
  readonly failedJobs: string;
  /** string: the last answer that a client of this name was given */
  readonly client: (id: string) => string;
}

export class Keys {
  readonly #prefix: string;
  readonly #cluster: boolean;
  readonly #queues = new Map<string, QueueKeys>();

  /** @param cluster whether names of queues are wrapped in a hash tag, as Laravel does */
  constructor(prefix: string, cluster: boolean) {
    this.#prefix = prefix;
    this.#cluster = cluster;
  }

  queue(name: string): QueueKeys {
    let keys = this.#queues.get(name);
    if (keys === undefined) {
      keys = keysOf(this.#prefix + (this.#cluster ? `{${name}}` : name));
      this.#queues.set(name, keys);
    }
    return keys;
  }

  /** set: the names of the queues that were ever used. The empty name before the colon is no queue's. */
  get names(): string {
    return `${this.#prefix}:queues`;
  }

  /** string: the token of the lock's owner */
  lock(name: string): string {
    return `${this.#prefix}:lock:${name}`;
  }
}

function keysOf(ready: string): QueueKeys {
  return {
    ready,
    delayed: `${ready}:delayed`,
    reserved: `${ready}:reserved`,
    notify: `${ready}:notify`,
    failed: `${ready}:failed`,
    failedJobs: `${ready}:failed:jobs`,
    client: (id) => `${ready}:client:${id}`,
  };
}
