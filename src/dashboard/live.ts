/** Keeps open pages up to date: one look serves all viewers of the same page, and only changes are sent. */
import type { Clock, Milliseconds, Timer } from '../base/clock';
import { inRootContext } from '../connections/application';
import type { Viewer } from './access/access';
import type { EventSink, EventSource } from './http/answer';
import { type PageContext, regionsOf, type View } from './view';

/** The pause between two looks. */
const PAUSE: Milliseconds = 2000;
/** A twentieth of the time is spent on looks at the stores: after a round of 200 ms we pause for 4 s. */
const SHARE = 20;
/** Somebody is watching: a page that stands still for longer looks broken. */
const LONGEST_PAUSE: Milliseconds = 5000;
/** After this time the browser must reconnect, and is authorized again. */
const LONGEST_WATCH: Milliseconds = 300_000;
/** Pages that are watched at once; on further pages viewers see no updates. */
const MOST = 200;

interface Watcher {
  readonly sink: EventSink;
  readonly viewer: Viewer;
  readonly since: Milliseconds;
}

/** A page that somebody watches. */
interface Watched {
  readonly look: () => Promise<View>;
  readonly watchers: Set<Watcher>;
  /** What was sent of it last, without ages, by the ids of its parts. */
  sent: ReadonlyMap<string, string>;
  /** Its last trouble. */
  trouble: string | undefined;
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
    return (sink) => {
      if (!this.#pages.has(key) && this.#pages.size >= MOST) {
        sink.end();
        return () => undefined;
      }
      const page: Watched = this.#pages.get(key) ?? { look, watchers: new Set(), sent: new Map(), trouble: undefined };
      const watcher = { sink, viewer, since: this.#clock.monotonic() };
      page.watchers.add(watcher);
      // The first look sends everything that has changed since the page was made.
      page.sent = new Map();
      this.#pages.set(key, page);
      inRootContext(() => this.#arm(PAUSE));
      return () => this.#leave(key, page, watcher);
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
    // Nobody watches, so the store is left alone.
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
    let took: Milliseconds = 0;
    let isAway = false;
    const beside: Promise<unknown>[] = [];
    for (const page of [...this.#pages.values()]) {
      // Waits only once for a store that does not answer, not with each of its pages: other stores have pages too.
      if (isAway || page.trouble !== undefined) beside.push(this.#update(page));
      else {
        took += await this.#update(page);
        isAway = page.trouble !== undefined;
      }
    }
    await Promise.all(beside);
    this.#isLooking = false;
    if (this.#pages.size > 0) this.#arm(Math.min(Math.max(PAUSE, took * SHARE), LONGEST_PAUSE));
  }

  /** Returns how long the store took. */
  async #update(page: Watched): Promise<Milliseconds> {
    const began = this.#clock.monotonic();
    for (const { sink, since } of page.watchers) if (began - since > LONGEST_WATCH) sink.end();
    let view: View;
    try {
      view = await page.look();
    } catch {
      // The page itself shows what is wrong when it is requested again.
      for (const { sink } of page.watchers) sink.end();
      return 0;
    }
    const took = this.#clock.monotonic() - began;
    const wasAway = page.trouble !== undefined;
    const text = changeOf(page, view);
    // A viewer who does not take the event gets everything when they reconnect.
    for (const { sink, viewer } of page.watchers) if (viewer.hasLeft?.() === true || !sink.send(text)) sink.end();
    // Asking an unreachable store costs it nothing, so that time does not lengthen the pause.
    return view.trouble === undefined && !wasAway ? took : 0;
  }
}

/** The event with all changes since the last one. */
function changeOf(page: Watched, view: View): string {
  const { title, trouble } = view;
  const isSame = trouble === page.trouble;
  page.trouble = trouble;
  // While the store is unreachable, the last content stays.
  if (trouble !== undefined) return isSame ? NO_CHANGE : eventOf({ trouble });
  const markup = [...regionsOf(view)].map(([id, { text }]) => [id, text] as const);
  // How long ago a moment was is no change: the script counts on by itself.
  const compared = new Map(markup.map(([id, text]) => [id, text.replaceAll(/(<time [^>]*>)[^<]*/g, '$1')]));
  const changed = markup.filter(([id]) => page.sent.get(id) !== compared.get(id)).map(([, text]) => text);
  const isSamePage = changed.length === 0 && compared.size === page.sent.size;
  page.sent = compared;
  if (isSame && isSamePage) return NO_CHANGE;
  return eventOf({ trouble: '', title, ids: [...compared.keys()], markup: changed.join('') });
}

/** @param change for the script of the page: a trouble to show, or the ids of all parts in order, with the markup of those that changed */
function eventOf(change: object): string {
  return `data: ${JSON.stringify(change)}\n\n`;
}

/** Tells the script that its page is up to date, and us whether the viewer is still there. */
const NO_CHANGE = eventOf({});
