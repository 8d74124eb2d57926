/** A process that works on a SQLite file until the entities of its job are being loaded: `entities-program.ts <file>`. */
import { writeSync } from 'node:fs';
import { Queue, silentLogger, Worker } from '../../src/index';
import { meantToPass } from '../support/meant-to-pass';
import { CarriesRow, entities } from './entities-killed';

Queue.configure({
  logger: silentLogger,
  connections: { main: { driver: 'database', url: `sqlite:${process.argv[2]}`, retryAfter: meantToPass(1) } },
  jobs: [CarriesRow],
  entities: [
    entities(async () => {
      writeSync(1, 'loading\n');
      return new Promise(() => undefined);
    }),
  ],
});

void new Worker().run();
