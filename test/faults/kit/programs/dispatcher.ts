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
  /** The number of different keys with one job each. */
  readonly others: number;
}

const { configuration, ledger, number, dispatches, others } = JSON.parse(process.argv[2]!) as Orders;

async function dispatch(): Promise<void> {
  for (let count = 0; count < dispatches; count += 1) await Only.dispatch('one', 1);
  await Queue.bulk(Array.from({ length: others }, (_, place) => new Only(`${number}-${place}`, 0)));
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
