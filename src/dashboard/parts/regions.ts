/** The regions of a page; each can be updated by itself. */
import { html, type Html } from '../html';
import type { View } from '../view';

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
