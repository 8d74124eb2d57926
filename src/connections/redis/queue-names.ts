/** A set of names of queues, and what this process has added to it already. */
import type { RedisCaller } from './caller';

export class QueueNames {
  readonly #caller: RedisCaller;
  readonly #key: string;
  readonly #added = new Map<string, Promise<unknown>>();

  constructor(caller: RedisCaller, key: string) {
    this.#caller = caller;
    this.#key = key;
  }

  /** Once for a process and queue; an attempt that failed is made again. */
  async add(queue: string): Promise<void> {
    let adding = this.#added.get(queue);
    if (adding === undefined) {
      adding = this.#caller.command('sadd', [this.#key, queue], {
        consequence: `queue '${queue}' was not made known`,
      });
      this.#added.set(queue, adding);
      adding.catch(() => this.#added.delete(queue));
    }
    await adding;
  }

  /** The store has lost them: each is added again when it is next met. */
  forget(): void {
    this.#added.clear();
  }

  has(queue: string): boolean {
    return this.#added.has(queue);
  }

  async all(): Promise<readonly string[]> {
    const names = await this.#caller.command('smembers', [this.#key], {
      consequence: 'the queues were not read',
    });
    return (names as readonly Buffer[]).map(String).toSorted();
  }
}
