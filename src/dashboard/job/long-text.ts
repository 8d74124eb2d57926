/** A text of any length: its beginning, and more after a click. */
import { html, type Html } from '../html';
import { numberText } from '../parts/number';

/** Characters that may still be shown on the page. */
export interface TextBudget {
  left: number;
}

/** Characters shown at once, and after a click. */
const SHORT = 300;
const LONG = 10_000;

/** @param quote surrounds the text if it must be told from other values */
export function longText(text: string, budget: TextBudget, quote = ''): Html {
  const shown = text.slice(0, Math.min(LONG, Math.max(budget.left, SHORT)));
  budget.left -= shown.length;
  if (text.length <= SHORT) return quoted(text, quote);
  const left = text.length - shown.length;
  return html`<details class="long">
    <summary>${quoted(`${text.slice(0, SHORT)}…`, quote)} <span class="type">${numberText(text.length)} characters</span></summary>
    <pre>${shown}</pre>
    ${left > 0 && html`<p class="soft">… and ${numberText(left)} more characters, left out here</p>`}
  </details>`;
}

function quoted(text: string, quote: string): Html {
  return html`<span class="text">${quote}<bdi>${text}</bdi>${quote}</span>`;
}
