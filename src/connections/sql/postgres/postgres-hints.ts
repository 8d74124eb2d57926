/**
 * Wakes the waiting workers of this process by LISTEN, on one connection for all of them: the functions of the database send
 * the hints.
 *
 * A hint that comes while nobody waits is kept for the next wait. Whenever the connection was made anew, everybody looks:
 * what was said meanwhile nobody heard. Where it cannot be made, workers look by themselves every other second.
 */
import { pauseAfter } from '../../../base/backoff';
import type { Clock, Milliseconds, Seconds, Timer } from '../../../base/clock';
import type { Waiter } from '../../contract';
import type { Waiters } from '../dialect';
import { within } from '../../kit/silence';
import { HintWaiters } from '../server/hint-waiters';
import { quoted } from './identifiers';
import { type PgClient, query } from './pg';
import { raw } from '../statement';

export interface HintSettings {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly clock: Clock;
  readonly deadline: Seconds;
  readonly channel: string;
  /** A client of its own, not connected yet. */
  readonly connect: () => PgClient;
}

const BACKOFF = { first: 100, longest: 5000 };

/** A connection that died unnoticed gives no hints: after so long in silence it is asked. */
const LONGEST_SILENCE: Milliseconds = 10_000;

export class PostgresHints implements Waiters {
  readonly #settings: HintSettings;
  readonly #waiters: HintWaiters;
  #client: PgClient | undefined;
  #heardAt: Milliseconds = 0;
  #asking = false;
  #failures = 0;
  #pause: Timer | undefined;

  constructor(settings: HintSettings) {
    this.#settings = settings;
    this.#waiters = new HintWaiters(settings.name, settings.clock);
  }

  open(queues: readonly string[]): Waiter {
    return this.#waiters.open(queues, {
      listen: () => {
        this.#keep();
        return () => undefined;
      },
      left: () => {
        if (this.#waiters.size === 0) this.#drop();
      },
    });
  }

  async close(): Promise<void> {
    await this.#waiters.close();
    this.#drop();
  }

  /** Sees to it that there is a connection, and that it lives. */
  #keep(): void {
    if (this.#client === undefined) {
      if (this.#pause === undefined) this.#listen();
    } else if (!this.#asking && this.#settings.clock.monotonic() - this.#heardAt > LONGEST_SILENCE) {
      void this.#ask(this.#client, 'SELECT 1');
    }
  }

  #listen(): void {
    const { connect, channel } = this.#settings;
    const client = connect();
    this.#client = client;
    client.on('notification', ({ payload }) => {
      this.#heardAt = this.#settings.clock.monotonic();
      this.#waiters.hint(payload);
    });
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    const listening = client.connect().then(() => client.unref());
    void this.#ask(client, `LISTEN ${quoted(channel)}`, listening).then((listens) => {
      if (!listens) return;
      this.#failures = 0;
      this.#waiters.hint();
    });
  }

  /** False: there was no answer, and the connection is given up. */
  async #ask(client: PgClient, text: string, before: Promise<void> = Promise.resolve()): Promise<boolean> {
    const { clock, deadline } = this.#settings;
    this.#asking = true;
    try {
      const asked = before.then(() => query(client, raw(text)));
      await within(clock, deadline * 1000, asked, false);
      this.#heardAt = clock.monotonic();
      return this.#client === client;
    } catch {
      this.#lose(client);
      return false;
    } finally {
      this.#asking = false;
    }
  }

  #lose(client: PgClient): void {
    end(client);
    if (this.#client !== client) return;
    this.#client = undefined;
    if (this.#waiters.size === 0) return;
    this.#failures += 1;
    this.#pause = this.#settings.clock.after(pauseAfter(this.#failures - 1, BACKOFF), () => {
      this.#pause = undefined;
      this.#listen();
    });
  }

  #drop(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) end(client);
  }
}

/** Not by a farewell alone: a silent server does not close its end. */
function end(client: PgClient): void {
  client.end().catch(() => undefined);
  client.connection?.stream?.destroy();
}
