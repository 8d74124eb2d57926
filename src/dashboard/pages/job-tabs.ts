/** The lists of jobs over all queues, which one entry of the navigation leads to. */
import { address } from '../addresses';
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
