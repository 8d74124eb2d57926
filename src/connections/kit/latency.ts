/** How long a store takes to answer, for `onqueue check`. */
import type { Clock } from '../../base/clock';
import type { Diagnosis } from '../contract';

/** In milliseconds. Every job takes at least one such round trip. */
const SLOW = 20;

/**
 * @param ask sends a question. Extra costs of the first one, such as connecting, have to be paid before
 * @param trips how many round trips a job takes: `at least one`
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
