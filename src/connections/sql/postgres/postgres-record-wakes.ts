/** Tells who waits for a record that it is there, by NOTIFY in the statement that writes it, and hears of it on one connection for all. */
import { RecordListeners } from '../../kit/record-listeners';
import type { Listening } from '../../record-store';
import type { RecordWakes } from '../records';
import { type Sql, sql } from '../statement';
import { type ChannelSettings, PostgresChannel } from './postgres-channel';

/** Kinds are small letters. */
const nameOf = (kind: string, id: string): string => `${kind} ${id}`;

export class PostgresRecordWakes implements RecordWakes {
  readonly #name: string;
  readonly #channel: PostgresChannel;
  readonly #listeners: RecordListeners;

  constructor(settings: ChannelSettings) {
    this.#name = settings.channel;
    const listeners = new RecordListeners(settings.clock, {
      join: (name) => {
        if (this.#channel.isOpen) listeners.opened(name);
        this.#channel.keep();
      },
      close: () => this.#channel.drop(),
    });
    this.#listeners = listeners;
    this.#channel = new PostgresChannel(settings, {
      isNeeded: () => listeners.size > 0,
      heard: (name) => listeners.wake(name ?? ''),
      opened: () => {
        for (const name of listeners.names) listeners.opened(name);
      },
      lost: () => listeners.lost(),
    });
  }

  telling(change: Sql, kind: string, id: string): Sql {
    return sql`WITH put AS (${change} RETURNING 1) SELECT pg_notify(${this.#name}, ${nameOf(kind, id)}) FROM put`;
  }

  listen(kind: string, id: string, wake: () => void): Listening {
    return this.#listeners.listen(nameOf(kind, id), wake);
  }

  close(): void {
    this.#listeners.close();
  }
}
