/** Runs work on a database server. A connection that fails or goes silent is replaced by another one from the pool. */
import { withConsequence, OnqueueError } from '../../../base/onqueue-error';
import { StoreClock, Silence, within, type Milliseconds } from '../../../base/clock';
import { wordsOf } from '../../../base/foreign-error';
import {
  isUnknownHost,
  StoreCaller,
  type CallFailure,
  type CallerSettings as KitSettings,
  type Purpose as KitPurpose,
  type Verdict,
} from '../../kit/caller';
import type { Dialect, Trouble } from '../dialect';
import { type Engine, type Purpose, Database } from '../database';
import { BrokenTransaction, perform, type SqlSession, type Work } from '../statement';
import { ConnectionClosedError } from '../../errors';
import { databaseRefused, notMigrated } from '../errors';
import type { OpenContext } from '../opening';
import { timeOf } from '../jobs';
import { SqlConnection } from '../connection';
import { ServerTables, type Schema } from './tables';

export type ErrorReader = Pick<Dialect, 'trouble' | 'remedy'>;

/** A connection taken from a pool. */
export interface SqlClient extends SqlSession {
  /** The package's own client: the same object whenever the pool returns the same connection. */
  readonly identity: object;
  /** Returns it to the pool. Call it once. `broken`: the connection is ended, as later answers may not be ours. */
  release(broken: boolean): void;
}

export interface SqlPool {
  /** Rejects if no connection can be made. */
  acquire(): Promise<SqlClient>;
  /** Ends the connections; a pool of the user's is left as it is. */
  close(): Promise<void>;
}

export interface CallerSettings extends KitSettings {
  /** For display: `PostgreSQL`. */
  readonly product: string;
  readonly errors: ErrorReader;
  readonly pool: SqlPool;
}

type Asked = Purpose & KitPurpose;

/** There was no connection, so nothing was sent. */
class Unsent extends Error {}

/** The pool gave no connection in time: all are in use, or the server is away. */
class SilentPool extends Silence {}

const SILENT = 'Is it running, and does nobody keep its tables locked?';
const SEE_LOG = 'See the log of the server.';
const NO_CONNECTION = 'Is it running, and does its pool have a free connection?';

export class ServerCaller extends StoreCaller<Asked> implements Engine {
  protected readonly store: string;
  readonly #errors: ErrorReader;
  readonly #pool: SqlPool;
  /** When each connection last answered, by the monotonic clock. */
  readonly #heardAt = new WeakMap<object, Milliseconds>();
  /** Connections that have not answered since then are not trusted: what broke one may have broken all. */
  #doubted: Milliseconds = -Infinity;
  #closed = false;

  constructor({ product, errors, pool, ...settings }: CallerSettings) {
    super(settings);
    this.store = product;
    this.#errors = errors;
    this.#pool = pool;
  }

