/**
 * `Queue.transaction()`: keeps jobs dispatched with `afterCommit()` in a function, and in everything it awaits, until the
 * function has resolved. It begins nothing in a database: its caller does.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { DispatchApplication } from '../dispatch-application';
import type { Parcel } from '../send';
import { deliver } from './delivery';
import { rolledBack } from '../errors';

/** Only dispatches that may wait for a commit look at it. */
const current = new AsyncLocalStorage<Transaction>();

let dispatches = 0;

/** Takes a job for the commit. */
export type Keep = (parcel: Parcel, manager: DispatchApplication) => void;

/** With the position of its dispatch among all. */
type Kept = readonly [order: number, parcel: Parcel, manager: DispatchApplication];

export class Transaction {
  /** The transaction that was open when this one began. */
  readonly parent: Transaction | undefined;
  /** Jobs of an inner transaction are added when that one is done. */
  #held: Kept[] = [];
  #state: 'open' | 'committed' | 'rolled back' = 'open';

  private constructor(parent: Transaction | undefined) {
    this.parent = parent;
  }

  /** @throws what `fn` throws; then nothing is sent. AfterCommitError: `fn` has resolved, but not all jobs could be sent */
  static async run<T>(fn: () => T): Promise<Awaited<T>> {
    const transaction = new Transaction(openFrom(current.getStore()));
    let result: Awaited<T>;
    try {
      // Awaiting also keeps jobs that it dispatched last without awaiting them.
      result = await current.run(transaction, fn);
    } catch (error) {
      transaction.#state = 'rolled back';
      transaction.#held = [];
      throw error;
    }
    await transaction.#commit(result);
    return result;
  }

  /**
   * The transaction that keeps a job dispatched with `afterCommit()` here and now. Undefined if none is open, so that the job is
   * sent at once.
   */
  static keep(): Keep | undefined {
    const transaction = current.getStore();
    if (transaction === undefined) return undefined;
    if (transaction.#isRolledBack) return refuse;
    const open = openFrom(transaction);
    if (open === undefined) return undefined;
    return (parcel, manager) => void open.#held.push([(dispatches += 1), parcel, manager]);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  async #commit(result: unknown): Promise<void> {
    this.#state = 'committed';
    const held = this.#held.toSorted(([one], [other]) => one - other);
    this.#held = [];
    if (held.length === 0) return;
    // The outer transaction may be over, if it did not wait for this one.
    if (this.#isRolledBack) throw rolledBack(held.map(([, { name }]) => name));
    const open = openFrom(this);
    if (open === undefined) return deliver(new Map(held.map(([, parcel, manager]) => [parcel, manager])), result);
    open.#held.push(...held);
  }

  /** Whether its work was undone. */
  get #isRolledBack(): boolean {
    if (this.#state === 'committed' && this.parent !== undefined) return this.parent.#isRolledBack;
    return this.#state === 'rolled back';
  }
}

/** The transaction itself, or the nearest one around it that is not over. */
function openFrom(transaction: Transaction | undefined): Transaction | undefined {
  return transaction === undefined || transaction.isOpen ? transaction : openFrom(transaction.parent);
}

function refuse({ name }: Parcel): never {
  throw rolledBack([name]);
}
