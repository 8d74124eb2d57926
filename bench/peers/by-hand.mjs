/**
 * The least that one would write oneself: ioredis, a list, a sorted set of leases, JSON. No retries, no failed jobs, no
 * delays, no recovery, nothing decoded but JSON: a mark to measure by, and not a library.
 */
import { Redis } from 'ioredis';
import { Tally } from '../tally.mjs';

const READY = 'mails';
const RESERVED = 'mails:reserved';
const LEASE_MS = 30_000;

/** Settles what is named and reserves up to so many. */
const exchange = `
if #ARGV > 2 then redis.call('ZREM', KEYS[2], unpack(ARGV, 3)) end
local texts = redis.call('LPOP', KEYS[1], ARGV[1])
if not texts then return {} end
local members = {}
for i, text in ipairs(texts) do
  members[2 * i - 1], members[2 * i] = ARGV[2], text
end
redis.call('ZADD', KEYS[2], unpack(members))
return texts
`;

export async function prepare(address) {
  const client = new Redis({ ...address, scripts: { exchange: { lua: exchange, numberOfKeys: 2 } } });
  await client.ping();
  return {
    dispatchOne: (mail) => client.rpush(READY, JSON.stringify(mail)),

    dispatchMany: (mails) => Promise.all(mails.map((mail) => client.rpush(READY, JSON.stringify(mail)))),

    bulk: (mails) => client.rpush(READY, ...mails.map((mail) => JSON.stringify(mail))),

    async process(concurrency, count) {
      const tally = new Tally(count);
      const handle = async (text) => {
        tally.start();
        return JSON.parse(text);
      };
      for (let settled = 0, texts = []; settled < count;) {
        const done = texts;
        texts = await client.exchange(READY, RESERVED, concurrency, Date.now() + LEASE_MS, ...done);
        settled += done.length;
        for (let each = 0; each < done.length; each += 1) tally.settle();
        await Promise.all(texts.map(handle));
      }
      return tally.elapsed;
    },

    size: async () => (await client.llen(READY)) + (await client.zcard(RESERVED)),

    close: () => client.quit(),
  };
}
