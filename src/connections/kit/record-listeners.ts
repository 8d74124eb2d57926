/**
 * The listeners for records in this process, by name. The store's notifications are turned on for the first listener and off
 * a while after the last one, so that whoever waits for one result after another does not reconnect for each.
 */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import { inRootContext } from '../application';
import type { Listening } from '../record-store';

export interface Notifications {
  /** Turns notifications on for a name. True if they are on already. */
  join(name: string): boolean;
  /** Turns them off for a name. */
  leave?(name: string): void;
  /** Turns all of them off: nobody has listened for a while, or ever will again. */
  close(): void;
}

interface Listened {
  isHeard: boolean;
  readonly wakes: Set<() => void>;
}

const LINGER: Milliseconds = 5000;

export class RecordListeners {
  readonly #clock: Clock;
  readonly #notifications: Notifications;
  readonly #names = new Map<string, Listened>();
  #linger: Timer | undefined;
  #closed = false;

  constructor(clock: Clock, notifications: Notifications) {
    this.#clock = clock;
    this.#notifications = notifications;
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

  /** From now on we are notified of records put under this name. */
  opened(name: string): void {
    const listened = this.#names.get(name);
    if (listened === undefined) return;
    listened.isHeard = true;
    this.wake(name);
  }

  /** Notifications are off: waiters have to look for themselves. */
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
    this.#notifications.close();
    for (const [name, listened] of this.#names) {
      listened.isHeard = false;
      this.wake(name);
    }
    this.#names.clear();
  }

  #join(name: string): boolean {
    this.#linger?.cancel();
    this.#linger = undefined;
    return inRootContext(() => this.#notifications.join(name));
  }

  #leave(name: string): void {
    if (!this.#names.delete(name)) return;
    this.#notifications.leave?.(name);
    if (this.#names.size === 0) this.#linger = this.#clock.after(LINGER, () => this.#notifications.close());
  }
}
