/** Sends the jobs that were kept for a commit. */
import { withConsequence } from '../../base/define-error';
import type { DispatchApplication } from '../dispatch-application';
import { AfterCommitError, type CommittedJob } from '../errors';
import { sendAll } from '../bulk';
import { isOwn, type Parcel } from '../send';

/** Jobs that waited for the commit, as they were when dispatched, each with its manager. */
type Held = ReadonlyMap<Parcel, DispatchApplication>;

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
  const send = async (manager: DispatchApplication): Promise<void> => {
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
