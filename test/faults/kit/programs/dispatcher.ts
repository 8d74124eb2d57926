/** Dispatches unique jobs with one key, one after the other, and others with keys of their own. Its argument has their numbers as JSON. */
import { Queue } from 'onqueue';
import type { Configuration } from 'onqueue';
import { Only } from './jobs';
import { note, openLedger } from './pen';

interface Orders {
  readonly configuration: Configuration;
  readonly ledger: string;
  readonly number: number;
  readonly dispatches: number;
  /** The number of different keys with one job each. The last ones are links of chains. */
  readonly others: number;
}

const { configuration, ledger, number, dispatches, others } = JSON.parse(process.argv[2]!) as Orders;

/** For each so many jobs with keys of their own, four are a chain whose second link is a batch. */
const CHAINED = 20;
/** One of so many takes some milliseconds, so that a worker can be met in the middle of a job. */
const LASTING = 10;

async function dispatch(): Promise<void> {
  for (let count = 0; count < dispatches; count += 1) await Only.dispatch('one', 1);
  const only = (place: number): Only => new Only(`${number}-${place}`, place % LASTING === 0 ? 5 : 0);
  const alone = others - 4 * Math.floor(others / CHAINED);
  await Queue.bulk(Array.from({ length: alone }, (_, place) => only(place)));
  for (let place = alone; place < others; place += 4)
    await Queue.chain([only(place), Queue.batch([only(place + 1), only(place + 2)]), only(place + 3)]).dispatch();
}

openLedger(ledger);
Queue.configure(configuration);
dispatch().then(
  async () => {
    await Queue.close();
    note('ended');
  },
  (error: unknown) => {
    process.stderr.write(`a dispatcher failed: ${String(error)}\n`);
    process.exitCode = 1;
  },
);
