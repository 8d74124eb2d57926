/** Why a job was cancelled, as it is given. */
import { invalidCancelReason } from './errors';

/** Characters; databases have a column of that length. */
const LONGEST_REASON = 255;

/** @throws E_INVALID_CANCEL_REASON */
export function checkCancelReason(reason: unknown): void {
  const isText = typeof reason === 'string' && reason.trim() !== '' && reason.length <= LONGEST_REASON;
  // It stands in one line of a log, and every store can hold it.
  if (!isText || /\p{Cc}/u.test(reason) || !reason.isWellFormed()) throw invalidCancelReason(reason, LONGEST_REASON);
}
