/** Names under which Redis records the answers of one caller. */
import { randomBytes } from 'node:crypto';

/** Short, since one stands in a key for every queue and process; never given twice; nothing that a shell takes for a flag. */
export function clientId(): string {
  return randomBytes(8).toString('hex');
}
