/** What can be done with each of the databases, by their names for people. */
import { ALL_CAPABLE } from '../kit/capabilities';

export const STORES = {
  SQLite: { ...ALL_CAPABLE, recordWake: false },
  PostgreSQL: ALL_CAPABLE,
  // Its workers look now and then.
  MySQL: { ...ALL_CAPABLE, wake: false, recordWake: false },
} as const;
