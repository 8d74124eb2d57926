/**
 * A process that works on a SQLite file, and says how many jobs it handles together, or that it has handled them:
 * `together-program.ts <file> <for ever | until stopped>`.
 */
import { writeSync } from 'node:fs';
import { Queue, silentLogger, Worker } from '../../src/index';
import { meantToPass } from '../support/meant-to-pass';
import { Gathered, handling } from './together-killed';

const [file, how] = process.argv.slice(2);
Queue.configure({
  logger: silentLogger,
  connections: { main: { driver: 'database', url: `sqlite:${file}`, retryAfter: meantToPass(1) } },
  jobs: [Gathered],
});

handling.all = async (jobs) => {
  writeSync(1, `handles ${jobs.length}\n`);
  if (how === 'for ever') await new Promise(() => undefined);
};

const worker = new Worker({ concurrency: 10 });
if (how === 'until stopped')
  Queue.before(() => {
    process.once('SIGTERM', () => void worker.stop());
    writeSync(1, 'gathers\n');
  });
void worker.run().then(() => Queue.close());
