/**
 * `Queue.transaction()`: keeps jobs dispatched with `afterCommit()` in a function, and in everything it awaits, until the
 * function has resolved. It begins nothing in a database: its caller does.
 */
import type { Application } from '../connections/application';
import { AsyncLocalStorage } from 'node:async_hooks';
import { endUnsent, sendAll, isOwn, type Parcel } from './send';
import { rolledBack, AfterCommitError, type CommittedJob } from './errors';
import { withConsequence } from '../base/onqueue-error';

/** Only dispatches that may wait for a commit look at it. */
const current = new AsyncLocalStorage<Transaction>();

let dispatches = 0;

/** Takes a job for the commit. */
export type Keep = (parcel: Parcel, manager: Application) => void;

/** With the position of its dispatch among all. */
type Kept = readonly [order: number, parcel: Parcel, manager: Application];

export class Transaction {
  /** One was begun at some time: asked for each dispatch. */
  static isUsed = false;

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
    Transaction.isUsed = true;
    const transaction = new Transaction(openFrom(current.getStore()));
    let result: Awaited<T>;
    try {
      // Awaiting also keeps jobs that it dispatched last without awaiting them.
      result = await current.run(transaction, fn);
    } catch (error) {
      transaction.#state = 'rolled back';
      drop(transaction.#held);
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
    if (this.#isRolledBack) {
      drop(held);
      throw rolledBack(held.map(([, { name }]) => name));
    }
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

function drop(held: readonly Kept[]): void {
  for (const [, parcel] of held) {
    if (isOwn(parcel)) parcel.drop?.();
    else parcel.observed?.drop();
  }
}

function refuse({ name }: Parcel): never {
  throw rolledBack([name]);
}

/** Jobs that waited for the commit, as they were when dispatched, each with its manager. */
type Held = ReadonlyMap<Parcel, Application>;

/**
 * Sends all that can be sent: first jobs with their own push, then the others in the order of their dispatches, grouped by queue;
 * finally, in parallel, those that wait for an iterable. Durations in a job count from now.
 *
 * @param result the result of the transaction's function
 * @throws AfterCommitError
 */
export async function deliver(held: Held, result: unknown): Promise<void> {
  const unsent = new Map(held);
  /** Jobs that ran at once, and failed. */
  const failed = new Set<Parcel>();
  const errors: unknown[] = [];
  const send = async (manager: Application): Promise<void> => {
    const parcels = [...held.keys()].filter((parcel) => held.get(parcel) === manager);
    const sendPart = (part: readonly Parcel[]): Promise<void> =>
      sendAll(
        part,
        (connection) => manager.driver(connection),
        (page) => page.forEach((parcel) => unsent.delete(parcel)),
        ({ error, of }, page) => {
          if (of === 'job') for (const parcel of page) failed.add(parcel);
          const what = page.length === 1 ? `${page[0].name} was` : `${page.length} jobs were`;
          errors.push(of === 'store' ? withConsequence(error, `${what} not queued`) : error);
        },
      );
    const own = parcels.filter(isOwn);
    await sendPart(own.filter(({ isLasting }) => isLasting !== true));
    await sendPart(parcels.filter((parcel) => !isOwn(parcel)));
    const lasting = own.filter(({ isLasting }) => isLasting === true);
    await Promise.all(lasting.map((parcel) => sendPart([parcel])));
  };
  await Promise.all(
    Array.from(new Set(held.values()), (manager) => {
      const sending = send(manager);
      // A manager that closes waits for these as for all dispatches.
      manager.outbox.track(sending);
      return sending;
    }),
  );
  if (errors.length === 0) return;
  endUnsent(unsent.keys(), errors[0]);
  const sent = [...held.keys()].filter((parcel) => !unsent.has(parcel) && !failed.has(parcel));
  const facts = {
    sent: sent.map(factsOf),
    failed: Array.from(failed, factsOf),
    unsent: Array.from(unsent.keys(), factsOf),
  };
  throw new AfterCommitError(facts, errors, result, () => deliver(unsent, result));
}

function factsOf(parcel: Parcel): CommittedJob {
  const { name, connection, queue } = parcel;
  return { id: isOwn(parcel) ? '' : parcel.id, name, connection, queue };
}
