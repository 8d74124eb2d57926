/** Has a peer's worker empty its queue: gives the time from the first job's start to the last one's confirmation. */
import { Tally } from './tally.mjs';

/** @param options `queues`: their names, where there are several */
export async function processed(peer, concurrency, count, options) {
  const tally = new Tally(count);
  const stop = await peer.work(concurrency, tally, options);
  const milliseconds = await tally.elapsed;
  await stop();
  return { milliseconds, settled: tally.settled };
}
