/**
 * `Queue.transaction()`: keeps what is dispatched with `afterCommit()` in a function, and in all that it awaits, until the
 * function has resolved. It begins nothing in a database: whoever calls it does.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { deliver, type Held } from './delivery';
import { rolledBack } from '../errors';

/** Asked by who dispatches with `afterCommit()`, and by nobody else. */
const current = new AsyncLocalStorage<Transaction>();

let dispatches = 0;

/** Takes a job for the commit. */
export type Keep = (held: Held) => void;

export class Transaction {
  /** Was open when this one began. */
  readonly parent: Transaction | undefined;
  /** By the order of the dispatches, which those of a transaction within this one share. */
  readonly #held = new Map<number, Held>();
  #state: 'open' | 'committed' | 'rolled back' = 'open';

  private constructor(parent: Transaction | undefined) {
    this.parent = parent;
  }

  /** @throws what `fn` throws; then nothing is sent. AfterCommitError: it is done, and not all could be sent */
  static async run<T>(fn: () => T): Promise<Awaited<T>> {
    const transaction = new Transaction(openFrom(current.getStore()));
    let result: Awaited<T>;
    try {
      // Awaiting it also lets those be kept that it dispatched last and did not await.
      result = await current.run(transaction, fn);
    } catch (error) {
      transaction.#state = 'rolled back';
      transaction.#held.clear();
      throw error;
    }
    await transaction.#commit(result);
    return result;
  }

  /**
   * Where a job is kept that is dispatched with `afterCommit()` here and now; undefined: nothing is open, and it is sent at
   * once.
   */
  static keep(): Keep | undefined {
    const transaction = current.getStore();
    if (transaction === undefined) return undefined;
    if (transaction.#isRolledBack) return refuse;
    const open = openFrom(transaction);
    return open === undefined ? undefined : (held) => void open.#held.set((dispatches += 1), held);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  async #commit(result: unknown): Promise<void> {
    this.#state = 'committed';
    const held = [...this.#held].toSorted(([one], [other]) => one - other);
    this.#held.clear();
    if (held.length === 0) return;
    // The one around it may be over, where it did not wait for this one.
    if (this.#isRolledBack) throw rolledBack(held.map(([, { job }]) => job.name));
    const open = openFrom(this);
    if (open === undefined) return deliver(new Set(held.map(([, one]) => one)), result);
    for (const [order, one] of held) open.#held.set(order, one);
  }

  /** Whether what was done in it is undone. */
  get #isRolledBack(): boolean {
    if (this.#state === 'committed' && this.parent !== undefined) return this.parent.#isRolledBack;
    return this.#state === 'rolled back';
  }
}

/** It or the nearest around it that is not over. */
function openFrom(transaction: Transaction | undefined): Transaction | undefined {
  return transaction === undefined || transaction.isOpen ? transaction : openFrom(transaction.parent);
}

function refuse({ job }: Held): never {
  throw rolledBack([job.name]);
}
