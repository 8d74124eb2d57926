/** What can be done with each of the databases, by their names for people. */
import { ALL_CAPABLE } from '../kit/capabilities';

const DATABASE = { ...ALL_CAPABLE, ties: false };

export const STORES = {
  SQLite: DATABASE,
  PostgreSQL: DATABASE,
  // Its workers look now and then.
  MySQL: { ...DATABASE, wake: false },
} as const;