  /**
   * @throws ConnectionClosedError, QueueUnavailableError, E_DATABASE_NOT_MIGRATED, E_DATABASE_REFUSED, and errors of ours that
   * the work throws
   */
  async run<T>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    if (this.#closed) throw new ConnectionClosedError(this.settings.name, 'a call');
    const asked = { ...purpose, repeatable: purpose.writes !== 'once' };
    return this.insist(asked, (milliseconds) => this.#attempt(work, milliseconds));
  }

  /** Ends the connections once calls under way have ended, at the latest after the deadline. */
  async close(): Promise<void> {
    await this.idle();
    // Not before: a call under way may have looked at the tables only.
    this.#closed = true;
    const { clock, deadline } = this.settings;
    await within(clock, deadline * 1000, this.#pool.close()).catch(() => undefined);
  }

  protected verdictOn(error: unknown, { writes }: Asked): Verdict {
    if (error instanceof OnqueueError) return 'final';
    const { cause, sent } = unwrapped(error);
    const trouble = this.#troubleOf(cause);
    if (trouble === 'passing') return 'passing';
    if (trouble !== 'gone' || isUnknownHost(cause)) return 'final';
    return sent && writes !== undefined ? 'lost' : 'passing';
  }

  protected explain({ error, late, uncertain }: CallFailure, { consequence, deadline }: Asked): Error {
    if (error instanceof OnqueueError) return withConsequence(error, consequence) as Error;
    const { name: connection, address } = this.settings;
    const { cause, sent } = unwrapped(error);
    const trouble = this.#troubleOf(cause);
    if (trouble === 'unmigrated') return notMigrated({ connection, address, consequence }, { cause });
    const isSilent = cause instanceof Silence;
    const remedy = isSilent ? undefined : this.#errors.remedy?.(cause);
    if (trouble === 'unfit') {
      const facts = { connection, address, reply: wordsOf(cause) ?? 'without a reason', consequence, remedy };
      return databaseRefused(facts, { cause });
    }
    return this.unavailable({
      consequence,
      error: cause,
      late,
      uncertain,
      refused: trouble !== 'gone',
      deadline,
      remedy: remedy ?? (isSilent ? (sent ? SILENT : NO_CONNECTION) : trouble === 'gone' ? undefined : SEE_LOG),
    });
  }

  #troubleOf(error: unknown): Trouble {
    return error instanceof Silence ? 'gone' : this.#errors.trouble(error);
  }

  async #attempt<T>(work: () => Work<T>, milliseconds: Milliseconds): Promise<T> {
    const { clock } = this.settings;
    const until = clock.monotonic() + milliseconds;
    const client = await this.#acquire(until);
    let broken = true;
    try {
      const value = await within(clock, until - clock.monotonic(), perform(client, work()));
      this.#heardAt.set(client.identity, clock.monotonic());
      broken = false;
      return value;
    } catch (error) {
      if (error instanceof Silence) this.#doubted = clock.monotonic();
      if (error instanceof BrokenTransaction) throw error.cause;
      broken = !this.#isRefusal(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Whether only the statement was refused; then the connection is still good. */
  #isRefusal(error: unknown): boolean {
    if (error instanceof OnqueueError) return true;
    const trouble = this.#troubleOf(error);
    return trouble === 'refused' || trouble === 'unfit' || trouble === 'unmigrated';
  }

  async #acquire(until: Milliseconds): Promise<SqlClient> {
    const { clock } = this.settings;
    for (;;) {
      const acquiring = this.#pool.acquire();
      let client: SqlClient;
      try {
        client = await within(clock, until - clock.monotonic(), acquiring);
      } catch (cause) {
        if (!(cause instanceof Silence)) throw new Unsent('no connection was had', { cause });
        // It may still come, but nobody waits for it any more.
        acquiring.then(
          (late) => late.release(false),
          () => undefined,
        );
        throw new SilentPool();
      }
      if ((this.#heardAt.get(client.identity) ?? Infinity) >= this.#doubted) return client;
      client.release(true);
    }
  }
}

function unwrapped(error: unknown): { readonly cause: unknown; readonly sent: boolean } {
  if (error instanceof Unsent) return { cause: error.cause, sent: false };
  return { cause: error, sent: !(error instanceof SilentPool) };
}

/** Enough for a worker, the renewal of its leases, and dispatches. */
export const MOST_CONNECTIONS = 5;

/** A host that drops packets must not use up the deadline of a dispatch. */
export const connectTimeout = ({ deadline }: Pick<OpenContext, 'deadline'>): Milliseconds =>
  Math.min(2, deadline / 2) * 1000;

interface ServerParts
  extends Pick<Database, 'address' | 'dialect' | 'waiters'>, Pick<CallerSettings, 'product' | 'pool'> {
  readonly context: OpenContext;
  readonly schema: Schema;
}

/** Makes the connection to a database server from the parts of its dialect and driver. */
export function serverConnection(parts: ServerParts): SqlConnection {
  const { context, schema, product, pool, address, dialect, waiters } = parts;
  const { name, clock, logger, deadline, origin, threadAccess } = context;
  const caller = new ServerCaller({ name, address, clock, deadline, origin, product, errors: dialect, pool });
  const tables = new ServerTables(schema, caller, logger);
  const storeClock = new StoreClock(clock);
  const ask = async (): Promise<number> =>
    (await caller.run({ consequence: 'the time of the server was not read' }, () => timeOf(dialect))) * 1000;
  return new SqlConnection(new Database(name, address, dialect, caller, tables, waiters), {
    clock,
    threadAccess,
    now: () => storeClock.current(ask),
  });
}
