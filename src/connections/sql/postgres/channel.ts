/**
 * Listens to a channel of PostgreSQL, with LISTEN on a connection of its own. A lost connection is replaced for as long as
 * somebody needs it; messages sent meanwhile are missed.
 */
import { pauseAfter, within, type Clock, type Milliseconds, type Seconds, type Timer } from '../../../base/clock';
import { raw, sql } from '../statement';
import { quoted, literal } from './names';
import { query, type PgClient } from './client';
import { type RecordWakes, type Waiters, Hints } from '../waiters';
import { createHash } from 'node:crypto';
import { RecordListeners } from '../../kit/record-listeners';

interface ChannelSettings {
  readonly clock: Clock;
  readonly deadline: Seconds;
  readonly channel: string;
  /** A statement that tells others that we listen, for as long as this connection lasts. */
  readonly announcing?: string;
  /** Makes a new client, not connected yet. */
  readonly connect: () => PgClient;
}

interface ChannelEvents {
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

class PostgresChannel {
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

/** Safety net for lost hints. */
const LONGEST_WAIT: Seconds = 2;

/**
 * Wakes the waiting workers of this process with LISTEN, on one connection for all of them. The database functions send the
 * hints.
 *
 * A hint that comes while nobody waits is kept for the next wait. When the connection was replaced everybody looks, as hints
 * may have been missed. If no connection can be made, workers look for themselves every other second.
 */
export function postgresHints(settings: ChannelSettings): Waiters {
  const hints = new Hints(settings.clock, () => channel.drop());
  const channel = new PostgresChannel(settings, {
    isNeeded: () => hints.areWatched,
    heard: (queue) => hints.hint(queue),
    opened: () => hints.hint(),
  });
  return {
    listening: ({ queues }) => ({
      longest: LONGEST_WAIT,
      listen: (wake) => {
        // A channel that opens wakes everybody.
        const leave = hints.listen(queues, wake, channel.isOpen);
        channel.keep();
        return leave;
      },
    }),
    close: () => hints.close(),
  };
}

const LOCKS = 64;

/** The first lock of a channel, a number that no other program should use by chance: below 2 ** 53. */
const firstLock = (channel: string): number => createHash('sha1').update(channel).digest().readUIntBE(0, 5) * LOCKS;

/** Which lock belongs to a record: any will do. */
function placeOf(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at += 1) sum += id.charCodeAt(at);
  return sum % LOCKS;
}

/** A kind consists of lower-case letters. */
const nameOf = (kind: string, id: string): string => `${kind} ${id}`;

/**
 * Wakes those who wait for a record, by a NOTIFY in the statement that writes it. One connection listens for all of them.
 *
 * NOTIFY makes commits wait for each other, so it is sent only if somebody listens, in any process: listeners hold shared
 * advisory locks. A statement that can lock one exclusively notifies nobody, and keeps the lock until it is committed.
 * Whoever starts to listen waits for that, and finds the record on its first look. There are several locks, so that
 * statements seldom get in each other's way.
 */
export function postgresRecordWakes(settings: ChannelSettings): RecordWakes {
  const told = raw(literal(settings.channel));
  const first = firstLock(settings.channel);
  const announcing = `SELECT pg_advisory_lock_shared(${first} + place) FROM generate_series(0, ${LOCKS - 1}) AS place`;
  const listeners = new RecordListeners(settings.clock, {
    join: () => {
      channel.keep();
      return channel.isOpen;
    },
    close: () => channel.drop(),
  });
  const channel = new PostgresChannel(
    { ...settings, announcing },
    {
      isNeeded: () => listeners.size > 0,
      heard: (name) => listeners.wake(name ?? ''),
      opened: () => {
        for (const name of listeners.names) listeners.opened(name);
      },
      lost: () => listeners.lost(),
    },
  );
  return {
    telling: (change, kind, id) =>
      sql`${change} RETURNING CASE WHEN NOT pg_try_advisory_xact_lock(${first + placeOf(id)}) THEN pg_notify(${told}, ${nameOf(kind, id)})::text END`,
    listen: (kind, id, wake) => listeners.listen(nameOf(kind, id), wake),
    close: () => listeners.close(),
  };
}
