/** The capabilities of each database, by its display name. */
import { ALL_CAPABLE } from '../driver';

export const STORES = {
  SQLite: { ...ALL_CAPABLE, recordWake: false },
  PostgreSQL: ALL_CAPABLE,
  // Workers on MySQL poll.
  MySQL: { ...ALL_CAPABLE, wake: false, recordWake: false },
} as const;
