/**
 * Listens to a channel of PostgreSQL, with LISTEN on a connection of its own. A lost connection is replaced for as long as
 * somebody needs it; messages sent meanwhile are missed.
 */
import { pauseAfter, type Clock, type Milliseconds, type Seconds, type Timer } from '../../../base/clock';
import { within } from '../../kit/caller';
import { raw } from '../statement';
import { quoted } from './identifiers';
import { query, type PgClient } from './pg';

export interface ChannelSettings {
  readonly clock: Clock;
  readonly deadline: Seconds;
  readonly channel: string;
  /** A statement that tells others that we listen, for as long as this connection lasts. */
  readonly announcing?: string;
  /** Makes a new client, not connected yet. */
  readonly connect: () => PgClient;
}

export interface ChannelEvents {
  /** Whether the channel is still needed. */
  readonly isNeeded: () => boolean;
  readonly heard: (payload: string | undefined) => void;
  /** Called once we listen: what is sent from now on is heard. */
  readonly opened: () => void;
  /** Called when we no longer listen. */
  readonly lost?: () => void;
}

const BACKOFF = { first: 100, longest: 5000 };

/** A dead connection says nothing: after so long a silence we ask it. */
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

  /** Makes sure that there is a connection, and that it is alive. */
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

  /** Returns false if there was no answer; the connection is given up. */
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

/** Not only with a goodbye: a silent server would not close its side. */
function end(client: PgClient): void {
  client.end().catch(() => undefined);
  client.connection?.stream?.destroy();
}
