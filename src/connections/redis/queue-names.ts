/** A set of names of queues, and what this process has added to it already. */
import { QueueUnavailableError } from '../errors';
import { Recent } from '../../base/recent';
import type { RedisCaller } from './caller';
import { isRefusal } from './errors';
import { explained } from './explanations';

/** A name that is met again after so many others is added again, which changes nothing. */
const MOST_NAMES = 10_000;

export class QueueNames {
  readonly #caller: RedisCaller;
  readonly #key: string;
  readonly #added = new Recent<string, Promise<unknown>>(MOST_NAMES);

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

  /**
   * Adds it, if Redis takes it: what belongs to the queue must not wait for that. Who has pushed to it has made it known,
   * as a rule.
   *
   * @throws QueueUnavailableError where there is no answer
   */
  async tell(queue: string): Promise<void> {
    try {
      await this.add(queue);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // What holds for all that is written is said by that.
      if (error instanceof QueueUnavailableError) return;
      await this.#caller.tellOfRefusal(this.#key, [this.#key], error);
    }
  }

  /** The store has lost them: each is added again when it is next met. */
  forget(): void {
    this.#added.clear();
  }

  has(queue: string): boolean {
    return this.#added.has(queue);
  }

  async all(): Promise<readonly string[]> {
    const asked = this.#caller.command('smembers', [this.#key], { consequence: 'the queues were not read' });
    const names = await asked.catch(async (error: unknown) => {
      throw await explained(this.#caller, [this.#key], error);
    });
    return (names as readonly Buffer[]).map(String).toSorted();
  }
}
