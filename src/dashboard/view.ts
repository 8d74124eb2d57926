/** What a page shows, and what it is made from. */
import type { QueueManager } from '../application/queue-manager';
import type { Viewer } from './access/access';
import type { Html } from './html';
import type { Lookout } from './lookout';

/** A region of a page that is sent anew when it has changed. */
export interface Part {
  /** Of the element around it; unique on its page. */
  readonly id: string;
  readonly html: Html;
}

export interface View {
  readonly title: string;
  /** From top to bottom. */
  readonly parts: readonly Part[];
  /** The same for programs: they get it as JSON. */
  readonly data: unknown;
  /** Default 200. */
  readonly status?: number | undefined;
  /** The address of the page that is shown in its place. */
  readonly goTo?: string | undefined;
  /** Why nothing else can be shown, such as a store that is away: whoever watches keeps what was seen last. */
  readonly trouble?: string | undefined;
}

/** One look of a viewer at a page. */
export interface PageContext {
  readonly manager: QueueManager;
  /** What several viewers look at is read once for all. */
  readonly lookout: Lookout;
  readonly viewer: Viewer;
  /** What stands behind the `?`. */
  readonly query: URLSearchParams;
  /** The address of this very page, relative to the dashboard: `failed?queue=mail`. */
  readonly here: string;
}

/** Makes a page. What it throws is shown in its place. */
export type Page = (context: PageContext) => Promise<View>;
