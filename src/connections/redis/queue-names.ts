/** The set of names of all queues that were ever used, and what this process has added to it already. */
import type { RedisCaller } from './caller';
import type { Keys } from './keys';

export class QueueNames {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  readonly #added = new Map<string, Promise<unknown>>();

  constructor(caller: RedisCaller, keys: Keys) {
    this.#caller = caller;
    this.#keys = keys;
  }

  /** Once for a process and queue; an attempt that failed is made again. */
  async add(queue: string): Promise<void> {
    let adding = this.#added.get(queue);
    if (adding === undefined) {
      adding = this.#caller.command('sadd', [this.#keys.names, queue], {
        consequence: `queue '${queue}' was not made known`,
      });
      this.#added.set(queue, adding);
      adding.catch(() => this.#added.delete(queue));
    }
    await adding;
  }

  has(queue: string): boolean {
    return this.#added.has(queue);
  }

  async all(): Promise<readonly string[]> {
    const names = await this.#caller.command('smembers', [this.#keys.names], {
      consequence: 'the queues were not read',
    });
    return (names as readonly Buffer[]).map(String).toSorted();
  }
}
