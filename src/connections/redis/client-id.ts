/** Names under which Redis records the answers of one caller. */
import { randomBytes } from 'node:crypto';

/** Short, since one stands in a key for every queue and process; never given twice. */
export function clientId(): string {
  return randomBytes(9).toString('base64url');
}
