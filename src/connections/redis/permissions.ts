/** Which commands that the queue needs the user may not give. */
import type { RedisCaller } from './caller';
import { script } from './scripts';

/** What the scripts call. */
export const SCRIPTED = [
  ...[
    'del',
    'exists',
    'expireat',
    'get',
    'hdel',
    'hget',
    'hgetall',
    'hmget',
    'hset',
    'llen',
    'lpop',
    'lpush',
    'lrange',
  ],
  ...['lrem', 'ltrim', 'pexpire', 'rpush', 'set', 'smembers', 'time', 'unlink', 'zadd', 'zcard', 'zcount', 'zmscore'],
  ...['zrange', 'zrangebyscore', 'zrem', 'zscore'],
] as const;

/** What is called beside them, but for `scan`, which only `onqueue recount` needs. */
const DIRECT = ['blpop', 'eval', 'evalsha', 'info', 'ping', 'sadd', 'zrevrange'] as const;

/** By which who waits for a record is woken. Where they are not allowed, he looks for it. */
export const WAKING = ['publish', 'subscribe', 'unsubscribe'] as const;

/** Empty also where Redis does not say. */
export async function missingPermissions(
  caller: RedisCaller,
  key: string,
  commands: readonly string[] = [...SCRIPTED, ...DIRECT],
): Promise<readonly string[]> {
  const [, missing] = (await caller.script(script('permitted'), [key], commands, {
    consequence: 'its permissions were not read',
  })) as [word: Buffer, missing: readonly Buffer[]];
  return missing.map(String);
}
