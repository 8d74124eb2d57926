/** Why a job was cancelled, as it is given. */
import { InvalidCancelReasonError } from './errors';

/** Characters; databases have a column of that length. */
const LONGEST_REASON = 255;

/** @throws InvalidCancelReasonError */
export function checkCancelReason(reason: unknown): void {
  const isText = typeof reason === 'string' && reason.trim() !== '' && reason.length <= LONGEST_REASON;
  // It stands in one line of a log, and every store can hold it.
  if (!isText || /\p{Cc}/u.test(reason) || !reason.isWellFormed())
    throw new InvalidCancelReasonError(reason, LONGEST_REASON);
}
