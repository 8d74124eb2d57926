/** As in `process` and in `dispatch-bulk`, on PostgreSQL. */
import { dispatchBulk } from './dispatch-bulk.mjs';
import { processing } from './process.mjs';

const onPostgres = { store: 'postgres', rounds: 3 };

/** @param jobs pg-boss, which keeps completed jobs, becomes slower with their number */
export function postgres(concurrency, jobs) {
  return {
    ...processing(concurrency, jobs),
    ...onPostgres,
    name: `postgres-${concurrency}`,
    title: `process on PostgreSQL, concurrency ${concurrency}`,
    participants: [
      { name: 'onqueue', peer: 'onqueue' },
      { name: 'graphile-worker, batching', peer: 'graphile-worker', settings: { batching: true } },
      { name: 'graphile-worker', peer: 'graphile-worker' },
      { name: 'pg-boss', peer: 'pg-boss' },
    ],
    baseline: 'graphile-worker, batching',
  };
}

export const postgresBulk = {
  ...dispatchBulk,
  ...onPostgres,
  name: 'postgres-bulk',
  title: 'dispatch on PostgreSQL, bulks of 1,000',
  participants: ['onqueue', 'graphile-worker', 'pg-boss'],
  baseline: 'graphile-worker',
};
