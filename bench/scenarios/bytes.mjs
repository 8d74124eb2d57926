/** What a waiting job takes in the memory of Redis. */
import * as figures from '../figures.mjs';
import { mails, pagesOf } from '../mails.mjs';
import { peers } from '../peers/all.mjs';

function scenario(name, title, { length, settings = {} } = {}) {
  return {
    name,
    title,
    jobs: 10_000,
    rounds: 2,
    figures: figures.bytes,
    participants: peers.map((peer) => ({ name: peer, peer, settings })),
    left: (jobs) => jobs,
    arrange: (_peer, jobs) => [...pagesOf(mails(jobs, length), 1_000)],
    async act(peer, _jobs, pages) {
      for (const page of pages) await peer.bulk(page);
    },
  };
}

export const bytes = scenario('bytes-plain', 'Redis memory, no options');
export const bytesOfRetries = scenario('bytes-retries', 'Redis memory, with retries', { settings: { retries: true } });
/** Redis packs a hash tightly while none of its fields is longer than 64 bytes. */
export const bytesOfShort = scenario('bytes-short', 'Redis memory, no options, data of 60 bytes', { length: 60 });
