/** Finds the key or the permission that made Redis refuse a script: Redis itself does not say which. */
import { QueueUnavailableError } from '../errors';
import type { RedisCaller } from './caller';
import { foreignKey, redisRefused } from './errors';
import { typeOf } from './keys';
import { missingPermissions, SCRIPTED } from './permissions';
import { isForbidden, isReply } from './refusals';

/** The error in clearer words, or the same error if there is another reason or none can be found. */
export async function explained(caller: RedisCaller, keys: readonly string[], error: unknown): Promise<unknown> {
  if (redisRefused.is(error) && error.facts.reply.includes('WRONGTYPE')) {
    return (await errorOfForeignKey(caller, keys, error.facts.consequence, error).catch(() => undefined)) ?? error;
  }
  if (!(error instanceof QueueUnavailableError) || !isReply(error.cause) || !isForbidden(error.cause)) return error;
  const missing = await missingPermissions(caller, keys.at(-1)!, SCRIPTED).catch(() => []);
  if (missing.length === 0) return error;
  // Worded as Redis does, so that it gets the same remedy.
  return caller.errorOf(`NOPERM this user may not call ${missing.join(', ')}`, error.facts.consequence);
}

async function errorOfForeignKey(
  caller: RedisCaller,
  keys: readonly string[],
  consequence: string,
  cause: unknown,
): Promise<Error | undefined> {
  const { name: connection, address } = caller.settings;
  for (const key of keys) {
    const type = String(await caller.command('type', [key], { consequence }));
    const expected = typeOf(key);
    if (type === 'none' || type === expected) continue;
    return foreignKey({ connection, address, key, type, expected, consequence }, { cause });
  }
  return undefined;
}
