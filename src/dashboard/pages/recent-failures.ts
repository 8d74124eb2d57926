/** Why jobs failed within the last hour, for the first page: grouped by error, the largest group first. */
import type { Milliseconds } from '../../base/clock';
import { address } from '../addresses';
import { type ErrorGroup, errorGroups } from '../../application/failed/error-groups';
import { groupButtons, lookAtFailed, queuesOfGroup } from '../failures';
import { html, type Html } from '../html';
import { classLink } from '../parts/links';
import { sparkline } from '../parts/chart';
import { ACTIONS, numberColumn, table } from '../parts/table';
import { counted, errorLine, moment, numberText } from '../parts/text';
import type { PageContext } from '../view';

const RECENT: Milliseconds = 5 * 60_000;
const LONGEST_AGO: Milliseconds = 60 * 60_000;
/** Bars of a group's chart: five minutes each. */
const BARS = LONGEST_AGO / RECENT;
const MOST_GROUPS = 8;

/** How long a look stays fresh: it may read megabytes, and the page is updated every few seconds. */
const FRESH: Milliseconds = 10_000;

export interface RecentFailures {
  /** How many jobs failed within the hour, as far as was looked. */
  readonly count: number;
  /** The look ended before the hour did. */
  readonly isCut: boolean;
  readonly groups: readonly ErrorGroup[];
  readonly away: readonly string[];
}

export async function recentFailures(context: PageContext): Promise<RecentFailures> {
  const { jobs, isCut, away } = await lookAtFailed(context, undefined, 0, FRESH);
  const from = context.now - LONGEST_AGO;
  const recent = jobs.filter(({ failedAt }) => failedAt.getTime() >= from);
  return { count: recent.length, isCut: isCut && recent.length === jobs.length, groups: errorGroups(recent), away };
}

/** Undefined if nothing failed. */
export function failureList({ count, isCut, groups, away }: RecentFailures, context: PageContext): Html | undefined {
  const troubles = away.map((text) => html`<p class="trouble">${text}</p>`);
  if (groups.length === 0) return away.length === 0 ? undefined : html`${troubles}`;
  const total = isCut ? `the newest ${counted(count, 'job')}` : `${counted(count, 'job')} in the last hour`;
  return html`${troubles}${failureTable(html`Why jobs failed <span class="soft">${total}</span>`, groups, context)}`;
}

export function failureTable(caption: Html, groups: readonly ErrorGroup[], context: PageContext): Html {
  const rest = groups.length - MOST_GROUPS;
  const shown = table({
    caption,
    columns: [
      numberColumn('5 min'),
      numberColumn('All'),
      'Job',
      'Error',
      html`<th scope="col"><span class="unseen">Within the hour</span></th>`,
      'Last',
      'First',
      ACTIONS,
    ],
    rows: groups.slice(0, MOST_GROUPS).map((group) => groupRow(group, context)),
  });
  return html`${shown}${rest > 0 && html`<p><a href="${address('failed')}">${counted(rest, 'smaller group')}</a></p>`}`;
}

function groupRow(group: ErrorGroup, context: PageContext): Html {
  const { name, error, count, newest, oldest, moments } = group;
  const { now } = context;
  const lately = moments.filter((at) => at >= now - RECENT).length;
  const bars = Array.from({ length: BARS }, () => 0);
  // A job may have failed in this very moment, or later by another clock.
  for (const at of moments.filter((each) => each >= now - LONGEST_AGO))
    bars[Math.max(BARS - 1 - Math.max(Math.floor((now - at) / RECENT), 0), 0)]! += 1;
  const [retry] = groupButtons(group, {}, context);
  return html`<tr data-key="${JSON.stringify([name, error])}"><td class="number">${lately > 0 ? html`<strong class="bad">${numberText(lately)}</strong>` : html`<span class="soft">0</span>`}</td>
<td class="number"><strong>${numberText(count)}</strong></td>
<th scope="row">${classLink(newest)} <span class="soft">in ${queuesOfGroup(group)}</span></th>
<td class="line message"><a href="${address('failed', { name, group: error })}"><bdi>${errorLine(newest.exception)}</bdi></a></td>
<td>${sparkline(bars, 'bad')}</td>
<td class="when">${moment(newest.failedAt, now)}</td><td class="when">${count > 1 && moment(oldest.failedAt, now)}</td>
<td class="actions">${retry}</td></tr>`;
}
