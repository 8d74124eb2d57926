/** Finds the commands that the queue needs and the user may not call. */
import type { RedisCaller } from './caller';

/** Commands called by the scripts. */
export const SCRIPTED = [
  ...['del', 'exists', 'expireat', 'get', 'hdel', 'hget', 'hgetall', 'hmget', 'hset', 'llen', 'lpop'],
  ...['lpush', 'lrange', 'lrem', 'ltrim', 'pexpire', 'rpush', 'set', 'smembers', 'time', 'unlink'],
  ...['zadd', 'zcard', 'zcount', 'zmscore', 'zrange', 'zrangebyscore', 'zrem', 'zscore'],
] as const;

/** Commands called outside scripts, except `scan` and `srem`, which only `onqueue recount` and `Queue.forget` need. */
const DIRECT = ['blpop', 'eval', 'evalsha', 'info', 'ping', 'sadd', 'zrevrange'] as const;

/** Commands that wake those who wait for a record. If they are not allowed, the record is polled. */
export const WAKING = ['publish', 'subscribe', 'unsubscribe'] as const;

/** Also empty if Redis cannot tell. */
export async function missingPermissions(
  caller: RedisCaller,
  key: string,
  commands: readonly string[] = [...SCRIPTED, ...DIRECT],
): Promise<readonly string[]> {
  const [, missing] = (await caller.script('permitted', [key], commands, {
    consequence: 'its permissions were not read',
  })) as [word: Buffer, missing: readonly Buffer[]];
  return missing.map(String);
}
