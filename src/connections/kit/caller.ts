/**
 * Calls a store within a deadline, and repeats the call as long as that may help and can do no harm.
 *
 * Each driver says what its errors mean and how a failure is reported. When to repeat is decided here, once.
 */
import {
  pauseAfter,
  sleep,
  endOfTurn,
  Silence,
  within,
  type Milliseconds,
  type Seconds,
  type Clock,
} from '../../base/clock';
import { wordsOf } from '../../base/foreign-error';
import type { ConnectorContext } from '../driver';
import { QueueUnavailableError, type Unavailability } from '../errors';
import { hasty, isConnectionRefused, unlessRefused } from './haste';

export interface CallerSettings
  extends Pick<ConnectorContext, 'name' | 'clock' | 'deadline'>, Partial<Pick<ConnectorContext, 'origin'>> {
  /** For display: without a password. */
  readonly address: string;
}

/** What a call is for. */
export interface Purpose {
  /** What is not done if the call fails, as a clause: `2 jobs were not queued`. */
  readonly consequence: string;
  /** Asking twice has the same effect as asking once, so the call is repeated if its answer was lost. */
  readonly repeatable?: boolean | undefined;
  /** Default: the connection's deadline. */
  readonly deadline?: Seconds | undefined;
  /** When the deadline starts, by the monotonic clock. Default: now. */
  readonly since?: Milliseconds | undefined;
  /** How long the store itself may wait before it answers: a long poll. */
  readonly waits?: Seconds | undefined;
}

/**
 * What a failed attempt means. `passing`: nothing was done, and it may work in a moment. `anew`: nothing was done, and it works at
 * once in another form. `lost`: it may have been done, and its answer will not come. `final`: asking again does not help.
 */
export type Verdict = 'passing' | 'anew' | 'lost' | 'final';

/** Why a call was given up. */
export interface CallFailure {
  /** The error of the last attempt that was not silent, which says more than silence. `Silence` if all were silent. */
  readonly error: unknown;
  readonly verdict: Verdict;
  /** The call was repeated until the deadline. */
  readonly late: boolean;
  /** One of the attempts may have been carried out. */
  readonly uncertain: boolean;
}

export interface Absence
  extends
    Pick<Unavailability, 'consequence' | 'deadline' | 'refused' | 'reason' | 'remedy'>,
    Partial<Pick<CallFailure, 'error' | 'late' | 'uncertain'>> {
  /** Which of the store's servers. Default: the address of the connection. */
  readonly address?: string | undefined;
}

/** Asking again cannot help until somebody fixes the name. */
export function isUnknownHost(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null | undefined)?.code === 'ENOTFOUND';
}

/** How ioredis, pg and mysql2 tell that no TLS came about. A server that ends in between sounds the same. */
const WITHOUT_TLS = /before secure TLS connection|not support (?:SSL|secure) connection/;

/** The remedy if there is no connection, where its error suggests one. */
export function remedyOfConnecting(error: unknown): string | undefined {
  if (isUnknownHost(error)) return 'Check the name of its host.';
  return WITHOUT_TLS.test(wordsOf(error) ?? '') ? 'Is it running, and does it speak TLS on this port?' : undefined;
}

const BACKOFF = { first: 20, longest: 1000 };

/**
 * Attempts within a deadline: a connection that died unnoticed is given up early enough for another one to answer in time.
 */
export const ATTEMPTS_IN_SILENCE = 2;

/** An attempt with less time than this would only be cut off, and leave a doubt. */
export const SHORTEST_ATTEMPT: Milliseconds = 50;

export abstract class StoreCaller<Wanted extends Purpose = Purpose> {
  /** For display: `SQS`. */
  protected abstract readonly store: string;
  readonly settings: CallerSettings;
  readonly #shortestAttempt: Milliseconds;
  readonly #underWay = new CallsUnderWay();

  constructor(settings: CallerSettings, shortestAttempt = SHORTEST_ATTEMPT) {
    this.settings = settings;
    this.#shortestAttempt = shortestAttempt;
  }

  protected abstract verdictOn(error: unknown, purpose: Wanted): Verdict;

  protected abstract explain(failure: CallFailure, purpose: Wanted): Error;

  /** Why a client that connects by itself has no connection. */
  protected get unconnected(): unknown {
    return undefined;
  }

  /** Whether to continue despite the failure, with a new deadline if this one has passed. */
  protected asksOn(_failure: CallFailure, _error: Error, _purpose: Wanted): boolean {
    return false;
  }

