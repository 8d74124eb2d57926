/** As in `process`, on PostgreSQL. */
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

const CONCURRENCY = 10;

export const postgres = {
  name: 'postgres-10',
  title: `process on PostgreSQL, concurrency ${CONCURRENCY}`,
  store: 'postgres',
  jobs: 10_000,
  rounds: 3,
  participants: [
    { name: 'onqueue', peer: 'onqueue' },
    { name: 'graphile-worker, batching', peer: 'graphile-worker', settings: { batching: true } },
    { name: 'graphile-worker', peer: 'graphile-worker' },
    { name: 'pg-boss', peer: 'pg-boss' },
  ],
  baseline: 'graphile-worker, batching',
  left: () => 0,
  arrange: (peer, jobs) => fill(peer, jobs),
  act: (peer, jobs) => processed(peer, CONCURRENCY, jobs),
};
