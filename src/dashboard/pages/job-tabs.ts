/** The lists of jobs over all queues, which one entry of the navigation leads to. */
import { address } from '../addresses';
import type { Html } from '../html';
import { type Tab, tabs } from '../parts/links';

const LISTS = {
  'job-classes': 'Classes',
  running: 'Running',
  scheduled: 'Scheduled',
  retrying: 'Retrying',
  runs: 'Runs',
} as const;

export function jobTabs(shown: keyof typeof LISTS): Html {
  const all = Object.entries(LISTS).map(([page, label]): Tab => [label, address(page), page === shown]);
  return tabs('Lists of jobs', all);
}
