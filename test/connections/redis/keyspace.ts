/** Reads everything that a Redis holds under a prefix, so that a test can compare states. */
import type Redis from 'ioredis';

/** Values by key without the prefix. Lists and sorted sets in their order, as Latin-1. Hashes as objects. */
export async function keyspace(client: Redis, prefix: string): Promise<Record<string, unknown>> {
  const keys = (await client.keys(`${prefix}*`)).toSorted();
  const entries = await Promise.all(
    keys.map(async (key) => [key.slice(prefix.length), await contentOf(client, key)] as const),
  );
  return Object.fromEntries(entries);
}

async function contentOf(client: Redis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case 'list':
      return (await client.lrangeBuffer(key, 0, -1)).map(latin1);
    case 'zset':
      return pairs((await client.zrangeBuffer(key, '0', '-1', 'WITHSCORES')).map(latin1));
    case 'hash':
      return Object.fromEntries(
        Object.entries(await client.hgetallBuffer(key))
          .map(([field, value]) => [field, latin1(value)])
          .toSorted(),
      );
    case 'set':
      return (await client.smembers(key)).toSorted();
    default:
      return latin1((await client.getBuffer(key))!);
  }
}

const latin1 = (bytes: Buffer): string => bytes.toString('latin1');

function pairs(flat: readonly string[]): [member: string, score: number][] {
  return flat.filter((_, at) => at % 2 === 0).map((member, at) => [member, Number(flat[2 * at + 1])]);
}
