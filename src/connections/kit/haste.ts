/** Reading for somebody who looks at a page: a store that refuses connections is not waited for, as a worker waits for its restart. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock, Milliseconds, Timer } from '../../base/clock';

/** Whether this is such a reading. */
export const hasty = new AsyncLocalStorage<true>();

/** What `read` asks of stores fails at once where nobody listens. */
export function inHaste<Result>(read: () => Result): Result {
  return hasty.run(true, read);
}

const REFUSALS: readonly unknown[] = ['ECONNREFUSED', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH'];

/** Whether nobody listens there; drivers may have put an error around that of the socket. */
export function isConnectionRefused(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as NodeJS.ErrnoException;
  return REFUSALS.includes(code) || (cause !== undefined && isConnectionRefused(cause));
}

/** How often a client that connects by itself is asked why it has no connection. */
const LOOK: Milliseconds = 200;

/** The answer; or what refuses the connection that it waits for. The client goes on trying meanwhile. */
export async function unlessRefused<T>(clock: Clock, answer: Promise<T>, refusal: () => unknown): Promise<T> {
  let timer: Timer | undefined;
  const refused = new Promise<never>((_resolve, reject) => {
    const look = (): void => {
      const error = refusal();
      if (isConnectionRefused(error)) reject(error as Error);
      else timer = clock.after(LOOK, look);
    };
    timer = clock.after(LOOK, look);
  });
  try {
    return await Promise.race([answer, refused]);
  } finally {
    timer?.cancel();
  }
}
