/**
 * Carries calls out on a database server, each within a deadline, whatever becomes of the connections meanwhile.
 *
 * What was not carried out for certain is asked again until the deadline. What may have been is asked again only where a
 * repetition does no harm; otherwise the error says that it is uncertain.
 */
import { wordsOf } from '../../../base/foreign-error';
import { type Clock, endOfTurn, type Milliseconds, type Seconds } from '../../../base/clock';
import { systemRandom } from '../../../base/random';
import { OnqueueError } from '../../../base/onqueue-error';
import { QueueUnavailableError } from '../../errors';
import { isUnknownHost, UNKNOWN_HOST_REMEDY } from '../../kit/unknown-host';
import { withConsequence } from '../../../base/define-error';
import { notMigrated, databaseRefused } from '../errors';
import type { Engine, Purpose } from '../engine';
import { BrokenTransaction, perform, type SqlSession, type Work } from '../statement';

/**
 * `gone`: the connection ended, or could not be made; what was sent may have been carried out.
 * `passing`: it was not carried out, and will be when it is asked again: a deadlock, a server that starts.
 * `unmigrated`: a table, a column or a function of ours is not there.
 * `unfit`: what was to be written is refused for itself; something else would be taken.
 * `refused`: it was not carried out, and asking again does not help.
 */
export type Trouble = 'gone' | 'passing' | 'unmigrated' | 'unfit' | 'refused';

export interface ErrorReader {
  trouble(error: unknown): Trouble;
  /** What somebody can do about it, as a sentence. */
  remedy(error: unknown): string | undefined;
}

/** A connection that was taken out of a pool. */
export interface SqlClient extends SqlSession {
  /** The client of the package itself: the same object whenever the pool gives the same connection. */
  readonly identity: object;
  /** Back to the pool, once. `broken`: whatever it answers next is not for us; it is ended. */
  release(broken: boolean): void;
}

export interface SqlPool {
  /** Rejects where no connection can be made. */
  acquire(): Promise<SqlClient>;
  /** Ends the connections; a pool of the user's own is left as it is. */
  close(): Promise<void>;
}

export interface CallerSettings {
  /** The connection's name in the configuration. */
  readonly name: string;
  /** For people: without a password. */
  readonly address: string;
  readonly clock: Clock;
  readonly deadline: Seconds;
  readonly origin: string | undefined;
  /** For people: `PostgreSQL`. */
  readonly product: string;
  readonly errors: ErrorReader;
  readonly pool: SqlPool;
}

/** A connection that has died unnoticed is given up early enough for another one to answer within the deadline. */
const ATTEMPTS_IN_SILENCE = 2;
const FIRST_PAUSE: Milliseconds = 20;
const LONGEST_PAUSE: Milliseconds = 500;

const SILENCE = Symbol('silence');

/** Nothing was sent: a pool whose connections are all in use is as silent as a server that is away. */
const NO_CONNECTION = 'Is it running, and has its pool a connection to spare?';

interface Failure {
  readonly error: unknown;
  readonly sent: boolean;
  readonly trouble: Trouble;
  readonly uncertain: boolean;
  /** How long it was asked for; undefined: it was not asked again. */
  readonly deadline: Seconds | undefined;
}

