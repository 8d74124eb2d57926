/** As in `process`, with a logger that says nothing, and with the default one: a line for each job, to a file. */
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

const onqueue = (name, settings) => ({ name, peer: 'onqueue', settings: { hooks: false, ...settings } });

export function logging(concurrency, jobs) {
  return {
    name: `logging-${concurrency}`,
    title: `logging, concurrency ${concurrency}`,
    jobs,
    participants: [onqueue('silent', {}), onqueue('default logger', { logs: true })],
    baseline: 'silent',
    left: () => 0,
    arrange: (peer, jobs) => fill(peer, jobs),
    act: (peer, jobs) => processed(peer, concurrency, jobs),
  };
}
