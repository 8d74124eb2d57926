/** Why jobs failed: a row for each group of errors, with what failed of late, and what can be done about it. */
import type { ErrorGroup } from '../../application/failed/error-groups';
import type { Milliseconds } from '../../base/clock';
import { address } from '../addresses';
import { HOUR } from '../failures';
import { html, type Html, type Shown } from '../html';
import type { PageContext } from '../view';
import { countsOf, sparkline } from './chart';
import { actionMenu, classLink, failureButtons } from './links';
import { ACTIONS, numberColumn, table } from './table';
import { counted, errorLine, moment, numberText } from './text';

const RECENT: Milliseconds = 5 * 60_000;

/** What else the jobs were chosen by. */
type Choice = Readonly<Record<string, string | undefined>>;

interface Options {
  readonly choice?: Choice;
  /** How many groups are shown. */
  readonly most?: number;
}

export function failureTable(
  caption: Shown,
  groups: readonly ErrorGroup[],
  context: PageContext,
  { choice = {}, most = 8 }: Options = {},
): Html {
  const rest = groups.length - most;
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
    rows: groups.slice(0, most).map((group) => groupRow(group, choice, context)),
  });
  return html`${shown}${rest > 0 && html`<p><a href="${address('failed', choice)}">${counted(rest, 'smaller group')}</a></p>`}`;
}

function groupRow(group: ErrorGroup, choice: Choice, context: PageContext): Html {
  const { name, error, count, newest, oldest, moments, queues } = group;
  const { now } = context;
  const lately = moments.filter((at) => at >= now - RECENT).length;
  const shown = queues.slice(0, 3).map((queue, place) => html`${place > 0 && ', '}<bdi>${queue}</bdi>`);
  const rest = queues.length > 3 && ` and ${counted(queues.length - 3, 'more queue')}`;
  return html`<tr data-key="${JSON.stringify([name, error])}"><td class="number">${lately > 0 ? html`<strong class="bad">${numberText(lately)}</strong>` : html`<span class="soft">0</span>`}</td>
<td class="number"><strong>${numberText(count)}</strong></td>
<th scope="row">${classLink(newest)} <span class="soft">in ${shown}${rest}</span></th>
<td class="line message"><a href="${address('failed', { ...choice, name, group: error })}"><bdi>${errorLine(newest.exception)}</bdi></a></td>
<td>${sparkline(countsOf(moments, now - HOUR, RECENT, HOUR / RECENT), 'bad')}</td>
<td class="when">${moment(newest.failedAt, now)}</td><td class="when">${count > 1 && moment(oldest.failedAt, now)}</td>
<td class="actions">${actionMenu(groupButtons(group, choice, context), `${name}: ${error}`)}</td></tr>`;
}

/** Nothing if a form cannot describe the group: it would choose other jobs too. */
function groupButtons(
  { name, error }: ErrorGroup,
  choice: Choice,
  context: PageContext,
): readonly (Html | undefined)[] {
  if (error === '' || name === '' || name !== name.trim()) return [];
  const fields = { ...choice, name, group: error, all: 'yes' };
  return failureButtons('failed', { fields, subject: `${name}: ${error}` }, context);
}
