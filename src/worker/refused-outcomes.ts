/**
 * Outcomes that the store refuses while it serves: they are offered again apart from the others, which go on.
 *
 * What is refused three times is refused for good. A job that failed, or was to run again, is then kept as failed with what
 * fits; where a job follows in another queue, that may be what is refused, and waits in a carrier. One that is done must not look as if it had failed, so its outcome is held, as is one that fits in no form: its
 * lease goes on, and it is offered again now and then. It is neither lost, nor run a second time while its worker lives.
 */
import { pauseAfter, sleep } from '../base/backoff';
import type { Clock, Seconds } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import type { Logger } from '../base/logger';
import type { Connection, Settlement, SettleResult } from '../connections/contract';
import type { Counters } from '../payload/counters';
import { isStoreAway } from '../connections/errors';
import { outcomeRefused } from './errors';
import type { Idle } from './idle';
import { logHeld, logLetGo, logRefused } from './job-log';
import { isStillOurs } from './kept-failures';
import { carriedOutcome, followed, type Following } from './follow-ups';
import { failed } from './outcome';
import type { Outcome, RunningJob } from './running-job';
import type { Finished } from './runs';

const BACKOFF = { first: 250, longest: 60_000 };

/** The first is the one that brought it here. */
const OFFERS = 3;

/** So many may be refused in a row: when the store takes none at all, no further job is run for it. */
const LEAST_STREAK = 10;

/** Each holds its payload; who comes first goes first. */
const MOST_HELD = 1000;

/** Characters of an exception that was too long, or held what the store has no character for. */
const SHORT = 500;

export interface RefusedOutcomesSettings {
  readonly application: Following;
  readonly connection: Connection;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lease: Seconds;
  readonly concurrency: number;
  readonly idle: Idle;
  /** Settles it, and keeps a failure elsewhere before where it goes there. @throws what a store throws */
  readonly write: (one: Finished) => Promise<SettleResult>;
  /** Where the store can set a failed job aside in itself, whatever the failed store says. @throws what the store throws */
  readonly bury: ((settlement: Settlement) => Promise<SettleResult>) | undefined;
  readonly concluded: (one: Finished, result: SettleResult) => void;
  /** It is offered no longer: the job comes back when its lease ends. */
  readonly letGo: (one: Finished) => void;
  /** The store is away, as far as we know: they are to be settled again, with all others. */
  readonly untaken: (finished: readonly Finished[], error: unknown) => void;
}

type Answered = { readonly result: SettleResult } | { readonly error: unknown };

export class RefusedOutcomes {
  readonly #settings: RefusedOutcomesSettings;
  readonly #offered = new Set<Finished>();
  readonly #held = new Set<Finished>();
  #streak = 0;
  #lastMessage: string | undefined;

  constructor(settings: RefusedOutcomesSettings) {
    this.#settings = settings;
  }

  /** Those that may be taken yet, in one form or another, within a second or two. */
  get offered(): number {
    return this.#offered.size;
  }

  /** Those that are refused for good. */
  get held(): number {
    return this.#held.size;
  }

  /** What the last one was refused with. */
  get lastMessage(): string | undefined {
    return this.#lastMessage;
  }

  /** The store has taken an outcome: what it refuses is not all. */
  taken(): void {
    this.#streak = 0;
  }

  /** @param error what the store refused it with, alone or among others */
  take(one: Finished, error: unknown): void {
    const { concurrency, untaken } = this.#settings;
    this.#lastMessage = errorMessage(error);
    this.#streak += 1;
    if (this.#streak > Math.max(LEAST_STREAK, concurrency)) return untaken([one], error);
    this.#offered.add(one);
    void this.#insist(one, error);
  }

  /** The worker has ended: leases are renewed no longer, so that nothing more may be offered. */
  close(): void {
    this.#offered.clear();
    this.#held.clear();
  }

  async #insist(one: Finished, error: unknown): Promise<void> {
    const { clock, write } = this.#settings;
    let refusal = error;
    for (let offers = 1; ; offers += 1) {
      if (offers === OFFERS) {
        // A store that renews the lease of this very job serves: what it refuses is the outcome.
        const end = await this.#isLost(one);
        if (end !== undefined) return this.#end(one, end);
        if (await this.#keepWhatFits(one, refusal)) return;
        this.#hold(one, refusal);
      }
      await sleep(clock, pauseAfter(offers - 1, BACKOFF), false);
      if (!this.#offered.has(one) && !this.#held.has(one)) return;
      const answer = await answered(() => write(one));
      if ('result' in answer || isStoreAway(answer.error)) return this.#end(one, answer);
      refusal = answer.error;
    }
  }

  /** Undefined: it is still ours. */
  async #isLost({ job: { reservation } }: Finished): Promise<Answered | undefined> {
    const { connection, lease } = this.#settings;
    try {
      return (await isStillOurs(connection, reservation, lease)) ? undefined : { result: 'lost' };
    } catch (error) {
      return { error };
    }
  }

  /** False: the store takes it in no form. */
  async #keepWhatFits(one: Finished, refusal: unknown): Promise<boolean> {
    const fitting = fittingForm(one, refusal, this.#settings.application);
    if (fitting === undefined) return false;
    const { write, bury, logger, concluded } = this.#settings;
    const { settlement } = fitting.outcome;
    const isFailed = settlement.outcome === 'failed';
    const kept = await answered(() => write(fitting));
    const answer = 'error' in kept && isFailed && bury !== undefined ? await answered(() => bury(settlement)) : kept;
    if ('error' in answer) return false;
    logRefused(logger, one, refusal, answer !== kept ? 'buried' : isFailed ? 'kept' : 'carried');
    this.#offered.delete(one);
    concluded(fitting, answer.result);
    return true;
  }

  #hold(one: Finished, refusal: unknown): void {
    const { logger, letGo, idle } = this.#settings;
    this.#offered.delete(one);
    this.#held.add(one);
    // Nobody waits for it any more: a worker that has run its last job ends.
    idle.ring();
    logHeld(logger, one, refusal);
    const [oldest] = this.#held;
    if (this.#held.size <= MOST_HELD) return;
    this.#held.delete(oldest!);
    logLetGo(logger, oldest!, MOST_HELD);
    letGo(oldest!);
  }

  #end(one: Finished, answer: Answered): void {
    const { concluded, untaken } = this.#settings;
    this.#offered.delete(one);
    this.#held.delete(one);
    if ('result' in answer) concluded(one, answer.result);
    else untaken([one], answer.error);
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
 * In a form that the store may take: as a failed job, with texts that are short and plain, or with what follows it in a
 * carrier. Undefined: there is no other.
 */
function fittingForm(one: Finished, refusal: unknown, application: Following): Finished | undefined {
  const { job, outcome } = one;
  const { settlement } = outcome;
  if (settlement.outcome === 'released') {
    const made = followed(refusedOf(job, refusal, settlement.counters), job, application);
    return one.endingAs(shortened(made));
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

const refusedOf = (job: RunningJob, refusal: unknown, counters: Counters): Outcome =>
  failed(job, outcomeRefused(job.name, job.id, 'released', refusal), counters);

const plain = (text: string): string => text.slice(0, SHORT).replaceAll(/[^\n -~]/gu, '?');
