/** A custom driver: registered under a name, typed in the configuration, and used like any other. */
import { Job, Queue, silentLogger, Worker } from 'onqueue';
import { type ArrayConfig, connectArrays } from './array-connection';

// Teaches the compiler `driver: 'array'` and its options.
declare module 'onqueue' {
  interface Drivers {
    array: ArrayConfig;
  }
}

@Job({ queue: 'parcels', tries: 2, backoff: '200ms' })
class DeliverParcel extends Job {
  constructor(readonly to: string) {
    super();
  }

  async handle(): Promise<void> {
    if (this.to === 'Grace' && this.attempts === 1) throw new Error('nobody at home');
    console.log(`delivered to ${this.to} in attempt ${this.attempts}`);
  }
}

async function main(): Promise<void> {
  Queue.addConnector('array', connectArrays);
  Queue.configure({
    default: 'parcels',
    // This driver does not keep failed jobs, so they go to the connection named by `failed`.
    connections: { parcels: { driver: 'array' }, failures: { driver: 'memory' } },
    failed: 'failures',
    logger: silentLogger,
  });
  console.log(`the jobs are kept in: ${Queue.connection().address.replace(/\d+/, 'this one')}`);

  for (const name of ['Ada', 'Grace', 'Edsger']) await DeliverParcel.dispatch(name);
  await new Worker({ queue: 'parcels', drain: true }).run();

  console.log(`left: ${await Queue.size('parcels')}`);
  await Queue.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
