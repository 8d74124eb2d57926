/** What is known of something, as a list of terms and facts. */
import { html, type Html, type Shown } from '../html';

/** Undefined or false: there is no such fact. */
export type Fact = readonly [term: string, fact: Shown];

/** Undefined if there are no facts. @param isWide each has a line of its own */
export function factList(facts: readonly Fact[], isWide = false): Html | undefined {
  const known = facts.filter(([, fact]) => fact !== undefined && fact !== false);
  if (known.length === 0) return undefined;
  const row = ([term, fact]: Fact): Html => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`;
  return html`<dl class="${isWide ? 'facts wide' : 'facts'}">${known.map(row)}</dl>`;
}

export function idFact(id: string): Fact {
  return [
    'Id',
    html`<span class="mono"><bdi>${id}</bdi></span> <button type="button" class="quiet" data-copy="${id}" aria-label="Copy the id">Copy</button>`,
  ];
}
