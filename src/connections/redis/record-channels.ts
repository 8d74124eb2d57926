/**
 * Notifies of new records, on one client for everything that this connection waits for. Each record has a channel of its
 * own, so that nobody is notified of what others wait for.
 *
 * If the client is lost, so are the messages sent meanwhile: notifications count as off until the next subscription is
 * confirmed.
 */
import type { Redis } from 'ioredis';
import { pauseAfter } from '../../base/backoff';
import type { Milliseconds, Timer } from '../../base/clock';
import { wordsOf } from '../../base/foreign-error';
import { RecordListeners, type Notifications } from '../kit/record-listeners';
import { within } from '../kit/caller';
import type { RedisCallerSettings } from './caller';
import { isReply, remedyOf } from './refusals';

export interface RecordChannelsSettings extends RedisCallerSettings {
  /** Opens an unconnected client that never reconnects. Undefined if it is not known yet where to connect. */
  readonly open: () => Redis | Promise<Redis | undefined>;
}

const BACKOFF = { first: 100, longest: 5000 };

export class RecordChannels implements Notifications {
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
    // A message that still arrives wakes nobody.
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
    // Whoever waits keeps the process alive; this socket does not.
    client.on('connect', () => client.stream.unref());
    // Reported by the calls made meanwhile.
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

  // Nothing else would report it: whoever waits polls instead.
  #tellOfRefusal(error: Error): void {
    if (this.#toldOfRefusal) return;
    this.#toldOfRefusal = true;
    const { name: connection, address, logger } = this.#settings;
    const remedy = remedyOf(error);
    logger.warn(
      { connection, address },
      `Redis at ${address} does not let us wait for results (${wordsOf(error)}); results are polled every second instead.${remedy === undefined ? '' : ` ${remedy}`}`,
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
