/**
 * Hears what happens to the jobs of a connection, for all who listen in this process: from its own workers at once, from those of
 * others through records, which the store announces or which are looked for. It says in a record of its own that somebody listens.
 */
import { within, type Milliseconds, type Timer } from '../../base/clock';
import { inRootContext, type Application } from '../../connections/application';
import type { Connection } from '../../connections/contract';
import { recordsOf, type Listening } from '../../connections/record-store';
import {
  EVENTS,
  EventSource,
  filtersText,
  identityOf,
  LISTENERS,
  LIVES,
  NEWS,
  readEvents,
  type EventFilter,
  type KeptEvent,
} from './job-event';

export interface EventListener {
  readonly filter: EventFilter;
  hear(event: KeptEvent): void;
  end(): void;
}

/** How soon a new listener is made known, with others that come at the same time. */
const ANNOUNCED_IN: Milliseconds = 20;
const ANNOUNCED_EVERY: Milliseconds = 5000;
/** Between two looks: where nothing announces events, or where it does, in case that a message is lost. */
const LOOK = { polled: 500, woken: 5000, least: 20 } as const;
const PAGE = 100;
const MOST_TELLERS = 1000;
/** How long the end waits for the store. A record that stays expires. */
const PATIENCE: Milliseconds = 2000;

const feeds = new WeakMap<Connection, EventFeed>();

export class EventFeed extends EventSource {
  readonly #listeners = new Set<EventListener>();
  /** The number of the last event of each process that tells. */
  #known = new Map<string, number>();
  #isFirstLook = true;
  #isRung = false;
  #looking: Promise<void> | undefined;
  #listening: Listening | undefined;
  #nextLook: Timer | undefined;
  #nextWord: Timer | undefined;
  #saying: Promise<void> = Promise.resolve();
  /** Otherwise a program that only listens would end. */
  #alive: Timer | undefined;
  #untrack: (() => void) | undefined;

  /** @throws E_NO_RECORDS */
  static of(application: Application, connection: Connection): EventFeed {
    const store = application.neededOperationsOf(connection);
    const feed = feeds.get(connection) ?? new EventFeed(application, connection, store);
    feeds.set(connection, feed);
    return feed;
  }

  /** Returns the function that ends it. @throws E_MANAGER_CLOSED */
  add(listener: EventListener): () => void {
    if (this.#listeners.size === 0) {
      this.#untrack = this.application.track(this);
      inRootContext(() => this.#open(), this.application);
    }
    this.#listeners.add(listener);
    inRootContext(() => this.#sayIn(ANNOUNCED_IN), this.application);
    return () => {
      if (!this.#listeners.delete(listener)) return;
      if (this.#listeners.size === 0) void this.#shut();
      else this.#sayIn(ANNOUNCED_IN);
    };
  }

  /** Ends all who listen. */
  async close(): Promise<void> {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener.end();
    if (listeners.length > 0) await this.#shut();
  }

  #open(): void {
    const { clock, observers } = this.application;
    this.#alive = clock.after(Infinity, () => undefined, true);
    observers.add(this.observer);
    this.#known = new Map();
    this.#isFirstLook = true;
    this.#listening = this.store.records.wake?.listen(NEWS.kind, NEWS.id, () => this.#ring());
    this.#ring();
  }

  async #shut(): Promise<void> {
    this.#alive?.cancel();
    this.#untrack?.();
    this.application.observers.delete(this.observer);
    this.#listening?.stop();
    for (const timer of [this.#nextLook, this.#nextWord]) timer?.cancel();
    this.#nextWord = undefined;
    const unsaid = this.#saying.then(() => this.#say(0));
    this.#saying = unsaid;
    await within(this.application.clock, PATIENCE, unsaid).catch(() => undefined);
  }

  protected tell(event: KeptEvent): void {
    for (const listener of this.#listeners) listener.hear(event);
  }

  #sayIn(pause: Milliseconds): void {
    if (this.#nextWord !== undefined && pause !== ANNOUNCED_IN) return;
    this.#nextWord?.cancel();
    this.#nextWord = this.application.clock.after(pause, () => {
      this.#nextWord = undefined;
      this.#saying = this.#saying.then(() => this.#say(LIVES));
      this.#sayIn(ANNOUNCED_EVERY);
    });
  }

  /** Never rejects: it is said again soon. */
  async #say(keep: number): Promise<void> {
    // Somebody may listen again by now, or nobody any more.
    if ((keep === 0) !== (this.#listeners.size === 0)) return;
    const value = filtersText([...this.#listeners].map(({ filter }) => filter));
    const record = { kind: LISTENERS, id: identityOf(this.connection), value };
    await this.store.records.put([record], keep).catch(() => undefined);
  }

  #ring(): void {
    this.#isRung = true;
    if (this.#looking !== undefined) return;
    this.#nextLook?.cancel();
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#listeners.size === 0) return;
      const pause = this.#isRung ? LOOK.least : this.#listening?.isHeard === true ? LOOK.woken : LOOK.polled;
      this.#nextLook = this.application.clock.after(pause, () => this.#ring());
    });
  }

  /** Never rejects: it looks again soon. */
  async #look(): Promise<void> {
    this.#isRung = false;
    try {
      const tellers = recordsOf(this.store.records, EVENTS, { page: PAGE, to: MOST_TELLERS });
      for await (const { id, value } of tellers) this.#read(id, value);
      this.#isFirstLook = false;
    } catch {
      // While the store is away there is nothing to hear.
    }
  }

  #read(id: string, text: string): void {
    if (id === identityOf(this.connection)) return;
    // What happened before anybody listened here is not news.
    const after = this.#known.get(id) ?? (this.#isFirstLook ? Infinity : 0);
    const read = readEvents(text, after);
    if (read === undefined) return;
    this.#known.set(id, read.last);
    for (const event of read.events) if (event.connection === this.connection.name) this.tell(event);
  }
}
