/** Reading for somebody who looks at a page: a store that refuses connections is not waited for, as a worker waits for its restart. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { sleep, type Clock, type Milliseconds } from '../../base/clock';

const hasty = new AsyncLocalStorage<true>();

/** What `read` asks of stores fails at once where nobody listens. */
export function inHaste<Result>(read: () => Result): Result {
  return hasty.run(true, read);
}

export const isInHaste = (): boolean => hasty.getStore() === true;

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
  let isOver = false;
  const over = (): void => void (isOver = true);
  answer.then(over, over);
  for (;;) {
    await Promise.race([answer, sleep(clock, LOOK)]);
    if (isOver) return answer;
    const error = refusal();
    if (isConnectionRefused(error)) throw error as Error;
  }
}
