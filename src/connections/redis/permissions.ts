/** Which commands that the queue needs the user may not give. */
import { QueueUnavailableError } from '../errors';
import type { RedisCaller } from './caller';
import { isForbidden, isReply } from './refusals';
import { script } from './scripts';

/** What the scripts call. */
export const SCRIPTED = [
  ...['del', 'exists', 'expireat', 'get', 'hdel', 'hget', 'hmget', 'hset', 'llen', 'lpop', 'lpush', 'lrange'],
  ...['lrem', 'pexpire', 'rpush', 'set', 'time', 'unlink', 'zadd', 'zcard', 'zcount', 'zmscore', 'zrange'],
  ...['zrangebyscore', 'zrem', 'zscore'],
] as const;

/** What is called beside them. */
const DIRECT = ['blpop', 'eval', 'evalsha', 'hgetall', 'info', 'ping', 'sadd', 'smembers', 'zrevrange'] as const;

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

/** What a script was refused with for a right that is missing, by the names of the commands: Redis does not always tell. */
export async function withMissingRights(caller: RedisCaller, key: string, error: unknown): Promise<unknown> {
  if (!(error instanceof QueueUnavailableError) || !isReply(error.cause) || !isForbidden(error.cause)) return error;
  const missing = await missingPermissions(caller, key, SCRIPTED).catch(() => []);
  if (missing.length === 0) return error;
  // Worded as Redis words it, for the same remedy.
  const words = `NOPERM this user may not call ${missing.join(', ')}`;
  return caller.refusal(words, error.facts.consequence);
}
