/**
 * Tells other processes what happens to the jobs of this one's workers, while somebody listens: it looks for listeners every other
 * second, and observes jobs only as long as there are any. Nothing waits for it, and what it cannot write is dropped.
 */
import type { Milliseconds, Timer } from '../../base/clock';
import type { Application } from '../../connections/application';
import type { Connection } from '../../connections/contract';
import {
  EVENTS,
  EventSource,
  eventsText,
  fits,
  identityOf,
  LISTENERS,
  LIVES,
  NEWS,
  readFilters,
  type EventFilter,
  type KeptEvent,
} from './job-event';

const FIRST_LOOK: Milliseconds = 100;
const LOOK_EVERY: Milliseconds = 2000;
/** Processes that listen. */
const MOST_LISTENERS = 100;
/** How long events are gathered until they are written. */
const GATHERED: Milliseconds = 50;
/** Events of a process that can be read at a time, and for how long: whoever looks more seldom misses some. */
const MOST_EVENTS = 200;
const READABLE: Milliseconds = 5000;

/** One for all workers of a connection in this process. */
const tellers = new WeakMap<Connection, EventTeller>();

export class EventTeller extends EventSource {
  readonly #events: KeptEvent[] = [];
  /** What the listeners want to hear. Empty: there are none, and no job is observed. */
  #filters: readonly EventFilter[] = [];
  /** The number of the first of the events. */
  #first = 1;
  /** How many of them were not written yet. */
  #unwritten = 0;
  #users = 0;
  #nextLook: Timer | undefined;
  #nextWrite: Timer | undefined;
  #writing: Promise<void> | undefined;

  /** Undefined if no connection keeps records. */
  static start(application: Application, connection: Connection): EventTeller | undefined {
    const store = application.operationsOf(connection);
    if (store === undefined) return undefined;
    const teller = tellers.get(connection) ?? new EventTeller(application, connection, store);
    tellers.set(connection, teller);
    teller.#users += 1;
    if (teller.#users === 1) teller.#lookIn(FIRST_LOOK);
    return teller;
  }

  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#nextLook?.cancel();
    this.application.observers.delete(this.observer);
    this.#filters = [];
    this.#nextWrite?.cancel();
    this.#nextWrite = undefined;
    await this.#writing;
    if (this.#unwritten > 0) await this.#write();
  }

  #lookIn(pause: Milliseconds): void {
    // A look may be under way from before the last worker ended: with another timer there would be two rounds of looks from then on.
    this.#nextLook?.cancel();
    this.#nextLook = this.application.clock.after(pause, () => {
      void this.#look().then(() => this.#users > 0 && this.#lookIn(LOOK_EVERY));
    });
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { observers } = this.application;
    try {
      const listeners = await this.store.records.list(LISTENERS, { limit: MOST_LISTENERS });
      // Those of this process see its jobs themselves.
      const others = listeners.filter(({ id }) => id !== identityOf(this.connection));
      if (this.#users === 0) return;
      this.#filters = others.flatMap(({ value }) => readFilters(value));
    } catch {
      // The store is away: whoever listened still does, as far as is known.
    }
    if (this.#filters.length > 0) observers.add(this.observer);
    else observers.delete(this.observer);
  }

  protected tell(event: KeptEvent): void {
    if (!this.#filters.some((filter) => fits(filter, event))) return;
    const events = this.#events;
    if (event.type === 'progressed') {
      // A job may report a thousand times a second.
      const place = events.findLastIndex(({ id }) => id === event.id);
      if (place >= events.length - this.#unwritten && events[place]?.type === 'progressed') {
        events[place] = event;
        return;
      }
    }
    events.push(event);
    this.#unwritten += 1;
    while (events.length > MOST_EVENTS || events[0]!.at < event.at - READABLE) {
      events.shift();
      this.#first += 1;
    }
    this.#unwritten = Math.min(this.#unwritten, events.length);
    if (this.#nextWrite !== undefined || this.#writing !== undefined) return;
    this.#nextWrite = this.application.clock.after(GATHERED, () => {
      this.#nextWrite = undefined;
      this.#writing = this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#unwritten > 0 && this.#users > 0) await this.#write();
    this.#writing = undefined;
  }

  /** Never rejects: an event that cannot be written is missed. */
  async #write(): Promise<void> {
    const { records } = this.store;
    this.#unwritten = 0;
    const value = eventsText(this.#events, this.#first);
    try {
      await records.put([{ kind: EVENTS, id: identityOf(this.connection), value }], LIVES);
      await records.wake?.put({ ...NEWS, value: '' }, LIVES);
    } catch {
      // The next write has it too, if it comes soon.
    }
  }
}
