/** Tables with a caption and headings. */
import { html, type Html, type Shown } from '../html';

export interface Table {
  readonly caption: Shown;
  /** Only for screen readers, because something above the table says the same. */
  readonly isCaptionUnseen?: boolean;
  /** Headings; or whole cells for those that are more than a text. */
  readonly columns: readonly Shown[];
  readonly rows: readonly Html[];
}

export function table({ caption, isCaptionUnseen, columns, rows }: Table): Html {
  const heading = (column: Shown): Shown =>
    typeof column === 'string' ? html`<th scope="col">${column}</th>` : column;
  return html`<table><caption${isCaptionUnseen === true && html` class="unseen"`}>${caption}</caption>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>${rows}</tbody></table>`;
}

/** @param title what the numbers mean */
export function numberColumn(label: string, title?: string): Html {
  return html`<th scope="col" class="number"${title !== undefined && html` title="${title}"`}>${label}</th>`;
}

/** The column of buttons. */
export const ACTIONS = html`<th scope="col"><span class="unseen">Actions</span></th>`;
