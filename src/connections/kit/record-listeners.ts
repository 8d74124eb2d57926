/**
 * Who listens for records in this process, by the name of what he listens for. What they hear by is opened for the first of them,
 * and closed some time after the last: who asks for one result after the other does not connect for each.
 */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import type { Listening } from '../record-store';

/** By which they hear. */
export interface Ears {
  /** Somebody listens for a name that nobody listened for before. True: it is heard from now on. */
  join(name: string): boolean;
  /** Nobody listens for it any more. */
  leave?(name: string): void;
  /** Nobody has listened for anything for a while, or never will again. */
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
    // Two may listen with the same function.
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

  /** From now on what is put under this name is heard. */
  opened(name: string): void {
    const listened = this.#names.get(name);
    if (listened === undefined) return;
    listened.isHeard = true;
    this.wake(name);
  }

  /** Nothing is heard any more: who waits is to look by himself. */
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

  /** Those who wait look once more, and meet a connection that is closed. */
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
