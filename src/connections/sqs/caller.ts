/**
 * Asks SQS for something within a deadline, and asks again what passes: throttling, a service or a network that is away.
 *
 * What would be done twice when it is asked twice is asked again only where nothing was carried out for certain.
 */
import { type Clock, endOfTurn, type Milliseconds, type Seconds } from '../../base/clock';
import { systemRandom } from '../../base/random';
import { foreignText } from '../../base/foreign-error';
import { QueueUnavailableError } from '../errors';
import type { SqsLink } from './client';
import { SqsQueueMissingError, SqsReplyError } from './errors';
import {
  codeOf,
  isCredentials,
  isMissingQueue,
  isPassing,
  isRegion,
  isReply,
  isUncertain,
  remedyOf,
  type Thrown,
  wordsOf,
} from './refusals';

const FIRST_PAUSE: Milliseconds = 50;
const LONGEST_PAUSE: Milliseconds = 1000;

/** What may be asked twice gets a second connection in time, should the first be one whose other end is gone. */
const SLICES = 2;

/** Part of the deadline below which it is not asked again: what is cut off may have been carried out. */
const LEAST = 1 / 5;

export interface CallerSettings {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly address: string;
  readonly clock: Clock;
  readonly deadline: Seconds;
  readonly origin?: string | undefined;
}

export interface Request {
  /** The action of the API. */
  readonly operation: string;
  /** The queue's name or URL, for people. */
  readonly queue: string;
  /** What is not done where it fails, as a clause. */
  readonly consequence: string;
  /** Asking twice does no more than asking once. */
  readonly repeatable: boolean;
  /** How long SQS itself waits before it answers. */
  readonly waits?: Seconds | undefined;
  /** Ends it from outside. */
  readonly signal?: AbortSignal | undefined;
}

export class SqsCaller {
  readonly settings: CallerSettings;
  readonly link: SqsLink;
  #underWay = 0;
  #onDone: (() => void) | undefined;

  constructor(link: SqsLink, settings: CallerSettings) {
    this.link = link;
    this.settings = settings;
  }

  /**
   * @param send asks once; called anew for each time that it is asked
   * @throws QueueUnavailableError, SqsQueueMissingError, SqsReplyError
   */
  async call<Output>(request: Request, send: (signal: AbortSignal) => Promise<Output>): Promise<Output> {
    this.#underWay += 1;
    try {
      return await this.#insist(request, send);
    } finally {
      this.#underWay -= 1;
      this.#onDone?.();
    }
  }

  /** How long to wait before asking for the `attempt`-th time, from 0. Jitter: a fleet must not come back in one instant. */
  static pauseAfter(attempt: number): Milliseconds {
    return Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 10), LONGEST_PAUSE) * (0.5 + systemRandom() / 2);
  }

  pause(milliseconds: Milliseconds): Promise<void> {
    return new Promise((resolve) => void this.settings.clock.after(milliseconds, resolve, true));
  }

  /** Resolves when nothing is under way any more, at the latest after `milliseconds`. */
  async idle(milliseconds: Milliseconds): Promise<void> {
    const { clock } = this.settings;
    const end = clock.monotonic() + milliseconds;
    while (this.#underWay > 0 && clock.monotonic() < end) {
      await new Promise<void>((resolve) => {
        const timer = clock.after(end - clock.monotonic(), resolve, true);
        this.#onDone = () => {
          timer.cancel();
          resolve();
        };
      });
    }
  }

  /** An error of one entry of a batch, or of a whole call. */
  replyError(request: Request, code: string, message: string, cause?: unknown): SqsReplyError {
    const { name: connection, address } = this.settings;
    const { operation, queue, consequence } = request;
    return new SqsReplyError(
      { connection, address, operation, queue, consequence, reply: code, message: foreignText(message) },
      { cause },
    );
  }

  async #insist<Output>(request: Request, send: (signal: AbortSignal) => Promise<Output>): Promise<Output> {
    const { clock, deadline } = this.settings;
    const span = (deadline + (request.waits ?? 0)) * 1000;
    const until = clock.monotonic() + span;
    const slice = request.repeatable && request.waits === undefined ? span / SLICES : span;
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#once(request, send, Math.min(slice, until - clock.monotonic()));
      if ('output' in answer) return answer.output;
      const { thrown, silent } = answer;
      const uncertain = silent || isUncertain(thrown);
      const pause = SqsCaller.pauseAfter(attempt);
      const late = clock.monotonic() + pause + span * LEAST >= until;
      const again = isPassing(thrown) || (uncertain && request.repeatable);
      if (!again || late || request.signal?.aborted === true) {
        throw this.#failure(request, thrown, { silent, late: late && again, uncertain });
      }
      await this.pause(pause);
    }
  }

  async #once<Output>(
    { waits, signal }: Request,
    send: (signal: AbortSignal) => Promise<Output>,
    milliseconds: Milliseconds,
  ): Promise<{ readonly output: Output } | { readonly thrown: Thrown; readonly silent: boolean }> {
    const ending = new AbortController();
    let silent = false;
    let ended = false;
    const give = (): void => ending.abort();
    const giveUp = async (): Promise<void> => {
      // What came while a job blocked the event loop is read before the silence is believed.
      await endOfTurn();
      silent = !ended;
      give();
    };
    // An unanswered call keeps the process alive, up to its deadline; one that only waits for work does not.
    const timer = this.settings.clock.after(milliseconds, () => void giveUp(), waits === undefined);
    signal?.addEventListener('abort', give);
    if (signal?.aborted === true) give();
    try {
      return { output: await send(ending.signal) };
    } catch (thrown) {
      return { thrown: thrown as Thrown, silent };
    } finally {
      ended = true;
      timer.cancel();
      signal?.removeEventListener('abort', give);
    }
  }

  #failure(
    request: Request,
    thrown: Thrown,
    { silent, late, uncertain }: { readonly silent: boolean; readonly late: boolean; readonly uncertain: boolean },
  ): Error {
    const { name: connection, address, deadline, origin } = this.settings;
    const { queue, consequence } = request;
    if (isMissingQueue(thrown)) {
      return new SqsQueueMissingError({ connection, address, queue, consequence }, { cause: thrown });
    }
    const refused = isReply(thrown) || isCredentials(thrown) || isRegion(thrown);
    if (isReply(thrown) && !isCredentials(thrown) && !isPassing(thrown) && !uncertain) {
      return this.replyError(request, codeOf(thrown), thrown.message ?? '', thrown);
    }
    const reason = silent ? undefined : wordsOf(thrown);
    const remedy = remedyOf(thrown);
    return new QueueUnavailableError(
      {
        connection,
        store: 'SQS',
        address,
        consequence,
        uncertain,
        ...(refused && { refused }),
        ...((late || silent) && { deadline }),
        ...(reason !== undefined && { reason: foreignText(reason) }),
        ...(origin !== undefined && { origin }),
        ...(remedy !== undefined && { remedy }),
      },
      { cause: thrown },
    );
  }
}
