/** The regions of a page; each can be updated by itself. */
import { html, type Html } from '../html';
import type { Part, View } from '../view';

/** A table may be wider than its region: the arrow keys scroll it if something in it, or the region itself, has the focus. */
export function region({ id, html: content }: Part): Html {
  const { text } = content;
  const isReached = !text.includes('<table') || /<(?:a|button|input|summary)\b/.test(text);
  return html`<section id="${id}" class="part"${!isReached && html` tabindex="0" role="group" aria-label="A table"`}>${content}</section>`;
}

export function partsOf({ parts }: View): Html {
  return html`${parts.map(region)}`;
}
