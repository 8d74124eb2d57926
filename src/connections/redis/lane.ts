/**
 * Sends what comes in as one call at a time: what comes meanwhile travels in the next.
 *
 * One call at a time is what makes a repeat harmless: Redis keeps the last answer of a client, and no more. It is also
 * what makes many small calls fast.
 */
import type { Milliseconds } from '../../clock/clock';
import { QueueUnavailableError } from '../errors';
import type { RedisCaller } from './caller';
import { clientId } from './client-id';

export interface Waiting {
  readonly since: Milliseconds;
  reject(error: unknown): void;
}

export abstract class Lane<Item extends Waiting> {
  /** Under this name Redis records the answers of this lane. */
  protected readonly id = clientId();
  protected readonly caller: RedisCaller;
  readonly #waiting: Item[] = [];
  #sequence = 0;
  #busy = false;

  constructor(caller: RedisCaller) {
    this.caller = caller;
  }

  /** How many of the waiting items travel in the next call: at least one. */
  protected abstract fitting(items: readonly Item[]): number;

  /** Sends the items as call number `sequence`, and settles each. Where it rejects, so does each item. */
  protected abstract carry(items: readonly Item[], sequence: number): Promise<void>;

  protected enqueue(item: Item): void {
    this.#waiting.push(item);
    if (this.#busy) return;
    this.#busy = true;
    // Not at once: what is sent in the same turn of the microtasks travels along.
    void Promise.resolve().then(() => this.#work());
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const items = this.#waiting.splice(0, this.fitting(this.#waiting));
      this.#sequence += 1;
      try {
        await this.carry(items, this.#sequence);
      } catch (error) {
        const again = this.#within(error, items);
        for (const item of items) if (!again.includes(item)) item.reject(error);
        this.#waiting.unshift(...again);
      }
    }
    this.#busy = false;
  }

  // The deadline of a call is that of its oldest item; those that came later have time left, where nothing was done.
  #within(error: unknown, items: readonly Item[]): readonly Item[] {
    const { clock, deadline } = this.caller.settings;
    if (!(error instanceof QueueUnavailableError) || error.facts.uncertain === true) return [];
    if (error.facts.deadline === undefined) return [];
    const oldest = clock.monotonic() - deadline * 1000;
    return items.slice(1).filter(({ since }) => since > oldest);
  }
}
