/** What can be done with each of the databases, by their names for people. */
import { ALL_CAPABLE } from '../kit/capabilities';

export const STORES = {
  SQLite: { ...ALL_CAPABLE, operations: true },
  PostgreSQL: { ...ALL_CAPABLE, operations: true },
  // Its workers look now and then.
  MySQL: { ...ALL_CAPABLE, wake: false, operations: true },
} as const;
