/** A set of queue names in Redis, and the names that this process has already added to it. */
import { QueueUnavailableError } from '../errors';
import { Recent } from '../../base/recent';
import type { RedisCaller } from './caller';
import { isRefusal } from './errors';
import { explained } from './explanations';

/** A name that returns after this many others is added again, which changes nothing. */
const MOST_NAMES = 10_000;

export class QueueNames {
  readonly #caller: RedisCaller;
  readonly #key: string;
  readonly #added = new Recent<string, Promise<unknown>>(MOST_NAMES);

  constructor(caller: RedisCaller, key: string) {
    this.#caller = caller;
    this.#key = key;
  }

  /** Adds a name once per process; a failed attempt is repeated. */
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
   * Has the name added, once per process. Sent before a job is, so that no job is in a queue that is not listed. If it fails,
   * the next call sends it again.
   */
  note(queue: string): void {
    if (!this.#added.has(queue)) this.add(queue).catch(() => undefined);
  }

  async all(): Promise<readonly string[]> {
    const asked = this.#caller.command('smembers', [this.#key], { consequence: 'the queues were not read' });
    const names = await asked.catch(async (error: unknown) => {
      throw await explained(this.#caller, [this.#key], error);
    });
    return (names as readonly Buffer[]).map(String).toSorted();
  }
}
