/** Many jobs on their way, and which of them are in when one fails: sent again, those would run twice. */
import { withConsequence } from '../base/define-error';
import { BulkInterruptedError } from './errors';
import { type Parcel, type Refusal, sendAll, type Target } from './send';

/**
 * Sends them, and gives their ids.
 *
 * @throws BulkInterruptedError when one failed and others are in; when none is, what it failed with
 */
export async function sendBulk(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
): Promise<string[]> {
  const ids = new Map<Parcel, string>();
  const interrupt = ({ error, of }: Refusal, [{ name, queue }]: readonly [Parcel, ...Parcel[]]): never => {
    const total = parcels.length;
    const left = total - ids.size;
    const cause = withConsequence(error, `${left} of ${total} jobs ${left === 1 ? 'was' : 'were'} not queued`);
    if (ids.size === 0) throw cause;
    const unsent = Array.from(parcels.keys()).filter((place) => !ids.has(parcels[place]!));
    const what = {
      store: `the queue '${queue}' took no more`,
      job: `${name} ran and failed`,
      own: `the queue() of ${name} failed`,
    };
    const known = parcels.map((parcel) => ids.get(parcel) ?? '').filter((id) => id !== '');
    throw new BulkInterruptedError({ ids: known, unsent, total, queue }, what[of], { cause });
  };
  await sendAll(parcels, targetOf, (parcel, id) => ids.set(parcel, id), interrupt);
  return parcels.map((parcel) => ids.get(parcel) ?? '');
}
