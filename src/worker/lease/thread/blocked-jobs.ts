/** Records what the workers cannot: that jobs are past timeout and grace while the event loop of all of them stands still. */
import { writeSync } from 'node:fs';
import { type Milliseconds, systemClock } from '../../../base/clock';
import { errorMessage } from '../../../base/exception-text';
import type { Settlement, SettleResult } from '../../../connections/contract';
import { pagesOf } from '../../../base/pages';
import { BLOCKED } from '../../supervisor/supervision';
import { bytesOf } from '../renewal';
import { blockedAccount } from './blocked-account';
import { BlockedLoop } from './blocked-loop';
import type { HeldReservation } from './held-reservation';
import { OverdueWatch } from './overdue-watch';
import type { WorkerJobs } from './worker-jobs';

/** For the store to take the outcomes of a process that is about to end. */
const SETTLE_DEADLINE: Milliseconds = 5000;

const UNANSWERED = 'the store has not answered';

/** What the stores have said to each. */
type Results = Map<Settlement, SettleResult>;

/** What is to be recorded for one worker. */
interface Share {
  readonly worker: WorkerJobs;
  readonly overdue: readonly HeldReservation[];
  readonly timeouts: readonly Settlement[];
  /** Given back, where the process ends. */
  readonly others: readonly Settlement[];
}

export interface BlockedJobsSettings {
  readonly workers: ReadonlySet<WorkerJobs>;
  /** Whether the event loop is that of the main thread, which can be looked into. */
  readonly ofMainThread: boolean;
  /** Asks the event loop for an answer. */
  readonly ask: () => void;
}

export class BlockedJobs {
  readonly #settings: BlockedJobsSettings;
  readonly #watch: OverdueWatch<HeldReservation>;
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
      held: () => [...settings.workers].flatMap(({ held }) => held),
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

  async #act(): Promise<void> {
    if (this.#acting) return;
    this.#acting = true;
    const loop = new BlockedLoop();
    // Whoever looks at a breakpoint must not have the process end under their hands; it is asked again with the next look.
    const debugged = await loop.isDebugged();
    const shares = this.#silent && !debugged ? this.#shares() : [];
    if (shares.length === 0) loop.letGo();
    else await this.#record(shares, loop);
    this.#acting = false;
  }

  /** Of those whose jobs are overdue. Other jobs are given up only if the process ends: else they go on with the event loop. */
  #shares(): readonly Share[] {
    const workers = [...this.#settings.workers];
    const now = systemClock.monotonic();
    const ends = workers.some(({ endsProcess }) => endsProcess);
    const shares = workers.map((worker): Share => {
      const { held } = worker;
      const overdue = held.filter(({ overdueAt }) => overdueAt <= now);
      const others = ends ? held.filter((one) => !overdue.includes(one)) : [];
      const timeouts = overdue.map(({ timedOut }) => timedOut);
      return { worker, overdue, timeouts, others: others.map(({ givenUp }) => givenUp) };
    });
    return shares.some(({ overdue }) => overdue.length > 0) ? shares : [];
  }

  async #record(shares: readonly Share[], loop: BlockedLoop): Promise<void> {
    const ends = shares.some(({ worker }) => worker.endsProcess);
    // Nobody may renew what is about to be given back.
    if (ends) for (const { worker } of shares) for (const one of worker.held) worker.drop(one);
    const frames = this.#settings.ofMainThread ? await loop.hold() : [];
    if (!ends) loop.letGo();
    const results: Results = new Map();
    const conclude = (why: string | undefined): string => {
      const others = shares.flatMap((share) => share.others);
      const back = others.filter((one) => one.outcome === 'released' && results.get(one) === 'settled').length;
      const timeouts = shares.flatMap((share) => share.timeouts);
      const left = timeouts.length + others.length - results.size;
      const account = blockedAccount({
        pid: process.pid,
        overdue: shares.flatMap(({ overdue }) => overdue.map(({ reservation }) => reservation)),
        results: timeouts.flatMap((one) => results.get(one) ?? []),
        why,
        end: ends ? { returned: back, left } : undefined,
        frames,
      });
      if (!this.#told) say(account);
      this.#told = true;
      return account;
    };
    const end = (why: string | undefined): void => {
      conclude(why);
      loop.endProcess(BLOCKED);
    };
    // A store that does not answer is no reason to leave the process as it is: the leases end by themselves then.
    if (ends) systemClock.after(SETTLE_DEADLINE, () => end(UNANSWERED), true);
    const [why] = (await Promise.all(shares.map((share) => settle(share, results)))).flatMap((reason) => reason ?? []);
    if (ends) return end(why);
    let account: string | undefined = conclude(why);
    for (const { worker, overdue, timeouts } of shares) {
      const recorded = overdue.filter((_, at) => results.has(timeouts[at]!));
      for (const one of recorded) worker.drop(one);
      if (overdue.length === 0) continue;
      worker.tell({ kind: 'blocked', numbers: recorded.map(({ number }) => number), account });
      account = undefined;
    }
  }
}

/** Notes what the store says to each, for as long as it answers; gives the reason why it does not. */
async function settle({ worker, timeouts, others }: Share, results: Results): Promise<string | undefined> {
  const settlements = [...timeouts, ...others];
  if (settlements.length === 0) return undefined;
  try {
    const recorder = await worker.store();
    const waits: Promise<unknown>[] = [];
    for (const page of pagesOf(settlements, bytesOf)) {
      const answers = await recorder.settle(page);
      page.forEach((one, at) => {
        const answer = answers[at]!;
        if (typeof answer === 'string') results.set(one, answer);
        else waits.push(answer.later.then((result) => results.set(one, result)));
      });
    }
    return waits.length === 0 ? undefined : await unanswered(waits);
  } catch (error) {
    return errorMessage(error);
  }
}

// A part of the store that is silent keeps nobody from hearing of the others.
function unanswered(waits: readonly Promise<unknown>[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.after(SETTLE_DEADLINE, () => resolve(UNANSWERED));
    Promise.all(waits)
      .finally(() => timer.cancel())
      .then(() => resolve(undefined), reject);
  });
}

// Not by process.stderr, which goes by way of the event loop that stands still.
function say(text: string): void {
  try {
    writeSync(2, `onqueue: ${text}\n`);
  } catch {
    // A full pipe that nobody reads is no reason to stop here.
  }
}
