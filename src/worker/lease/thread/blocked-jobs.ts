/** Records what the workers cannot: that jobs are past timeout and grace while the event loop of all of them stands still. */
import { writeSync } from 'node:fs';
import { type Milliseconds, systemClock } from '../../../base/clock';
import { errorMessage } from '../../../base/exception-text';
import { groupsOf } from '../../../base/groups';
import { pagesOf } from '../../../base/pages';
import type { Settlement, SettleResult } from '../../../connections/contract';
import { afterFreeRelease, afterTimedOut } from '../../../payload/counters';
import { BLOCKED } from '../../supervisor/supervision';
import { bytesOf, type Held } from '../renewal';
import { blockedAccount } from './blocked-account';
import { BlockedLoop } from './blocked-loop';
import type { HeldJobs } from './held-jobs';
import { OverdueWatch } from './overdue-watch';

/** For the stores to take the outcomes. */
const SETTLE_DEADLINE: Milliseconds = 5000;

/** What the stores have said to each. */
type Results = Map<Settlement, SettleResult>;

/** What is to be recorded for one worker. */
interface Share {
  readonly worker: HeldJobs;
  readonly overdue: readonly Held[];
  /** Of those that are overdue, in their order. */
  readonly timeouts: readonly Settlement[];
  /** Of those that are given back, where the process ends: otherwise they go on with the event loop. */
  readonly others: readonly Settlement[];
}

export interface BlockedJobsSettings {
  readonly workers: ReadonlyMap<number, HeldJobs>;
  /** Whether the event loop is that of the main thread, which can be looked into. */
  readonly ofMainThread: boolean;
  /** Asks the event loop for an answer. */
  readonly ask: () => void;
}

export class BlockedJobs {
  readonly #settings: BlockedJobsSettings;
  readonly #watch: OverdueWatch;
  /** The event loop stands still, and that was said. */
  #told = false;
  /** What is to be done about it is being done. */
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

  /** There are jobs. */
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
    // Whoever looks at a breakpoint must not have the process end under their hands; it is asked again with the next look.
    const debugged = await loop.isDebugged();
    const ends = this.#workers.some(({ endsProcess }) => endsProcess);
    const shares = this.#silent && !debugged ? this.#workers.map((worker) => shareOf(worker, ends)) : [];
    if (shares.some(({ overdue }) => overdue.length > 0)) await this.#record(shares, loop, ends);
    else loop.letGo();
    this.#acting = false;
  }

  async #record(shares: readonly Share[], loop: BlockedLoop, ends: boolean): Promise<void> {
    // Nobody may renew what is about to be given back.
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

/** A timed out attempt, as the worker would record it. Whether it was the last is seen by whoever meets the job next. */
function timedOut({ reservation, record: { delay } }: Held): Settlement {
  return { outcome: 'released', reservation, delay, counters: afterTimedOut(reservation.counters) };
}

/** What was done is done; all else goes back at no cost in tries. */
function givenUp({ reservation, record }: Held): Settlement {
  if (record.isCompleted) return { outcome: 'completed', reservation };
  return { outcome: 'released', reservation, delay: 0, counters: afterFreeRelease(reservation.counters) };
}

/**
 * Notes what the stores say to each, for as long as they answer; gives the reason why one does not. A store without an answer
 * is no reason to leave the process as it is: the leases end by themselves then.
 */
async function settleWithin(shares: readonly Share[], results: Results): Promise<string | undefined> {
  const settling = Promise.all(shares.map((share) => settle(share, results)));
  return new Promise((resolve) => {
    const timer = systemClock.after(SETTLE_DEADLINE, () => resolve('the store has not answered'), true);
    void settling.then((reasons) => {
      timer.cancel();
      resolve(reasons.find((reason) => reason !== undefined));
    });
  });
}

// Each queue in calls of its own: one that is not answered, or is refused, holds up no other.
async function settle({ worker, timeouts, others }: Share, results: Results): Promise<string | undefined> {
  const queues = groupsOf([...timeouts, ...others], ({ reservation }) => reservation.queue).values();
  const reasons = await Promise.all(Array.from(queues, (ended) => settleQueue(worker, ended, results)));
  return reasons.find((reason) => reason !== undefined);
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

/** They wait for what was recorded no longer. One of them is given the account, for the log. */
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

// Not by process.stderr, which goes by way of the event loop that stands still.
function say(text: string): void {
  try {
    writeSync(2, `onqueue: ${text}\n`);
  } catch {
    // A full pipe that nobody reads is no reason to stop here.
  }
}
