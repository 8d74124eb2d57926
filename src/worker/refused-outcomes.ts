/**
 * Outcomes that the store refuses although it serves other calls. They are offered again one by one, while other jobs go on.
 *
 * After three refusals an outcome counts as refused for good. A job that failed or was released is then kept as failed, with
 * texts cut short. If a job in another queue follows it, the follower may be what is refused; it waits in a carrier instead.
 * A completed job must not look failed, so its outcome is held, as is any that fits in no form: its lease goes on, and the
 * outcome is offered again now and then. The job is neither lost nor run a second time while its worker lives.
 */
import { pauseAfter, sleep } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import type { Settlement, SettleResult } from '../connections/contract';
import { isStoreAway } from '../connections/errors';
import { outcomeRefused } from './errors';
import { logHeld, logLetGo, logRefused } from './job-log';
import { isStillOurs } from './settler';
import { carriedOutcome, followed, failed, type Following } from './outcome';
import type { WorkerSettings } from './settings';
import type { Outcome } from './running-job';
import type { Finished } from './runs';

const BACKOFF = { first: 250, longest: 60_000 };

/** Includes the offer that brought the outcome here. */
const OFFERS = 3;

/**
 * This many refusals in a row, at least, are tolerated. Beyond that the store takes nothing at all, and no more jobs are run
 * for it.
 */
const LEAST_STREAK = 10;

/** Each held outcome keeps a payload in memory. The oldest is let go first. */
const MOST_HELD = 1000;

/** Characters kept of an exception that was too long, or contained characters that the store does not have. */
const SHORT = 500;

export interface OutcomeWriter {
  /** Settles an outcome; if failures are kept in another store, keeps it there first. @throws what either store throws */
  readonly write: (one: Finished) => Promise<SettleResult>;
  /**
   * Buries a failed job in its own store, whatever the failed store says. Undefined if the store cannot. @throws what the
   * store throws
   */
  readonly bury: ((settlement: Settlement) => Promise<SettleResult>) | undefined;
  readonly concluded: (one: Finished, result: SettleResult) => void;
  /** The outcome is no longer offered: the job comes back when its lease ends. */
  readonly letGo: (one: Finished) => void;
  /** The store seems to be away: the outcome has to be settled again with all others. */
  readonly untaken: (one: Finished, error: unknown) => void;
  /** Nobody waits for the outcome any more: a worker that has run its last job may end. */
  readonly held: () => void;
}

type Answered = { readonly result: SettleResult } | { readonly error: unknown };

export class RefusedOutcomes {
  readonly #settings: WorkerSettings;
  readonly #writer: OutcomeWriter;
  readonly #offered = new Set<Finished>();
  readonly #held = new Set<Finished>();
  #streak = 0;
  #lastMessage: string | undefined;

  constructor(settings: WorkerSettings, writer: OutcomeWriter) {
    this.#settings = settings;
    this.#writer = writer;
  }

  /** Outcomes that the store may still take, in one form or another, within a second or two. */
  get offered(): number {
    return this.#offered.size;
  }

  /** Outcomes that are refused for good. */
  get held(): number {
    return this.#held.size;
  }

  /** The last refusal's message. */
  get lastMessage(): string | undefined {
    return this.#lastMessage;
  }

  /** The store took an outcome: it does not refuse everything. */
  taken(): void {
    this.#streak = 0;
  }

  /** @param error the refusal, of this outcome or of the call it was in */
  take(one: Finished, error: unknown): void {
    this.#lastMessage = errorMessage(error);
    this.#streak += 1;
    if (this.#streak > Math.max(LEAST_STREAK, this.#settings.options.concurrency)) {
      return this.#writer.untaken(one, error);
    }
    this.#offered.add(one);
    void this.#insist(one, error);
  }

  /** The worker has ended and no longer renews leases, so nothing more may be offered. */
  close(): void {
    this.#offered.clear();
    this.#held.clear();
  }

