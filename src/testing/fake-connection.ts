/** A memory connection that remembers what was pushed. */
import type { Clock } from '../base/clock';
import { MemoryConnection } from '../connections/memory/memory-connection';
import type { MemoryStore } from '../connections/memory/memory-store';
import type { Connection, Entry } from '../connections/contract';
import { entriesFor } from '../connections/due-entries';
import type { Target } from '../dispatch/send';
import { targetWithin } from '../dispatch/within';
import type { FakedJobs } from './faked-jobs';
import type { PushLog } from './push-log';

/** The jobs that are not faked. */
export interface Others {
  readonly faked: FakedJobs;
  /** Where they go. */
  readonly connection: () => Connection;
}

export class FakeConnection extends MemoryConnection {
  readonly #log: PushLog;
  readonly #clock: Clock;
  readonly #others: Others | undefined;

  /** @param others absent: there are none */
  constructor(name: string, store: MemoryStore, log: PushLog, others?: Others) {
    super(name, store);
    this.#log = log;
    this.#clock = store.clock;
    this.#others = others;
  }

  /** A fake has no transactions that could be taken back: what is pushed within one is pushed. */
  within(transaction: unknown): Pick<Connection, 'push'> {
    const others = this.#others;
    if (others === undefined) return this;
    return {
      push: (queue, entries) => this.#split(queue, entries, () => targetWithin(others.connection(), transaction)),
    };
  }

  override async push(queue: string, entries: readonly Entry[]): Promise<void> {
    const others = this.#others;
    await (others === undefined ? this.#keep(queue, entries) : this.#split(queue, entries, () => others.connection()));
  }

  async #split(queue: string, entries: readonly Entry[], target: () => Target): Promise<void> {
    const isFaked = (entry: Entry): boolean => this.#others?.faked.has(entry) !== false;
    const kept = entries.filter(isFaked);
    const rest = entries.filter((entry) => !isFaked(entry));
    const keeping = kept.length === 0 ? undefined : this.#keep(queue, kept);
    if (rest.length > 0) {
      const real = target();
      const timed = rest.map((entry) => ({ entry, retryWithin: undefined }));
      await real.push(queue, await entriesFor(real, timed));
    }
    await keeping;
  }

  // Logged before anything is awaited: an assertion sends what was dispatched and looks at once.
  async #keep(queue: string, entries: readonly Entry[]): Promise<void> {
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
