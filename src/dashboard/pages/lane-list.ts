/** The lanes on the page of a queue: how many jobs are in and held, with their limits and pauses. */
import type { LaneState } from '../../connections/contract';
import type { LaneList } from '../../dispatch/queue-lane';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { actionForm, hiddenFields, pageLinks } from '../parts/links';
import { ACTIONS, numberColumn, table } from '../parts/table';
import { numberText } from '../parts/text';
import type { PageContext } from '../view';

interface Place {
  readonly connection: string;
  readonly queue: string;
}

/** Undefined if there is nothing to show. @param after where the shown page begins; null: the first one */
export function laneList(
  { lanes, next }: LaneList,
  place: Place,
  after: string | null,
  context: PageContext,
): Html | undefined {
  if (lanes.length === 0 && after === null) return undefined;
  const { connection, queue } = place;
  const pageAt = (lane: string | undefined): string => address('queue', { connection, queue, lane });
  const busiest = lanes.toSorted((a, b) => b.held - a.held || b.inside - a.inside || (a.lane < b.lane ? -1 : 1));
  const shown = table({
    caption: 'Lanes',
    columns: [
      'Lane',
      numberColumn('In', 'Ready or running'),
      numberColumn('Held', 'Waiting until the lane has room'),
      numberColumn('May be in'),
      ACTIONS,
    ],
    rows: busiest.map((lane) => laneRow(lane, place, context)),
  });
  const first = after === null ? undefined : pageAt(undefined);
  return html`<section class="lanes" aria-label="Lanes">${shown}${pageLinks(first, next && pageAt(next), 'More lanes')}</section>`;
}

function laneRow({ lane, inside, held, running, paused }: LaneState, place: Place, context: PageContext): Html {
  const about = { fields: { ...place, lane }, subject: lane };
  const button = paused
    ? actionForm({ action: 'resume-lane', label: 'Resume', ...about }, context)
    : actionForm({ action: 'pause-lane', label: 'Pause', ...about }, context);
  return html`<tr data-key="lane ${lane}"><th scope="row"><bdi>${lane}</bdi>${paused && html` <span class="badge warn">paused</span>`}</th>
<td class="number">${numberText(inside)}</td><td class="number">${numberText(held)}</td><td class="number">${numberText(running)}</td>
<td class="actions">${limitForm(lane, running, place, context)} ${button}</td></tr>`;
}

function limitForm(lane: string, running: number, place: Place, { viewer, here }: PageContext): Html | undefined {
  if (viewer.role !== 'operator') return undefined;
  return html`<form method="post" action="limit-lane" class="action">${hiddenFields({ ...place, lane, back: here })}<input type="number" name="running" value="${String(running)}" min="1" max="999999999" required aria-label="Limit of ${lane}" /><button>Set limit<span class="unseen"> of ${lane}</span></button></form>`;
}
