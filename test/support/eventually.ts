/** Waits for a condition in another process or on a server, where no promise reports it. */

/** Far longer than any condition takes, because slow machines are no failure. */
const DEADLINE_MS = 150_000;
const INTERVAL_MS = 10;

/**
 * Calls `condition` repeatedly until it returns something truthy, and returns that.
 *
 * @throws at the deadline, with the last value or error seen
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  { deadline = DEADLINE_MS, of = 'the condition' }: { readonly deadline?: number; readonly of?: string } = {},
): Promise<T> {
  const end = Date.now() + deadline;
  for (;;) {
    let last: string;
    try {
      const value = await condition();
      if (value) return value;
      last = `the last value was ${JSON.stringify(value)}`;
    } catch (error) {
      last = `it last threw ${String(error)}`;
    }
    if (Date.now() > end) throw new Error(`${of} did not come true within ${deadline} ms; ${last}`);
    // The immediate lets the event loop read what has arrived. Conditions that take longer than the interval would only ever
    // let it run timers, so that no answer and no end of a process would come in.
    await new Promise((resolve) => {
      setTimeout(() => setImmediate(resolve), INTERVAL_MS);
    });
  }
}
