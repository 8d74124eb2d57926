/**
 * Records timeouts that the workers cannot, because the event loop of all of them stands still past the timeout and grace of
 * a job.
 */
import { writeSync } from 'node:fs';
import { systemClock, type Milliseconds } from '../../../base/clock';
import { ConsoleLogger } from '../../../base/console-logger';
import { errorMessage } from '../../../base/exception-text';
import { groupsOf } from '../../../base/groups';
import { pagesOf } from '../../../base/pages';
import type { Reservation, Settlement, SettleResult } from '../../../connections/contract';
import { within } from '../../../connections/kit/caller';
import { afterFreeRelease, afterTimedOut } from '../../../payload/counters';
import type { HeldJob } from '../../supervisor/supervision';
import { bytesOf, type Held } from '../renewal';
import { blockedAccount } from './blocked-account';
import { BlockedLoop } from './blocked-loop';
import type { HeldJobs } from './held-jobs';
import { OverdueWatch } from './overdue-watch';

/** How long the stores may take to store the outcomes. */
const SETTLE_DEADLINE: Milliseconds = 5000;

const UNANSWERED = 'the store has not answered';

/** What is recorded about one job. */
interface Verdict {
  readonly worker: HeldJobs;
  readonly held: Held;
  /** It is past timeout and grace. All others are given back if the process ends; otherwise they go on with the event loop. */
  readonly isOverdue: boolean;
  readonly settlement: Settlement;
  /** The store's answer. Undefined if none has come. */
  result: SettleResult | undefined;
}

export interface BlockedJobsSettings {
  readonly workers: ReadonlyMap<number, HeldJobs>;
  /** Whether the event loop is the main thread's, whose stack can be read. */
  readonly ofMainThread: boolean;
  /** The path of the module there that knows whose code runs. */
  readonly scope: string;
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

  constructor(settings: BlockedJobsSettings) {
    this.#settings = settings;
    this.#watch = new OverdueWatch({
      clock: systemClock,
      overdue: () => {
        const held = this.#workers.flatMap(({ all }) => all);
        return held.length === 0 ? undefined : held.some(isLate);
      },
      ask: settings.ask,
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
    const isBlocked = this.#watch.isSilent && !debugged;
    const verdicts = isBlocked ? this.#workers.flatMap((worker) => verdictsOn(worker, ends)) : [];
    if (verdicts.some(({ isOverdue }) => isOverdue)) await this.#record(verdicts, loop, ends);
    else loop.letGo();
    this.#acting = false;
  }

  async #record(verdicts: readonly Verdict[], loop: BlockedLoop, ends: boolean): Promise<void> {
    // Nobody may renew jobs that are about to be given back.
    if (ends) for (const { worker, held } of verdicts) worker.drop(held);
    const { ofMainThread, scope } = this.#settings;
    const frames = ofMainThread ? await loop.hold() : [];
    // In a thread of the user's: whatever the main thread runs at the moment has nothing to do with it.
    const blocker = ofMainThread ? await loop.blocker(scope) : undefined;
    if (!ends) loop.letGo();
    const why = await settleWithin(verdicts);
    const overdue = verdicts.filter(({ isOverdue }) => isOverdue);
    const late = overdue.map(({ held }) => heldJobOf(held.reservation));
    const returned = verdicts.filter(
      ({ isOverdue, settlement, result }) => !isOverdue && settlement.outcome === 'released' && result === 'settled',
    );
    const left = verdicts.filter(({ result }) => result === undefined);
    const account = blockedAccount({
      pid: process.pid,
      blocker,
      overdue: late,
      results: overdue.flatMap(({ result }) => result ?? []),
      why,
      end: ends ? { returned: returned.length, left: left.length } : undefined,
      frames,
    });
    const jobs = blocker === undefined ? late : [blocker];
    if (!this.#told)
      say(
        account,
        jobs,
        this.#workers.some(({ log }) => log === 'json'),
      );
    this.#told = true;
    if (ends) loop.endProcess({ onqueue: 'blocked', jobs });
    else tellWorkers(overdue, account);
  }
}

const isLate = ({ record }: Held): boolean => record.overdueAt <= systemClock.monotonic();

function verdictsOn(worker: HeldJobs, ends: boolean): readonly Verdict[] {
  const { all } = worker;
  const late = all.filter(isLate);
  const others = ends ? all.filter((held) => !late.includes(held)) : [];
  return [
    ...late.map((held) => ({ worker, held, isOverdue: true, settlement: timedOut(held), result: undefined })),
    ...others.map((held) => ({ worker, held, isOverdue: false, settlement: givenUp(held), result: undefined })),
  ];
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
function settleWithin(verdicts: readonly Verdict[]): Promise<string | undefined> {
  // Separate calls for each queue: one that is refused or not answered holds up no other.
  const calls = [...groupsOf(verdicts, workerOf)].flatMap(([worker, own]) => {
    const queues = groupsOf(own, ({ held }) => held.reservation.queue).values();
    return Array.from(queues, (ended) => settleQueue(worker, ended));
  });
  return within(systemClock, SETTLE_DEADLINE, Promise.all(calls)).then(
    (reasons) => reasons.find((reason) => reason !== undefined),
    () => UNANSWERED,
  );
}

async function settleQueue(worker: HeldJobs, ended: readonly Verdict[]): Promise<string | undefined> {
  try {
    for (const page of pagesOf(ended, ({ held }) => bytesOf(held))) {
      const store = await worker.store();
      const { results } = await store.exchange(page.map(({ settlement }) => settlement));
      for (const [at, one] of page.entries()) {
        const result = results[at]!;
        if (result === 'unanswered') return UNANSWERED;
        one.result = result;
      }
    }
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The workers no longer wait for jobs that were recorded. One worker gets the account, for the log. */
function tellWorkers(overdue: readonly Verdict[], account: string): void {
  let said: string | undefined = account;
  for (const [worker, own] of groupsOf(overdue, workerOf)) {
    const recorded = own.filter(({ result }) => result !== undefined).map(({ held }) => held);
    for (const held of recorded) worker.drop(held);
    worker.tell({ kind: 'blocked', numbers: recorded.map(({ number }) => number), account: said });
    said = undefined;
  }
}

const workerOf = ({ worker }: Verdict): HeldJobs => worker;

function heldJobOf({ queue, payload }: Reservation): HeldJob {
  try {
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-imports -- most threads never need it
    const { decodeEnvelope } = require('../../../payload/envelope') as typeof import('../../../payload/envelope');
    const { displayName, id = 'without an id' } = decodeEnvelope(payload);
    return { job: displayName, id, queue };
  } catch {
    return { job: 'a job', id: '', queue };
  }
}

function say(account: string, jobs: readonly HeldJob[], isJson: boolean): void {
  if (isJson) new ConsoleLogger({ write: writeNow }, 'error', 'json').error({ pid: process.pid, jobs }, account);
  else writeNow(`onqueue: ${account}\n`);
}

// Not process.stderr, which needs the event loop that stands still.
function writeNow(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // A full pipe that nobody reads must not stop us.
  }
}
