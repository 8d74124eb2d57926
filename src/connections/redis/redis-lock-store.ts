/** Locks in Redis: a key that holds the owner's token, and expires by itself. */
import type { Seconds } from '../../base/clock';
import type { LockStore } from '../contract';
import { clientId } from './keys';
import type { ScriptName } from './scripts';
import { RedisPart } from './store';

export class RedisLockStore extends RedisPart implements LockStore {
  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return (await this.#ask('lock-acquire', name, [token, millisecondsOf(ttl)])) === 'acquired';
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return (await this.#ask('lock-renew', name, [token, millisecondsOf(ttl)])) === 'renewed';
  }

  async release(name: string, token: string): Promise<boolean> {
    const mark = this.store.keys.released(name, clientId());
    return (await this.#ask('lock-release', name, [token], mark)) === 'released';
  }

  async #ask(
    verb: ScriptName,
    lock: string,
    args: readonly (string | number)[],
    ...keys: readonly string[]
  ): Promise<string> {
    const consequence = `the state of lock '${lock}' is not known`;
    const [word] = await this.store.caller.script(verb, [this.store.keys.lock(lock), ...keys], args, {
      consequence,
    });
    return String(word);
  }
}

/** Redis takes whole milliseconds, at least one. */
function millisecondsOf(ttl: Seconds): number {
  return Math.max(1, Math.round(ttl * 1000));
}
