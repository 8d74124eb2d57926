/** How long a store takes to answer: what `onqueue check` says of the way to it. */
import type { Clock } from '../../base/clock';
import type { Diagnosis } from '../contract';

/** Milliseconds; every job takes at least one such round trip. */
const SLOW = 20;

/**
 * @param ask the store something. What the first question costs beside, such as a connection, is to be paid before
 * @param trips how many of them a job takes: `at least one`
 */
export async function latencyOf(clock: Clock, trips: string, ask: () => Promise<unknown>): Promise<Diagnosis> {
  const sentAt = clock.monotonic();
  await ask();
  const took = Math.round((clock.monotonic() - sentAt) * 10) / 10;
  const isSlow = took > SLOW;
  const advice = isSlow ? `; each job takes ${trips}. Bring the worker nearer to the server.` : '';
  return {
    level: isSlow ? 'warning' : 'ok',
    subject: 'latency',
    message: `${took} ms for a round trip${advice}`,
  };
}
