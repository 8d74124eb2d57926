/**
 * Whether the user may give the commands that the queue needs.
 *
 * Redis looks at a script's commands one by one, as it comes to them: where one is refused, the moves before it stay done,
 * and a job would be in no place at all. So nothing is settled or reserved before all of them are known to be allowed.
 */
import type { RedisCaller } from './caller';
import type { Keys } from './keys';
import { script } from './scripts';

/** What the scripts call. */
export const SCRIPTED = [
  ...['del', 'exists', 'expireat', 'get', 'hdel', 'hget', 'hmget', 'hset', 'hsetnx', 'llen', 'lpop', 'lpush', 'lrange'],
  ...['lrem', 'pexpire', 'rpush', 'set', 'time', 'unlink', 'zadd', 'zcard', 'zcount', 'zmscore', 'zrange'],
  ...['zrangebyscore', 'zrem', 'zremrangebyrank', 'zscore'],
] as const;

/** What is called beside them. */
const DIRECT = ['blpop', 'eval', 'evalsha', 'hgetall', 'info', 'ping', 'sadd', 'smembers', 'zrevrange'] as const;

export class Permissions {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  #granted = false;

  constructor(caller: RedisCaller, keys: Keys) {
    this.#caller = caller;
    this.#keys = keys;
  }

  /** All that the scripts call is allowed, as far as is known. */
  get granted(): boolean {
    return this.#granted;
  }

  /** @throws QueueUnavailableError naming what is not allowed */
  async check(queue: string, consequence: string): Promise<void> {
    const missing = await this.#missing(SCRIPTED, queue, consequence);
    if (missing.length > 0) throw this.#caller.refusal(notAllowed(missing), consequence);
    this.#granted = true;
  }

  /** Of all commands; empty also where Redis does not say. */
  missing(): Promise<readonly string[]> {
    return this.#missing([...SCRIPTED, ...DIRECT], 'default', 'its permissions were not read');
  }

  async #missing(commands: readonly string[], queue: string, consequence: string): Promise<readonly string[]> {
    const [, missing] = (await this.#caller.script(script('permitted'), [this.#keys.queue(queue).ready], commands, {
      consequence,
    })) as [word: Buffer, missing: readonly Buffer[]];
    return missing.map(String);
  }
}

/** Worded as Redis words it, for the same remedy. */
function notAllowed(commands: readonly string[]): Error {
  return Object.assign(new Error(`NOPERM this user may not call ${commands.join(', ')}`), { name: 'ReplyError' });
}
