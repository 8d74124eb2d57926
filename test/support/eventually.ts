/** Waits for a condition in another process or on a server, where no promise tells of it. */

/** Far above what any condition takes: a slow machine is no failure. */
const DEADLINE_MS = 150_000;
const INTERVAL_MS = 10;

/**
 * Asks again and again until `condition` gives something true, and returns it.
 *
 * @throws at the deadline, with the last value or error that was seen
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
    await new Promise((resolve) => {
      setTimeout(resolve, INTERVAL_MS);
    });
  }
}
