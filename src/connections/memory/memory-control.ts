/** Orders to the workers of a memory store. */
import type { CancelResult, Control } from '../../queue/control';
import type { MemoryStore } from './memory-store';

export class MemoryControl implements Control {
  readonly #store: MemoryStore;
  readonly #checkOpen: (operation: string) => void;

  constructor(store: MemoryStore, checkOpen: (operation: string) => void) {
    this.#store = store;
    this.#checkOpen = checkOpen;
  }

  async cancel(id: string, queue?: string): Promise<CancelResult> {
    this.#checkOpen('control.cancel');
    return this.#store.cancel(id, queue === undefined ? this.#store.queueNames : [queue]);
  }

  async pause(queue: string): Promise<boolean> {
    this.#checkOpen('control.pause');
    return this.#store.pause(queue);
  }

  async resume(queue: string): Promise<boolean> {
    this.#checkOpen('control.resume');
    return this.#store.resume(queue);
  }

  async paused(): Promise<readonly string[]> {
    this.#checkOpen('control.paused');
    return [...this.#store.paused].toSorted();
  }

  async restart(): Promise<void> {
    this.#checkOpen('control.restart');
    this.#store.restart();
  }
}
