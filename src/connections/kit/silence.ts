/** Waits for an answer, but not forever. */
import { type Clock, endOfTurn, type Milliseconds } from '../../base/clock';

/** The answer did not come in time. It may still come. */
export class Silence extends Error {
  override readonly message = 'no answer in time';
}

/**
 * Waits for the promise. By default the wait keeps the process alive, as an unanswered call does until its deadline.
 *
 * @throws Silence, and what the promise rejects with
 */
export function within<T>(clock: Clock, milliseconds: Milliseconds, promise: Promise<T>, keepAlive = true): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // Answers that arrived while a job blocked the event loop are read before we believe the silence.
    const silent = (): void => void endOfTurn().then(() => reject(new Silence()));
    const timer = clock.after(Math.max(milliseconds, 0), silent, keepAlive);
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
