/** The job classes: what each did within a time, and those that are declared and did nothing. */
import { BUILT_IN } from '../../job/registry';
import { html, type Html } from '../html';
import { figuresOf, jobTable, withoutSpans } from '../parts/figures';
import { classLink } from '../parts/links';
import { periodIn, rangeLinks } from '../parts/period';
import { troublesOf } from '../parts/text';
import { readEach } from '../readings';
import type { Page } from '../view';
import { jobTabs } from './job-tabs';

/** Classes of one connection. */
const MOST = 100;

export const jobs: Page = async (context) => {
  const { manager, query } = context;
  const period = periodIn(query);
  const names = manager.connectionNames();
  const all = await readEach(names, (name) => figuresOf(name, context, period));
  const seen = new Set(all.flatMap(({ found }) => found?.jobs.map(({ job }) => job) ?? []));
  const declared = manager.registry.all().map(({ name }) => name);
  const others = declared.filter((name) => !seen.has(name) && !name.startsWith(BUILT_IN)).toSorted();
  const lists = all.map((one): [string, Html | undefined] => {
    const { connection, found, trouble } = one;
    if (trouble !== undefined) return [`classes-${connection}`, troublesOf([one])];
    const shown = jobTable(connection, found?.jobs ?? [], period.text, context, MOST);
    const heading = names.length > 1 && html`<h2><bdi>${connection}</bdi></h2>`;
    return [`classes-${connection}`, shown && html`${heading}${shown}`];
  });
  return {
    title: 'Jobs',
    parts: {
      tabs: html`${jobTabs('job-classes')}${rangeLinks('job-classes', {}, period)}`,
      ...Object.fromEntries(lists),
      'other-classes': otherClasses(others, period.text, seen.size === 0),
    },
    data: {
      classes: all.map(({ connection, found }) => ({ connection, jobs: withoutSpans(found?.jobs ?? []) })),
      others,
    },
  };
};

function otherClasses(names: readonly string[], period: string, isAlone: boolean): Html | undefined {
  if (names.length === 0)
    return isAlone ? html`<p class="empty">No job has run ${period}, and no class is declared here.</p>` : undefined;
  const shown = names.slice(0, MOST).map((name) => html`<li>${classLink({ name })}</li>`);
  return html`<h2>Nothing ran ${period}</h2><ul class="names columns">${shown}</ul>`;
}
