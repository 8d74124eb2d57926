/**
 * Records timeouts that the workers cannot, because the event loop of all of them stands still past the timeout and grace of
 * a job.
 */
import { writeSync } from 'node:fs';
import { type Milliseconds, systemClock } from '../../../base/clock';
import { errorMessage } from '../../../base/exception-text';
import { groupsOf } from '../../../base/groups';
import { pagesOf } from '../../../base/pages';
import type { Settlement, SettleResult } from '../../../connections/contract';
import { within } from '../../../connections/kit/silence';
import { afterFreeRelease, afterTimedOut } from '../../../payload/counters';
import { BLOCKED } from '../../supervisor/supervision';
import { bytesOf, type Held } from '../renewal';
import { blockedAccount } from './blocked-account';
import { BlockedLoop } from './blocked-loop';
import type { HeldJobs } from './held-jobs';
import { OverdueWatch } from './overdue-watch';

/** How long the stores may take to store the outcomes. */
const SETTLE_DEADLINE: Milliseconds = 5000;

/** The stores' answers. */
type Results = Map<Settlement, SettleResult>;

/** The outcomes to be recorded for one worker. */
interface Share {
  readonly worker: HeldJobs;
  readonly overdue: readonly Held[];
  /** The outcomes of the overdue jobs, in their order. */
  readonly timeouts: readonly Settlement[];
  /** The outcomes of jobs that are given back, if the process ends; otherwise these go on with the event loop. */
  readonly others: readonly Settlement[];
}

export interface BlockedJobsSettings {
  readonly workers: ReadonlyMap<number, HeldJobs>;
  /** Whether the event loop is the main thread's, whose stack can be read. */
  readonly ofMainThread: boolean;
  /** Asks the event loop for an answer. */
  readonly ask: () => void;
}

export class BlockedJobs {
  readonly #settings: BlockedJobsSettings;
  readonly #watch: OverdueWatch;
  /** The event loop stands still, and that was reported. */
  #told = false;
  /** The outcomes are being recorded. */
  #acting = false;
  /** The event loop has not been heard since it was last asked. */
  #silent = false;

  constructor(settings: BlockedJobsSettings) {
    this.#settings = settings;
    this.#watch = new OverdueWatch({
      clock: systemClock,
      overdue: () => {
        const held = this.#workers.flatMap(({ all }) => all);
        return held.length === 0 ? undefined : held.some(isOverdue);
      },
      ask: () => {
        this.#silent = true;
        settings.ask();
      },
      blocked: () => void this.#act(),
    });
  }

  /** To be called when there are jobs. */
  watch(): void {
    this.#watch.start();
  }

  /** The event loop moves. */
  answered(): void {
    this.#told = false;
    this.#silent = false;
    this.#watch.answered();
  }

  get #workers(): readonly HeldJobs[] {
    return [...this.#settings.workers.values()];
  }

  async #act(): Promise<void> {
    if (this.#acting) return;
    this.#acting = true;
    const loop = new BlockedLoop();
    // A process that stands at a breakpoint must not end under its debugger. The next look asks again.
    const debugged = await loop.isDebugged();
    const ends = this.#workers.some(({ endsProcess }) => endsProcess);
    const shares = this.#silent && !debugged ? this.#workers.map((worker) => shareOf(worker, ends)) : [];
    if (shares.some(({ overdue }) => overdue.length > 0)) await this.#record(shares, loop, ends);
    else loop.letGo();
    this.#acting = false;
  }

  async #record(shares: readonly Share[], loop: BlockedLoop, ends: boolean): Promise<void> {
    // Nobody may renew jobs that are about to be given back.
    if (ends) for (const { worker } of shares) for (const held of worker.all) worker.drop(held);
    const frames = this.#settings.ofMainThread ? await loop.hold() : [];
    if (!ends) loop.letGo();
    const results: Results = new Map();
    const why = await settleWithin(shares, results);
    const timeouts = shares.flatMap((share) => share.timeouts);
    const others = shares.flatMap((share) => share.others);
    const returned = others.filter((one) => one.outcome === 'released' && results.get(one) === 'settled').length;
    const account = blockedAccount({
      pid: process.pid,
      overdue: shares.flatMap(({ overdue }) => overdue.map(({ reservation }) => reservation)),
      results: timeouts.flatMap((one) => results.get(one) ?? []),
      why,
      end: ends ? { returned, left: timeouts.length + others.length - results.size } : undefined,
      frames,
    });
    if (!this.#told) say(account);
    this.#told = true;
    if (ends) loop.endProcess(BLOCKED);
    else tellWorkers(shares, results, account);
  }
}

const isOverdue = ({ record }: Held): boolean => record.overdueAt <= systemClock.monotonic();

function shareOf(worker: HeldJobs, ends: boolean): Share {
  const held = worker.all;
  const overdue = held.filter(isOverdue);
  const others = ends ? held.filter((one) => !overdue.includes(one)) : [];
  return { worker, overdue, timeouts: overdue.map(timedOut), others: others.map(givenUp) };
}

/** A timed-out attempt, as the worker would record it. Whoever meets the job next finds out whether it was the last. */
function timedOut({ reservation, record: { delay } }: Held): Settlement {
  return { outcome: 'released', reservation, delay, counters: afterTimedOut(reservation.counters) };
}

/** Jobs that are done stay done; all others go back at no cost in tries. */
function givenUp({ reservation, record }: Held): Settlement {
  if (record.isCompleted) return { outcome: 'completed', reservation };
  return { outcome: 'released', reservation, delay: 0, counters: afterFreeRelease(reservation.counters) };
}

/**
 * Collects the stores' answers until the deadline; returns the reason if one does not answer. A silent store is no reason to
 * keep the process as it is: the leases will end by themselves.
 */
function settleWithin(shares: readonly Share[], results: Results): Promise<string | undefined> {
  // Separate calls for each queue: one that is refused or not answered holds up no other.
  const calls = shares.flatMap(({ worker, timeouts, others }) => {
    const queues = groupsOf([...timeouts, ...others], ({ reservation }) => reservation.queue).values();
    return Array.from(queues, (ended) => settleQueue(worker, ended, results));
  });
  return within(systemClock, SETTLE_DEADLINE, Promise.all(calls)).then(
    (reasons) => reasons.find((reason) => reason !== undefined),
    () => 'the store has not answered',
  );
}

async function settleQueue(
  worker: HeldJobs,
  ended: readonly Settlement[],
  results: Results,
): Promise<string | undefined> {
  try {
    for (const page of pagesOf(ended, bytesOf)) {
      const told = await (await worker.store()).settle(page);
      page.forEach((one, at) => results.set(one, told[at]!));
    }
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The workers no longer wait for jobs that were recorded. One worker gets the account, for the log. */
function tellWorkers(shares: readonly Share[], results: Results, account: string): void {
  let said: string | undefined = account;
  for (const { worker, overdue, timeouts } of shares) {
    if (overdue.length === 0) continue;
    const recorded = overdue.filter((_, at) => results.has(timeouts[at]!));
    for (const held of recorded) worker.drop(held);
    worker.tell({ kind: 'blocked', numbers: recorded.map(({ number }) => number), account: said });
    said = undefined;
  }
}

// Not process.stderr, which needs the event loop that stands still.
function say(text: string): void {
  try {
    writeSync(2, `onqueue: ${text}\n`);
  } catch {
    // A full pipe that nobody reads must not stop us.
  }
}
