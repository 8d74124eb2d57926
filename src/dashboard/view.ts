/** What a page shows, and what it is made from. */
import type { Milliseconds } from '../base/clock';
import type { QueueManager } from '../application/queue-manager';
import type { Viewer } from './access/access';
import type { Html } from './html';
import type { Lookout } from './lookout';

export interface View {
  readonly title: string;
  /** Its regions from top to bottom, by the ids of their elements. Each is sent again when it has changed. */
  readonly parts: Readonly<Record<string, Html | undefined>>;
  /** The same as data, which programs get as JSON. */
  readonly data: unknown;
  /** Default 200. */
  readonly status?: number | undefined;
  /** The address of a page to show instead. */
  readonly goTo?: string | undefined;
  /** Why nothing else can be shown, such as an unreachable store. Viewers who watch the page keep its last content. */
  readonly trouble?: string | undefined;
}

/** One look of a viewer at a page. */
export interface PageContext {
  readonly manager: QueueManager;
  /** What several viewers look at is read only once. */
  readonly lookout: Lookout;
  readonly viewer: Viewer;
  /** The time at this moment, by which pages tell how long ago something was. */
  readonly now: Milliseconds;
  /** The part after the `?`. */
  readonly query: URLSearchParams;
  /** The address of this very page, relative to the dashboard: `failed?queue=mail`. */
  readonly here: string;
}

/** Makes a page. Its errors are shown instead. */
export type Page = (context: PageContext) => Promise<View>;
