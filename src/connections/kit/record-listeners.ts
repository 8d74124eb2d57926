/**
 * The listeners for records in this process, by name. The ears, by which they hear, are opened for the first listener and
 * closed a while after the last one: whoever waits for one result after another does not reconnect for each.
 */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import type { Listening } from '../record-store';

/** How listeners hear. */
export interface Ears {
  /** Somebody listens for a name that nobody listened for before. True if it is heard from now on. */
  join(name: string): boolean;
  /** Nobody listens for the name any more. */
  leave?(name: string): void;
  /** Nobody has listened for a while, or ever will again. */
  close(): void;
}

interface Listened {
  isHeard: boolean;
  readonly wakes: Set<() => void>;
}

const LINGER: Milliseconds = 5000;

export class RecordListeners {
  readonly #clock: Clock;
  readonly #ears: Ears;
  readonly #names = new Map<string, Listened>();
  #linger: Timer | undefined;
  #closed = false;

  constructor(clock: Clock, ears: Ears) {
    this.#clock = clock;
    this.#ears = ears;
  }

  get names(): Iterable<string> {
    return this.#names.keys();
  }

  get size(): number {
    return this.#names.size;
  }

  listen(name: string, wake: () => void): Listening {
    if (this.#closed) return { isHeard: false, stop: () => undefined };
    let listened = this.#names.get(name);
    if (listened === undefined) this.#names.set(name, (listened = { isHeard: false, wakes: new Set() }));
    const { wakes } = listened;
    // Two listeners may pass the same function.
    const own = (): void => wake();
    wakes.add(own);
    if (wakes.size === 1) listened.isHeard = this.#join(name);
    const state = listened;
    return {
      get isHeard() {
        return state.isHeard;
      },
      stop: () => {
        if (wakes.delete(own) && wakes.size === 0) this.#leave(name);
      },
    };
  }

  /** From now on records put under this name are heard. */
  opened(name: string): void {
    const listened = this.#names.get(name);
    if (listened === undefined) return;
    listened.isHeard = true;
    this.wake(name);
  }

  /** Nothing is heard any more: waiters have to look for themselves. */
  lost(): void {
    for (const [name, listened] of this.#names) {
      const { isHeard } = listened;
      listened.isHeard = false;
      if (isHeard) this.wake(name);
    }
  }

  wake(name: string): void {
    for (const wake of this.#names.get(name)?.wakes ?? []) wake();
  }

  /** Waiters look once more, and find the connection closed. */
  close(): void {
    this.#closed = true;
    this.#linger?.cancel();
    this.#ears.close();
    for (const [name, listened] of this.#names) {
      listened.isHeard = false;
      this.wake(name);
    }
    this.#names.clear();
  }

  #join(name: string): boolean {
    this.#linger?.cancel();
    this.#linger = undefined;
    return this.#ears.join(name);
  }

  #leave(name: string): void {
    if (!this.#names.delete(name)) return;
    this.#ears.leave?.(name);
    if (this.#names.size === 0) this.#linger = this.#clock.after(LINGER, () => this.#ears.close());
  }
}
