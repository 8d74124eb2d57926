/**
 * `Queue.transaction()`: keeps what is dispatched with `afterCommit()` in a function, and in all that it awaits, until the
 * function has resolved. It begins nothing in a database: whoever calls it does.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { DispatchApplication } from '../dispatch-application';
import type { Parcel } from '../send';
import { deliver } from './delivery';
import { rolledBack } from '../errors';

/** Asked by who dispatches with `afterCommit()`, and by nobody else. */
const current = new AsyncLocalStorage<Transaction>();

let dispatches = 0;

/** Takes a job for the commit. */
export type Keep = (parcel: Parcel, manager: DispatchApplication) => void;

/** With the place of its dispatch among all. */
type Kept = readonly [order: number, parcel: Parcel, manager: DispatchApplication];

export class Transaction {
  /** Was open when this one began. */
  readonly parent: Transaction | undefined;
  /** Those of a transaction within this one come in when that is done. */
  #held: Kept[] = [];
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
      transaction.#held = [];
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
    // The one around it may be over, where it did not wait for this one.
    if (this.#isRolledBack) throw rolledBack(held.map(([, { name }]) => name));
    const open = openFrom(this);
    if (open === undefined) return deliver(new Map(held.map(([, parcel, manager]) => [parcel, manager])), result);
    open.#held.push(...held);
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

function refuse({ name }: Parcel): never {
  throw rolledBack([name]);
}
