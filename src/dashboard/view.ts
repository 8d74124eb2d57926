/** What a page shows, and what it is made from. Each of its regions can be updated by itself. */
import type { QueueManager } from '../application/queue-manager';
import type { Milliseconds } from '../base/clock';
import type { Viewer } from './access/access';
import { html, type Html } from './html';
import type { Lookout } from './readings';

export interface View {
  readonly title: string;
  /** What it is part of, from the outside in: the pages above it. */
  readonly trail?: readonly (readonly [label: string, address: string])[] | undefined;
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

/** By their ids, from top to bottom. */
export function regionsOf({ parts }: View): ReadonlyMap<string, Html> {
  const shown = Object.entries(parts).filter((part): part is [string, Html] => part[1] !== undefined);
  return new Map(shown.map(([id, content]) => [id, region(id, content)]));
}

/** A table may be wider than its region: the arrow keys scroll it if something in it, or the region itself, has the focus. */
function region(id: string, content: Html): Html {
  const { text } = content;
  const isReached = !text.includes('<table') || /<(?:a|button|input|summary)\b/.test(text);
  return html`<section id="${id}" class="part"${!isReached && html` tabindex="0" role="group" aria-label="A table"`}>${content}</section>`;
}
