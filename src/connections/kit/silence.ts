/** An answer that is waited for, but not for ever. */
import { type Clock, endOfTurn, type Milliseconds } from '../../base/clock';

/** The answer was not there in time. It may still come. */
export class Silence extends Error {
  override readonly message = 'no answer in time';
}

/**
 * Waits so long for the promise. By default the wait keeps the process alive: a call without an answer does, up to its deadline.
 *
 * @throws Silence, and what the promise rejects with
 */
export function within<T>(clock: Clock, milliseconds: Milliseconds, promise: Promise<T>, keepAlive = true): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // What arrived while a job blocked the event loop is read before the silence is believed.
    const silent = (): void => void endOfTurn().then(() => reject(new Silence()));
    const timer = clock.after(Math.max(milliseconds, 0), silent, keepAlive);
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
