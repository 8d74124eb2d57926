/**
 * A long import whose worker is killed twice in the middle, and which finishes all the same: each step is done once, and the rows go
 * on where they were.
 *
 *     npm run sample -- import-with-steps
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Queue, silentLogger, Worker } from 'onqueue';
import { ImportOrders, ROWS, type Told } from './jobs';

/** The worker is killed when it has come to these rows. */
const KILLED_AT = [400, 700];

function configure(): void {
  const url = process.env['REDIS_URL'];
  // A worker that has died loses its job after two seconds, so that the sample need not wait for half a minute.
  const lease = { retryAfter: 2 } as const;
  const store =
    url === undefined
      ? ({ driver: 'database', url: 'sqlite:./import.sqlite', ...lease } as const)
      : ({ driver: 'redis', url, ...lease } as const);
  Queue.configure({ connections: { store }, default: 'store', logger: silentLogger });
}

async function work(): Promise<void> {
  configure();
  await new Worker({ queue: 'imports', maxJobs: 1 }).run();
  await Queue.close();
}

async function main(): Promise<void> {
  configure();
  await ImportOrders.dispatch('https://shop.example/orders.csv');
  const told: Told[] = [];
  for (const killedAt of [...KILLED_AT, Infinity]) {
    const worker = fork(__filename, ['worker']);
    const begun = told.length;
    worker.on('message', (message) => {
      told.push(message as Told);
      if (typeof message === 'number' && message >= killedAt) worker.kill('SIGKILL');
    });
    await once(worker, 'exit');
    const rows = told.slice(begun).filter((one) => typeof one === 'number');
    const end = killedAt === Infinity ? 'done' : 'killed';
    console.log(`a worker began behind row ${rows[0]! - 1}, and was ${end}`);
  }
  const times = (what: string): number => told.filter((one) => one === what).length;
  const all = new Set(told.filter((one) => typeof one === 'number'));
  console.log(`downloaded ${times('download')} time, charged ${times('charge')} time, ${all.size} of ${ROWS} rows`);
  console.log(`${await Queue.size('imports')} jobs left`);
  await Queue.close();
}

(process.argv[2] === 'worker' ? work() : main()).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
