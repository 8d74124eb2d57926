/**
 * What jobs are kept in, by the name that a scenario gives. Each module exports `start()`, which gives an object with
 *
 * - `address`: for the peers' `prepare`;
 * - `versions`: for the table's head;
 * - `clear()`: empties it;
 * - `watch()`: gives a function that says what the store has done since: `cpu` in microseconds, and what its scenarios need;
 * - `stop()`.
 */
export const startStore = async (name) => (await import(`./${name}.mjs`)).start();
