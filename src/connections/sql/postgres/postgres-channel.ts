/**
 * Hears what is sent to a channel of PostgreSQL, by LISTEN on a connection of its own, which is made anew where it is lost: for as
 * long as somebody needs it. What is said meanwhile nobody hears.
 */
import { pauseAfter } from '../../../base/backoff';
import type { Clock, Milliseconds, Seconds, Timer } from '../../../base/clock';
import { within } from '../../kit/silence';
import { raw } from '../statement';
import { quoted } from './identifiers';
import { type PgClient, query } from './pg';

export interface ChannelSettings {
  readonly clock: Clock;
  readonly deadline: Seconds;
  readonly channel: string;
  /** A statement that tells others that somebody listens here, for as long as this connection is there. */
  readonly announcing?: string;
  /** A client of its own, not connected yet. */
  readonly connect: () => PgClient;
}

export interface ChannelEvents {
  /** Whether anybody still does. */
  readonly isNeeded: () => boolean;
  readonly heard: (payload: string | undefined) => void;
  /** What is sent from now on is heard. */
  readonly opened: () => void;
  /** It was, and is not any more. */
  readonly lost?: () => void;
}

const BACKOFF = { first: 100, longest: 5000 };

/** A connection that died unnoticed tells nothing: after so long in silence it is asked. */
const LONGEST_SILENCE: Milliseconds = 10_000;

export class PostgresChannel {
  readonly #settings: ChannelSettings;
  readonly #events: ChannelEvents;
  #client: PgClient | undefined;
  #isOpen = false;
  #heardAt: Milliseconds = 0;
  #asking = false;
  #failures = 0;
  #pause: Timer | undefined;

  constructor(settings: ChannelSettings, events: ChannelEvents) {
    this.#settings = settings;
    this.#events = events;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sees to it that there is a connection, and that it lives. */
  keep(): void {
    if (this.#client === undefined) {
      if (this.#pause === undefined) this.#listen();
    } else if (!this.#asking && this.#settings.clock.monotonic() - this.#heardAt > LONGEST_SILENCE) {
      void this.#ask(this.#client, 'SELECT 1');
    }
  }

  drop(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    const client = this.#client;
    this.#client = undefined;
    this.#isOpen = false;
    if (client !== undefined) end(client);
  }

  #listen(): void {
    const { clock, connect, channel, announcing = '' } = this.#settings;
    const client = connect();
    this.#client = client;
    client.on('notification', ({ payload }) => {
      this.#heardAt = clock.monotonic();
      this.#events.heard(payload);
    });
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    const listening = client.connect().then(() => client.unref());
    void this.#ask(client, `LISTEN ${quoted(channel)};${announcing}`, listening).then((listens) => {
      if (!listens) return;
      this.#failures = 0;
      this.#isOpen = true;
      this.#events.opened();
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
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    if (wasOpen) this.#events.lost?.();
    if (!this.#events.isNeeded()) return;
    this.#failures += 1;
    this.#pause = this.#settings.clock.after(pauseAfter(this.#failures - 1, BACKOFF), () => {
      this.#pause = undefined;
      if (this.#events.isNeeded()) this.#listen();
    });
  }
}

/** Not by a farewell alone: a silent server does not close its end. */
function end(client: PgClient): void {
  client.end().catch(() => undefined);
  client.connection?.stream?.destroy();
}
