/** Finds the key that made Redis refuse a script because it holds something else than we keep there, and says so. */
import type { Milliseconds } from '../../base/clock';
import { Recent } from '../../base/recent';
import type { RedisCaller } from './caller';
import { ForeignKeyError, RedisReplyError } from './errors';
import { typeOf } from './keys';

/** Between two lines about one queue: whoever is to mend it may not have seen the first. */
const SAID_AGAIN: Milliseconds = 60_000;
const MOST_SAID = 1000;

/**
 * What a script failed with, by the name of the key where it was refused for one of another type: Redis does not tell.
 * Any other error, and where the user may not ask for types, that very error.
 */
export async function withForeignKey(caller: RedisCaller, keys: readonly string[], error: unknown): Promise<unknown> {
  if (!(error instanceof RedisReplyError) || !error.facts.reply.includes('WRONGTYPE')) return error;
  const { name: connection, address } = caller.settings;
  const { consequence } = error.facts;
  try {
    for (const key of keys) {
      const type = String(await caller.command('type', [key], { consequence }));
      const expected = typeOf(key);
      if (type === 'none' || type === expected) continue;
      return new ForeignKeyError({ connection, address, key, type, expected, consequence }, { cause: error });
    }
  } catch {
    return error;
  }
  return error;
}

export class ForeignKeys {
  readonly #caller: RedisCaller;
  readonly #saidAt = new Recent<string, Milliseconds>(MOST_SAID);

  constructor(caller: RedisCaller) {
    this.#caller = caller;
  }

  /** What is wrong with a queue that a script has left alone. */
  errorOf(queue: string, keys: readonly string[]): Promise<unknown> {
    const { name: connection, address } = this.#caller.settings;
    const consequence = `queue '${queue}' is left as it is`;
    const facts = { connection, address, operation: 'script exchange', reply: 'WRONGTYPE', consequence };
    return withForeignKey(this.#caller, keys, new RedisReplyError(facts, { cause: undefined }));
  }

  tell(queue: string, keys: readonly string[]): Promise<void> {
    return this.say(queue, () => this.errorOf(queue, keys));
  }

  /** Says in the log what is wrong with a queue or key: where the others go on, nobody else would. Never rejects. */
  async say(subject: string, errorOf: () => Promise<unknown>): Promise<void> {
    const { clock, logger } = this.#caller.settings;
    const now = clock.monotonic();
    if (now - (this.#saidAt.get(subject) ?? -Infinity) < SAID_AGAIN) return;
    this.#saidAt.set(subject, now);
    const error = (await errorOf()) as ForeignKeyError | RedisReplyError;
    logger.error({ queue: subject, ...error.facts, code: error.code }, error.message);
  }
}
