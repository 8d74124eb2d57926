/** A memory connection that remembers what was pushed. */
import type { Clock } from '../clock/clock';
import { MemoryConnection } from '../connections/memory/memory-connection';
import type { MemoryStore } from '../connections/memory/memory-store';
import type { Connection, Entry } from '../queue/connection';
import type { PushLog } from './push-log';

export class FakeConnection extends MemoryConnection {
  readonly #log: PushLog;
  readonly #clock: Clock;

  constructor(name: string, store: MemoryStore, log: PushLog) {
    super(name, store);
    this.#log = log;
    this.#clock = store.clock;
  }

  /** A fake has no transactions that could be taken back: what is pushed within one is pushed. */
  within(): Pick<Connection, 'push'> {
    return this;
  }

  // Logged before anything is awaited: an assertion sends what was dispatched and looks at once.
  override async push(queue: string, entries: readonly Entry[]): Promise<void> {
    const pushing = super.push(queue, entries);
    const takeOff = this.#log.add(this.name, queue, entries, this.#clock.now());
    try {
      await pushing;
    } catch (error) {
      takeOff();
      throw error;
    }
  }
}
