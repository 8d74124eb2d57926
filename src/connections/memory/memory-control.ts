/** Orders to the workers of a memory store. */
import type { Seconds } from '../../base/clock';
import type { Reservation } from '../contract';
import type { CancelResult, Control } from '../control';
import type { Pause } from '../pause';
import type { MemoryStore } from './memory-store';
import type { Text } from './text';

export class MemoryControl implements Control {
  readonly #store: MemoryStore;
  readonly #checkOpen: (operation: string) => void;

  constructor(store: MemoryStore, checkOpen: (operation: string) => void) {
    this.#store = store;
    this.#checkOpen = checkOpen;
  }

  async cancel(id: string, queue?: string, reason?: string): Promise<CancelResult> {
    this.#checkOpen('control.cancel');
    return this.#store.cancel(id, queue === undefined ? this.#store.queueNames : [queue], reason);
  }

  async cancelled(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]> {
    this.#checkOpen('control.cancelled');
    return reservations.map(({ queue, token }) => this.#store.queue(queue).cancelled(token as Text));
  }

  async pause(queue: string, seconds?: Seconds): Promise<boolean> {
    this.#checkOpen('control.pause');
    return this.#store.pause(queue, seconds);
  }

  async resume(queue: string): Promise<boolean> {
    this.#checkOpen('control.resume');
    return this.#store.resume(queue);
  }

  async paused(): Promise<readonly Pause[]> {
    this.#checkOpen('control.paused');
    return this.#store.paused;
  }

  async restart(): Promise<void> {
    this.#checkOpen('control.restart');
    this.#store.restart();
  }
}
