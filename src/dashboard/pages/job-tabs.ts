/** The lists of jobs over all queues, which one entry of the navigation leads to, and the form that chooses among their jobs. */
import { address, type Query } from '../addresses';
import { html, type Html } from '../html';

const LISTS = {
  'job-classes': 'Classes',
  running: 'Running',
  scheduled: 'Scheduled',
  retrying: 'Retrying',
  runs: 'Runs',
} as const;

export function jobTabs(shown: keyof typeof LISTS): Html {
  const tab = ([page, label]: readonly [string, string]): Html =>
    html`<a href="${address(page)}"${page === shown && html` aria-current="page"`}>${label}</a>`;
  return html`<nav class="tabs" aria-label="Lists of jobs">${Object.entries(LISTS).map(tab)}</nav>`;
}

/** What the address chooses; empty fields choose nothing. */
export function listChoice(
  query: URLSearchParams,
  fields: readonly string[],
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(fields.map((field) => [field, query.get(field)?.trim() || undefined]));
}

/** @param labels of the fields */
export function choiceForm(page: string, choice: Query, labels: Readonly<Record<string, string>>): Html {
  const field = ([key, label]: readonly [string, string]): Html =>
    html`<label>${label} <input type="text" name="${key}" value="${choice[key] ?? ''}" maxlength="255" autocomplete="off"></label>`;
  const isChosen = Object.values(choice).some((value) => value !== undefined);
  return html`<form class="filter" action="${page}">${Object.entries(labels).map(field)} <button>Filter</button>${isChosen && html` <a href="${page}">Show all</a>`}</form>`;
}
