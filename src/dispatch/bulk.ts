/** Many jobs on their way, and which of them are in when one fails: sent again, those would run twice. */
import { withConsequence } from '../base/define-error';
import { BulkInterruptedError } from './errors';
import type { EncodedJob } from './job-encoder';
import { sendPages, type Target } from './send';

/** A job that goes by a push of its own, which gives its id or an empty text. */
export interface OwnPush {
  readonly name: string;
  readonly queue: string;
  readonly push: () => Promise<string>;
}

type Parcel = EncodedJob | OwnPush;

/**
 * Sends them: page by page, each queue's in order; then those with a push of their own. Gives their ids.
 *
 * @throws BulkInterruptedError when one failed and others are in; when none is, what it failed with
 */
export async function sendBulk(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
): Promise<string[]> {
  const inside: Parcel[] = [];
  const ownIds = new Map<Parcel, string>();
  const idOf = (parcel: Parcel): string => (isOwn(parcel) ? (ownIds.get(parcel) ?? '') : parcel.id);
  const interrupt = (error: unknown, { queue }: Parcel, what: string): never => {
    const total = parcels.length;
    const left = total - inside.length;
    const cause = withConsequence(error, `${left} of ${total} jobs ${left === 1 ? 'was' : 'were'} not queued`);
    if (inside.length === 0) throw cause;
    const sent = new Set(inside);
    const ids = parcels.filter((parcel) => sent.has(parcel)).map(idOf);
    const unsent = Array.from(parcels.keys()).filter((place) => !sent.has(parcels[place]!));
    throw new BulkInterruptedError({ ids: ids.filter((id) => id !== ''), unsent, total, queue }, what, { cause });
  };
  await sendPages(
    parcels.filter((parcel): parcel is EncodedJob => !isOwn(parcel)),
    targetOf,
    (job) => inside.push(job),
    ({ error, ofJob }, [job]) =>
      interrupt(error, job, ofJob ? `${job.name} ran and failed` : `the queue '${job.queue}' took no more`),
  );
  for (const own of parcels.filter(isOwn)) {
    try {
      ownIds.set(own, await own.push());
    } catch (error) {
      interrupt(error, own, `the queue() of ${own.name} failed`);
    }
    inside.push(own);
  }
  return parcels.map(idOf);
}

function isOwn(parcel: Parcel): parcel is OwnPush {
  return 'push' in parcel;
}
