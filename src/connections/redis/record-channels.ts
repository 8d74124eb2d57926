/**
 * Hears of records that are put, on one client for all that this connection waits for: each on a channel of its own, so that nobody
 * is told of what others wait for.
 *
 * Whenever the client is lost, so is what was said meanwhile: nothing counts as heard before the next one is confirmed.
 */
import type { Redis } from 'ioredis';
import { pauseAfter } from '../../base/backoff';
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import { wordsOf } from '../../base/foreign-error';
import type { Logger } from '../../base/logger';
import { type Ears, RecordListeners } from '../kit/record-listeners';
import { within } from '../kit/silence';
import { isReply, remedyOf } from './refusals';

export interface RecordChannelsSettings {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly address: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For how long the answer to a subscription is waited for. */
  readonly deadline: Seconds;
  /** A client of its own that is not connected, and never connects again. Undefined: where to is not known yet. */
  readonly open: () => Redis | Promise<Redis | undefined>;
}

const BACKOFF = { first: 100, longest: 5000 };

export class RecordChannels implements Ears {
  readonly listeners: RecordListeners;
  readonly #settings: RecordChannelsSettings;
  readonly #deadline: Milliseconds;
  #client: Redis | undefined;
  #opening = false;
  #failures = 0;
  #pause: Timer | undefined;
  #toldOfRefusal = false;

  constructor(settings: RecordChannelsSettings) {
    this.#settings = settings;
    this.#deadline = settings.deadline * 1000;
    this.listeners = new RecordListeners(settings.clock, this);
  }

  join(channel: string): false {
    if (this.#client !== undefined) void this.#subscribe(this.#client, channel);
    else if (this.#pause === undefined) void this.#connect();
    return false;
  }

  leave(channel: string): void {
    // What comes on it all the same wakes nobody.
    this.#client?.unsubscribe(channel).catch(() => undefined);
  }

  close(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    const client = this.#client;
    this.#client = undefined;
    client?.disconnect();
  }

  async #connect(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    const client = await this.#settings.open();
    this.#opening = false;
    // Nobody listens any more.
    if (this.listeners.size === 0) return;
    if (client === undefined) return this.#again();
    this.#client = client;
    client.on('message', (channel: string) => this.listeners.wake(channel));
    // Who waits keeps the process alive; this does not.
    client.on('connect', () => client.stream.unref());
    // Told by the calls that are made meanwhile.
    client.on('error', () => undefined);
    client.on('close', () => this.#lose(client));
    for (const channel of this.listeners.names) void this.#subscribe(client, channel);
  }

  async #subscribe(client: Redis, channel: string): Promise<void> {
    try {
      await within(this.#settings.clock, this.#deadline, client.subscribe(channel), false);
    } catch (error) {
      return isReply(error) ? this.#tellOfRefusal(error) : this.#lose(client);
    }
    if (this.#client !== client) return;
    this.#failures = 0;
    this.listeners.opened(channel);
  }

  #lose(client: Redis): void {
    client.disconnect();
    if (this.#client !== client) return;
    this.#client = undefined;
    this.listeners.lost();
    if (this.listeners.size > 0) this.#again();
  }

  // Nothing else would say so: who waits looks for himself.
  #tellOfRefusal(error: Error): void {
    if (this.#toldOfRefusal) return;
    this.#toldOfRefusal = true;
    const { name: connection, address, logger } = this.#settings;
    const remedy = remedyOf(error);
    logger.warn(
      { connection, address },
      `Redis at ${address} wakes nobody who waits for results (${wordsOf(error)}); they are looked for every second instead.${remedy === undefined ? '' : ` ${remedy}`}`,
    );
  }

  #again(): void {
    this.#failures += 1;
    this.#pause = this.#settings.clock.after(pauseAfter(this.#failures - 1, BACKOFF), () => {
      this.#pause = undefined;
      if (this.listeners.size > 0) void this.#connect();
    });
  }
}