  async #insist(one: Finished, error: unknown): Promise<void> {
    const { clock } = this.#settings.application;
    let refusal = error;
    for (let offers = 1; ; offers += 1) {
      if (offers === OFFERS) {
        // A store that renews this job's lease serves us: so it is the outcome that it refuses.
        const end = await this.#isLost(one);
        if (end !== undefined) return this.#end(one, end);
        if (await this.#keepWhatFits(one, refusal)) return;
        this.#hold(one, refusal);
      }
      await sleep(clock, pauseAfter(offers - 1, BACKOFF), false);
      if (!this.#offered.has(one) && !this.#held.has(one)) return;
      const answer = await answered(() => this.#writer.write(one));
      if ('result' in answer || isStoreAway(answer.error)) return this.#end(one, answer);
      refusal = answer.error;
    }
  }

  /** Undefined if the job is still ours. */
  async #isLost({ job: { reservation } }: Finished): Promise<Answered | undefined> {
    const { connection, lease } = this.#settings;
    try {
      return (await isStillOurs(connection, reservation, lease)) ? undefined : { result: 'lost' };
    } catch (error) {
      return { error };
    }
  }

  /** False if the store takes it in no form. */
  async #keepWhatFits(one: Finished, refusal: unknown): Promise<boolean> {
    const { application } = this.#settings;
    const fitting = fittingForm(one, refusal, application);
    if (fitting === undefined) return false;
    const { write, bury, concluded } = this.#writer;
    const { settlement } = fitting.outcome;
    const isFailed = settlement.outcome === 'failed';
    const kept = await answered(() => write(fitting));
    const answer = 'error' in kept && isFailed && bury !== undefined ? await answered(() => bury(settlement)) : kept;
    if ('error' in answer) return false;
    logRefused(application.logger, one, refusal, answer !== kept ? 'buried' : isFailed ? 'kept' : 'carried');
    this.#offered.delete(one);
    concluded(fitting, answer.result);
    return true;
  }

  #hold(one: Finished, refusal: unknown): void {
    const { logger } = this.#settings.application;
    const { held, letGo } = this.#writer;
    this.#offered.delete(one);
    this.#held.add(one);
    held();
    logHeld(logger, one, refusal);
    const [oldest] = this.#held;
    if (this.#held.size <= MOST_HELD) return;
    this.#held.delete(oldest!);
    logLetGo(logger, oldest!, MOST_HELD);
    letGo(oldest!);
  }

  #end(one: Finished, answer: Answered): void {
    this.#offered.delete(one);
    this.#held.delete(one);
    if ('result' in answer) this.#writer.concluded(one, answer.result);
    else this.#writer.untaken(one, answer.error);
  }
}

async function answered(write: () => Promise<SettleResult>): Promise<Answered> {
  try {
    return { result: await write() };
  } catch (error) {
    return { error };
  }
}

/**
 * A form that the store may take: a failed job with short plain texts, or the outcome with its follower in a carrier.
 * Undefined if there is no other form.
 */
function fittingForm(one: Finished, refusal: unknown, application: Following): Finished | undefined {
  const { job, outcome } = one;
  const { settlement } = outcome;
  if (settlement.outcome === 'released') {
    const error = outcomeRefused(job.name, job.id, 'released', refusal);
    return one.endingAs(shortened(followed(failed(job, error, settlement.counters), job, application)));
  }
  const carried = carriedOutcome(outcome, job, application);
  if (settlement.outcome === 'failed') return one.endingAs(shortened(carried ?? outcome));
  return carried && one.endingAs(carried);
}

function shortened(outcome: Outcome): Outcome {
  const { settlement } = outcome;
  if (settlement.outcome !== 'failed') return outcome;
  const { failure } = settlement;
  const short = { ...failure, name: plain(failure.name), exception: plain(failure.exception) };
  return { ...outcome, settlement: { ...settlement, failure: short } };
}

const plain = (text: string): string => text.slice(0, SHORT).replaceAll(/[^\n -~]/gu, '?');