export class ServerCaller implements Engine {
  readonly settings: CallerSettings;
  /** When each connection was last heard of, by the monotonic clock. */
  readonly #heardAt = new WeakMap<object, Milliseconds>();
  /** Connections that were silent since before then are not trusted: what broke one of them broke all. */
  #doubted: Milliseconds = -Infinity;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(settings: CallerSettings) {
    this.settings = settings;
  }

  /**
   * `work` may be called again, on another connection.
   *
   * @throws QueueUnavailableError, E_DATABASE_NOT_MIGRATED, and errors of ours that `work` throws
   */
  run<T>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    const call = this.#insist(purpose, work);
    this.#underWay.add(call);
    const done = (): void => void this.#underWay.delete(call);
    call.then(done, done);
    return call;
  }

  /** Ends the connections, once what is under way has ended; at the latest after the deadline. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    const { clock, deadline, pool } = this.settings;
    const ended = pool.close();
    await within(clock, deadline * 1000, ended).catch(() => undefined);
  }

  async #insist<T>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    const { clock, errors } = this.settings;
    const { consequence, writes, deadline = this.settings.deadline } = purpose;
    const end = clock.monotonic() + deadline * 1000;
    const patience = (deadline * 1000) / (writes === 'once' ? 1 : ATTEMPTS_IN_SILENCE);
    let uncertain = false;
    // What the server said last says more than the silence of an attempt that the deadline has cut short.
    let said: unknown = SILENCE;
    for (let attempt = 0; ; attempt += 1) {
      const until = Math.min(clock.monotonic() + patience, end);
      const outcome = await this.#attempt(work, until);
      if ('value' in outcome) return outcome.value;
      const { error, sent } = outcome;
      if (error instanceof OnqueueError) throw withConsequence(error, consequence);
      const trouble = error === SILENCE ? 'gone' : errors.trouble(error);
      if (trouble === 'passing') said = error;
      uncertain ||= sent && trouble === 'gone' && writes !== undefined;
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 10), LONGEST_PAUSE) * (0.5 + systemRandom() / 2);
      const again =
        trouble === 'passing' || (trouble === 'gone' && !isUnknownHost(error) && !(uncertain && writes === 'once'));
      const late = clock.monotonic() + pause >= end;
      if (late || !again) {
        const reason = error === SILENCE ? said : error;
        throw this.#explain(
          { error: reason, sent, trouble, uncertain, deadline: again ? deadline : undefined },
          consequence,
        );
      }
      await new Promise<void>((resolve) => void clock.after(pause, resolve, true));
    }
  }

  async #attempt<T>(
    work: () => Work<T>,
    until: Milliseconds,
  ): Promise<{ readonly value: T } | { readonly error: unknown; readonly sent: boolean }> {
    const { clock } = this.settings;
    let client: SqlClient | undefined;
    let broken = true;
    try {
      client = await this.#acquire(until);
      const value = await within(clock, until - clock.monotonic(), perform(client, work()));
      this.#heardAt.set(client.identity, clock.monotonic());
      broken = false;
      return { value };
    } catch (error) {
      if (error === SILENCE && client !== undefined) this.#doubted = clock.monotonic();
      broken = error === SILENCE || error instanceof BrokenTransaction || !this.#isRefusal(error);
      return { error: error instanceof BrokenTransaction ? error.cause : error, sent: client !== undefined };
    } finally {
      client?.release(broken);
    }
  }

  /** Refused by a statement: the connection is as good as before. */
  #isRefusal(error: unknown): boolean {
    if (error instanceof OnqueueError) return true;
    const trouble = this.settings.errors.trouble(error);
    return trouble === 'refused' || trouble === 'unfit' || trouble === 'unmigrated';
  }

  async #acquire(until: Milliseconds): Promise<SqlClient> {
    const { clock, pool } = this.settings;
    for (;;) {
      const acquiring = pool.acquire();
      let client: SqlClient;
      try {
        client = await within(clock, until - clock.monotonic(), acquiring);
      } catch (error) {
        // It may come yet; nobody waits for it any more.
        if (error === SILENCE)
          acquiring.then(
            (late) => late.release(false),
            () => undefined,
          );
        throw error;
      }
      if ((this.#heardAt.get(client.identity) ?? Infinity) >= this.#doubted) return client;
      client.release(true);
    }
  }

  #explain({ error, sent, trouble, uncertain, deadline }: Failure, consequence: string): Error {
    const { name, address, origin, product, errors } = this.settings;
    const cause = error === SILENCE ? undefined : error;
    const reason = wordsOf(cause);
    if (trouble === 'unmigrated') return notMigrated({ connection: name, address, consequence }, { cause });
    if (trouble === 'unfit') {
      const facts = { connection: name, address, reply: reason ?? 'without a reason', consequence };
      return databaseRefused(facts, { cause });
    }
    const known = isUnknownHost(error) ? UNKNOWN_HOST_REMEDY : errors.remedy(error);
    const remedy = known ?? (cause === undefined && !sent ? NO_CONNECTION : undefined);
    return new QueueUnavailableError(
      {
        connection: name,
        store: product,
        address,
        consequence,
        uncertain,
        ...(trouble !== 'gone' && { refused: true }),
        ...(deadline !== undefined && { deadline }),
        ...(reason !== undefined && { reason }),
        ...(origin !== undefined && { origin }),
        ...(remedy !== undefined && { remedy }),
      },
      { cause },
    );
  }
}

/** Rejects with `SILENCE` after `milliseconds`. An unanswered call keeps the process alive, up to then. */
function within<T>(clock: Clock, milliseconds: Milliseconds, promise: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // What came while a job blocked the event loop is read before the silence is believed.
    const silent = (): void => void endOfTurn().then(() => reject(SILENCE));
    const timer = clock.after(Math.max(milliseconds, 0), silent, true);
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
