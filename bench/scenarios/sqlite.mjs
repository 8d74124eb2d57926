/** As in `process`, on SQLite. */
import { alone } from '../figures.mjs';
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

const CONCURRENCY = 10;

export const sqlite = {
  name: 'sqlite-10',
  title: `process on SQLite, concurrency ${CONCURRENCY}`,
  store: 'sqlite',
  jobs: 8_000,
  figures: alone,
  participants: [
    { name: 'onqueue', peer: 'onqueue' },
    { name: 'by-hand', peer: 'by-hand-sqlite' },
  ],
  baseline: 'by-hand',
  left: () => 0,
  arrange: (peer, jobs) => fill(peer, jobs),
  act: (peer, jobs) => processed(peer, CONCURRENCY, jobs),
};
