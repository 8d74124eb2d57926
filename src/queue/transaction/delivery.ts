/** Sends what was kept for a commit. */
import type { Seconds } from '../../clock/clock';
import type { Connection } from '../connection';
import type { EncodedJob } from '../job-encoder';
import type { QueueManager } from '../queue-manager';
import { sendWhatCanBe } from '../send';
import { AfterCommitError, type CommittedJob } from './errors';

/** A job that was dispatched, and waits for the commit. */
export interface Held {
  readonly manager: QueueManager;
  readonly job: CommittedJob;
  /** Asked at the commit. */
  readonly delay: () => Seconds;
  /** Its text, as it was at the dispatch; or the push of its own. */
  readonly send: string | ((delay: Seconds) => Promise<unknown>);
}

/**
 * Sends all that can be, in the order of the dispatches, those of one queue together.
 *
 * @param result what the function of the transaction gave
 * @throws AfterCommitError
 */
export async function deliver(held: ReadonlySet<Held>, result: unknown): Promise<void> {
  const unsent = new Set(held);
  const errors: unknown[] = [];
  const managers = new Set(Array.from(held, ({ manager }) => manager));
  await Promise.all(
    Array.from(managers, (manager) => {
      const own = [...held].filter((one) => one.manager === manager);
      const sent = sendOf(manager, own, (one) => unsent.delete(one)).then((failed) => void errors.push(...failed));
      // Whoever closes it waits for them, as for all that was dispatched.
      manager.outbox.track(sent);
      return sent;
    }),
  );
  if (unsent.size === 0) return;
  const sent = [...held].filter((one) => !unsent.has(one));
  const facts = { sent: sent.map(factsOf), unsent: [...unsent].map(factsOf) };
  throw new AfterCommitError(facts, errors, result, () => deliver(unsent, result));
}

/** Gives what went wrong. */
async function sendOf(manager: QueueManager, held: readonly Held[], sent: (one: Held) => void): Promise<unknown[]> {
  const errors: unknown[] = [];
  const encoded = new Map<EncodedJob, Held>();
  for (const one of held) {
    try {
      const delay = one.delay();
      if (typeof one.send === 'string') {
        encoded.set({ ...one.job, entry: { payload: one.send, ...(delay > 0 && { delay }) } }, one);
      } else {
        await one.send(delay);
        sent(one);
      }
    } catch (error) {
      errors.push(error);
    }
  }
  const driverOf = (connection: string): Connection => manager.driver(connection);
  errors.push(...(await sendWhatCanBe([...encoded.keys()], driverOf, (job) => sent(encoded.get(job)!))));
  return errors;
}

const factsOf = ({ job: { id, name, connection, queue } }: Held): CommittedJob => ({ id, name, connection, queue });
