/** Sends what was kept for a commit. */
import type { EncodedJob } from '../job-encoder';
import type { DispatchApplication } from '../dispatch-application';
import { withConsequence } from '../../base/define-error';
import { sendPages } from '../send';
import { AfterCommitError, type CommittedJob } from '../errors';

/** A job that was dispatched, and waits for the commit. */
export interface Held {
  readonly manager: DispatchApplication;
  readonly job: CommittedJob;
  /** As it was at the dispatch: a duration in it counts from the commit. Or the push of its own. */
  readonly send: EncodedJob | (() => Promise<unknown>);
}

/** What became of them. */
interface Delivery {
  readonly unsent: Set<Held>;
  /** They ran at once, and failed. */
  readonly failed: Set<Held>;
  readonly errors: unknown[];
}

/**
 * Sends all that can be, in the order of the dispatches, those of one queue together.
 *
 * @param result what the function of the transaction gave
 * @throws AfterCommitError
 */
export async function deliver(held: ReadonlySet<Held>, result: unknown): Promise<void> {
  const delivery: Delivery = { unsent: new Set(held), failed: new Set(), errors: [] };
  const managers = new Set(Array.from(held, ({ manager }) => manager));
  await Promise.all(
    Array.from(managers, (manager) => {
      const own = [...held].filter((one) => one.manager === manager);
      const sent = sendOf(manager, own, delivery);
      // Whoever closes it waits for them, as for all that was dispatched.
      manager.outbox.track(sent);
      return sent;
    }),
  );
  const { unsent, failed, errors } = delivery;
  if (errors.length === 0) return;
  const sent = [...held].filter((one) => !unsent.has(one) && !failed.has(one));
  const facts = { sent: sent.map(factsOf), failed: [...failed].map(factsOf), unsent: [...unsent].map(factsOf) };
  throw new AfterCommitError(facts, errors, result, () => deliver(unsent, result));
}

/** Never rejects. */
async function sendOf(
  manager: DispatchApplication,
  held: readonly Held[],
  { unsent, failed, errors }: Delivery,
): Promise<void> {
  const encoded = new Map<EncodedJob, Held>();
  for (const one of held) {
    try {
      if (typeof one.send === 'object') {
        encoded.set(one.send, one);
      } else {
        await one.send();
        unsent.delete(one);
      }
    } catch (error) {
      errors.push(error);
    }
  }
  await sendPages(
    encoded.keys(),
    (connection) => manager.driver(connection),
    (job) => unsent.delete(encoded.get(job)!),
    ({ error, ofJob }, page) => {
      if (ofJob) for (const job of page) failed.add(encoded.get(job)!);
      const what = page.length === 1 ? `${page[0].name} was` : `${page.length} jobs were`;
      errors.push(ofJob ? error : withConsequence(error, `${what} not queued`));
    },
  );
}

const factsOf = ({ job: { id, name, connection, queue } }: Held): CommittedJob => ({ id, name, connection, queue });
