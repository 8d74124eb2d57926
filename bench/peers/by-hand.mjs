/**
 * The least that one would write oneself: ioredis, a list, a sorted set of leases, JSON. No retries, no failed jobs, no
 * delays, no recovery, nothing decoded but JSON: a mark to measure by, and not a library.
 */
import { Redis } from 'ioredis';

const READY = 'mails';
const RESERVED = 'mails:reserved';
const LEASE_MS = 30_000;
const WAIT_S = 5;

/** Settles what is named and reserves up to so many. */
const exchange = `
if #ARGV > 2 then redis.call('ZREM', KEYS[2], unpack(ARGV, 3)) end
local texts = tonumber(ARGV[1]) > 0 and redis.call('LPOP', KEYS[1], ARGV[1])
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

    async work(concurrency, watcher) {
      const idle = client.duplicate();
      const stopping = new AbortController();
      const isWorking = () => !stopping.signal.aborted;
      const handle = async (text) => watcher.start(JSON.parse(text).number);
      const loop = async () => {
        for (let done = []; isWorking() || done.length > 0;) {
          const texts = await client.exchange(
            READY,
            RESERVED,
            isWorking() ? concurrency : 0,
            Date.now() + LEASE_MS,
            ...done,
          );
          for (let each = 0; each < done.length; each += 1) watcher.settle();
          await Promise.all(texts.map(handle));
          // Waits for a first one, and leaves it where it is.
          if (texts.length === 0 && isWorking()) await idle.blmove(READY, READY, 'LEFT', 'LEFT', WAIT_S);
          done = texts;
        }
      };
      const ended = loop().catch((error) => {
        if (isWorking()) watcher.fail(error);
      });
      return async () => {
        stopping.abort();
        idle.disconnect();
        await ended;
      };
    },

    size: async () => (await client.llen(READY)) + (await client.zcard(RESERVED)),

    close: () => client.quit(),
  };
}
