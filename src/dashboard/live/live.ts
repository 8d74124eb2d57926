/** Keeps open pages up to date: one look for all who watch the same one, and only what has changed is sent. */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import type { EventSink, EventSource } from '../http/answer';
import { region } from '../parts/regions';
import type { PageContext, View } from '../view';

/** Between two looks. */
const PAUSE: Milliseconds = 2000;
/** A store is asked for so small a part of the time: a round of looks of 100 ms is followed by a pause of 10 s. */
const SHARE = 100;
const LONGEST_PAUSE: Milliseconds = 30_000;
/** Then the browser asks again, and is let in again or not. */
const LONGEST_WATCH: Milliseconds = 300_000;
/** Pages that are watched at once; who comes later sees no changes. */
const MOST = 200;

interface Watcher {
  readonly sink: EventSink;
  readonly since: Milliseconds;
}

/** A page that somebody watches. */
interface Watched {
  readonly look: () => Promise<View>;
  readonly watchers: Set<Watcher>;
  /** What was sent of it last, by the ids of its parts. */
  sent: ReadonlyMap<string, string>;
}

export class Live {
  readonly #clock: Clock;
  readonly #pages = new Map<string, Watched>();
  #timer: Timer | undefined;
  #isLooking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch({ viewer, here }: PageContext, look: () => Promise<View>): EventSource {
    const key = `${viewer.role} ${here}`;
    return {
      open: (sink) => {
        if (!this.#pages.has(key) && this.#pages.size >= MOST) {
          sink.end();
          return () => undefined;
        }
        const page = this.#pages.get(key) ?? { look, watchers: new Set(), sent: new Map<string, string>() };
        const watcher = { sink, since: this.#clock.monotonic() };
        page.watchers.add(watcher);
        // What changed between the page and this is sent with the first look.
        page.sent = new Map();
        this.#pages.set(key, page);
        this.#arm(PAUSE);
        return () => this.#leave(key, page, watcher);
      },
    };
  }

  close(): void {
    for (const { watchers } of this.#pages.values()) for (const { sink } of watchers) sink.end();
    this.#pages.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #leave(key: string, page: Watched, watcher: Watcher): void {
    page.watchers.delete(watcher);
    if (page.watchers.size === 0 && this.#pages.get(key) === page) this.#pages.delete(key);
    if (this.#pages.size > 0) return;
    // Nobody watches: the store is left alone.
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(pause: Milliseconds): void {
    if (this.#isLooking || this.#timer !== undefined) return;
    this.#timer = this.#clock.after(pause, () => {
      this.#timer = undefined;
      void this.#round();
    });
  }

  async #round(): Promise<void> {
    this.#isLooking = true;
    const began = this.#clock.monotonic();
    for (const page of [...this.#pages.values()]) await this.#update(page);
    this.#isLooking = false;
    const took = this.#clock.monotonic() - began;
    if (this.#pages.size > 0) this.#arm(Math.min(Math.max(PAUSE, took * SHARE), LONGEST_PAUSE));
  }

  async #update(page: Watched): Promise<void> {
    const now = this.#clock.monotonic();
    for (const { sink, since } of page.watchers) if (now - since > LONGEST_WATCH) sink.end();
    let text = ': nothing has changed\n\n';
    try {
      const { parts } = await page.look();
      const markup = new Map(parts.map((part) => [part.id, region(part).text]));
      const changed = [...markup].filter(([id, shown]) => page.sent.get(id) !== shown).map(([, shown]) => shown);
      if (changed.length > 0) text = `data: ${JSON.stringify(changed.join(''))}\n\n`;
      page.sent = markup;
    } catch {
      // The page itself says what is wrong when it is asked for again.
      for (const { sink } of page.watchers) sink.end();
    }
    for (const { sink } of page.watchers) sink.send(text);
  }
}