  /** Called once for each call: it was answered, or given up. */
  protected ended(_purpose: Wanted, _isAnswered: boolean): void {}

  /**
   * @param attempt asks once, and rejects with `Silence` if no answer came within `milliseconds`
   * @throws what `explain` makes of a failure
   */
  protected async insist<T>(purpose: Wanted, attempt: (milliseconds: Milliseconds) => Promise<T>): Promise<T> {
    const { clock } = this.settings;
    const { repeatable = false, waits = 0 } = purpose;
    const deadline = (purpose.deadline ?? this.settings.deadline) * 1000;
    let until = (purpose.since ?? clock.monotonic()) + deadline + waits * 1000;
    const patience = waits * 1000 + (repeatable ? deadline / ATTEMPTS_IN_SILENCE : deadline);
    let uncertain = false;
    let isAnswered = false;
    let told: unknown;
    const isHasty = hasty.getStore() === true;
    this.#underWay.begin();
    try {
      for (let count = 0; ; count += 1) {
        try {
          const asked = attempt(Math.min(patience, until - clock.monotonic()));
          const answer = await (isHasty ? unlessRefused(clock, asked, () => this.unconnected) : asked);
          isAnswered = true;
          return answer;
        } catch (error) {
          const isSilent = error instanceof Silence;
          if (!isSilent) told = error;
          const verdict = this.verdictOn(error, purpose);
          if (verdict === 'anew') continue;
          uncertain ||= verdict === 'lost';
          const again =
            (verdict === 'passing' || (verdict === 'lost' && repeatable)) && !(isHasty && isConnectionRefused(error));
          const endsWithin = (pause: Milliseconds): boolean =>
            clock.monotonic() + pause + this.#shortestAttempt + waits * 1000 >= until;
          const giveUp = (pause: Milliseconds): void => {
            const failure = { error: told ?? error, verdict, late: isSilent || again, uncertain };
            const explained = this.explain(failure, purpose);
            if (!this.asksOn(failure, explained, purpose)) throw explained;
            if (endsWithin(pause)) until = clock.monotonic() + pause + deadline;
          };
          const pause = pauseAfter(count, BACKOFF);
          if (!again || endsWithin(pause)) giveUp(pause);
          await sleep(clock, pause);
          // A busy machine or a job that blocks the event loop may make the pause longer.
          if (endsWithin(0)) giveUp(0);
        }
      }
    } finally {
      this.#underWay.end();
      this.ended(purpose, isAnswered);
    }
  }

  /** Counts a call that is made by itself as under way. */
  track<T>(call: Promise<T>): Promise<T> {
    return this.#underWay.track(call);
  }

  /** Resolves when nothing is under way any more, at the latest after the deadline. */
  idle(): Promise<void> {
    const { clock, deadline } = this.settings;
    return this.#underWay.idle(clock, deadline * 1000);
  }

  /** The error for a store that is away or does not serve us. */
  unavailable(absence: Absence): QueueUnavailableError {
    const { name, origin } = this.settings;
    const {
      consequence,
      address = this.settings.address,
      error,
      late,
      uncertain = false,
      refused,
      reason,
      remedy,
    } = absence;
    const deadline = absence.deadline ?? this.settings.deadline;
    const cause = error instanceof Silence ? undefined : error;
    const said = reason ?? wordsOf(cause);
    const help = remedyOfConnecting(cause) ?? remedy;
    return new QueueUnavailableError(
      {
        connection: name,
        store: this.store,
        address,
        consequence,
        uncertain,
        ...(refused === true && { refused }),
        ...((late === true || error instanceof Silence) && { deadline }),
        ...(said !== undefined && { reason: said }),
        ...(origin !== undefined && { origin }),
        ...(help !== undefined && { remedy: help }),
      },
      { cause },
    );
  }
}

/** Counts unanswered calls: a connection that closes waits for them. */
export class CallsUnderWay {
  #count = 0;
  #idle: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#idle?.();
  }

  track<T>(call: Promise<T>): Promise<T> {
    this.begin();
    const end = (): void => this.end();
    call.then(end, end);
    return call;
  }

  /** Resolves when nothing is under way any more, at the latest after `milliseconds`. */
  async idle(clock: Clock, milliseconds: Milliseconds): Promise<void> {
    const end = clock.monotonic() + milliseconds;
    while (this.#count > 0 && clock.monotonic() < end) {
      const idle = new Promise<void>((resolve) => (this.#idle = resolve));
      await within(clock, end - clock.monotonic(), idle).catch(() => undefined);
      // Calls that waited for the last answer are sent now.
      await endOfTurn();
    }
  }
}
