/** How a driver holds locks: each has an owner's token and an end. */
import type { Seconds } from '../base/clock';

export interface LockStore {
  /** True: `token` holds `name` for `ttl` seconds from now. Asking again with the same token is true as well. */
  acquire(name: string, token: string, ttl: Seconds): Promise<boolean>;
  /** False: the lock is no longer this token's. */
  renew(name: string, token: string, ttl: Seconds): Promise<boolean>;
  /** False: the lock was no longer this token's; nothing was removed. */
  release(name: string, token: string): Promise<boolean>;
}
