/** Dispatches jobs page by page while others are run, and writes the id of each one that the store has taken. */
import { setTimeout as pause } from 'node:timers/promises';
import { Queue } from 'onqueue';
import type { Configuration } from 'onqueue';
import { BrisklyMetered, InLane, Take } from './jobs';
import { note, openLedger } from './pen';

interface Orders {
  readonly configuration: Configuration;
  readonly ledger: string;
  readonly job: 'InLane' | 'Take' | 'BrisklyMetered';
  readonly milliseconds: number;
  readonly count: number;
  /** Among how many lanes the jobs are spread. */
  readonly lanes: number;
}

const { configuration, ledger, job, milliseconds, count, lanes } = JSON.parse(process.argv[2]!) as Orders;

const PAGE = 50;
/** So many jobs at most wait before the next page, so that there are dispatches until nearly the end. */
const MOST_WAITING = 1000;

function made(at: number): object {
  if (job === 'InLane') return new InLane(milliseconds, `lane-${at % lanes}`);
  return job === 'Take' ? new Take(milliseconds) : new BrisklyMetered(milliseconds);
}

async function send(): Promise<void> {
  for (let at = 0; at < count; at += PAGE) {
    while ((await Queue.size()) > MOST_WAITING) await pause(20);
    const page = Array.from({ length: Math.min(PAGE, count - at) }, (_, place) => made(at + place));
    for (const id of await Queue.bulk(page)) note('sent', { id });
  }
}

openLedger(ledger);
Queue.configure(configuration);
send().then(
  () => Queue.close(),
  (error: unknown) => {
    process.stderr.write(`a sender failed: ${String(error)}\n`);
    process.exitCode = 1;
  },
);
