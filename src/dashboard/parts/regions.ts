/** The regions of a page, each of which can be sent anew by itself. */
import { html, type Html } from '../html';
import type { Part, View } from '../view';

export function region({ id, html: content }: Part): Html {
  return html`<section id="${id}" class="part">${content}</section>`;
}

export function partsOf({ parts }: View): Html {
  return html`${parts.map(region)}`;
}
