/** How a driver holds locks: each has an owner's token and an end. */
import type { Seconds } from '../base/clock';

export interface LockStore {
  /** True if `token` holds `name` for `ttl` seconds from now, even if it held it already. */
  acquire(name: string, token: string, ttl: Seconds): Promise<boolean>;
  /** False if the lock is no longer this token's. */
  renew(name: string, token: string, ttl: Seconds): Promise<boolean>;
  /** False if the lock was no longer this token's; then nothing was removed. */
  release(name: string, token: string): Promise<boolean>;
}
