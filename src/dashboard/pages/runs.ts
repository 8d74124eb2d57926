/** What ran: the runs that are kept, newest first, by class, queue, outcome, duration, worker and time. */
import type { AttemptOutcome } from '../../operations/history/attempt';
import { keptRuns, type RunFilter, type RunPage } from '../../operations/kept-runs';
import { durationSeconds } from '../../job/duration';
import { address, listIn } from '../addresses';
import { neededField } from '../errors';
import { html, type Html } from '../html';
import { type Choice, choiceOf, filterForm } from '../parts/filter';
import { bounds } from '../parts/figures';
import { pageLinks } from '../parts/links';
import { OUTCOMES, runTable, unkeptNote } from '../parts/run-table';
import { numberText, troubles } from '../parts/text';
import type { Page, PageContext } from '../view';
import { jobTabs } from './job-classes';

/** Runs of one page. */
const PAGE = 50;

const MOMENT = '2027-03-27T12:00';
const OUTCOME_NAMES = Object.entries(OUTCOMES).map(([outcome, { text }]) => [outcome, text] as const);

const FIELDS = {
  name: 'Job',
  queue: 'Queue',
  outcome: { label: 'Outcome', values: [['', 'any'], ...OUTCOME_NAMES] },
  slower: { label: 'Slower than', hint: '2s' },
  worker: 'Worker',
  from: { label: 'From (UTC)', hint: MOMENT },
  to: { label: 'To (UTC)', hint: MOMENT },
} as const;

export const runs: Page = async (context) => {
  const { manager, lookout, query } = context;
  const names = manager.connectionNames();
  const places = placesIn(query);
  const given = choiceOf(query, [...Object.keys(FIELDS), 'connection']);
  const filter = filterIn(given, query, names);
  const page = await lookout.see(`runs ${context.here}`, () => keptRuns(manager, names, filter, PAGE, places));
  return {
    title: 'Runs',
    parts: {
      tabs: jobTabs('runs'),
      'run-choice': filterForm('runs', given, FIELDS),
      runs: runList(page, given, context),
    },
    data: page,
  };
};

/** @throws E_DASHBOARD_QUERY, E_INVALID_DURATION, E_UNKNOWN_CONNECTION */
function filterIn(given: Choice, query: URLSearchParams, connections: readonly string[]): RunFilter {
  const { name, queue, worker, connection, outcome, slower } = given;
  const { from, to } = bounds(query);
  if (outcome !== undefined && !Object.hasOwn(OUTCOMES, outcome)) throw neededField('outcome');
  if (connection !== undefined && !connections.includes(connection)) throw neededField('connection');
  return {
    ...{ name, queue, worker, connection, from },
    until: to,
    outcome: outcome as AttemptOutcome | undefined,
    slowerThan: slower === undefined ? undefined : durationSeconds(slower as `${number}s`, 'slower') * 1000,
  };
}

/** @throws E_DASHBOARD_QUERY */
function placesIn(query: URLSearchParams): readonly number[] {
  const after = query.get('after');
  const places = listIn(after ?? '[]');
  const isPlaces = places.every((place) => Number.isSafeInteger(place) && Number(place) >= 0);
  if (!isPlaces || (after !== null && places.length === 0)) throw neededField('after');
  return places as readonly number[];
}

function runList({ runs: found, next, looked, away }: RunPage, given: Choice, context: PageContext): Html {
  const isFirst = !context.query.has('after');
  const notes = html`${troubles(away)}${unkeptNote(context)}`;
  const links = pageLinks(
    isFirst ? undefined : address('runs', given),
    next && address('runs', { ...given, after: JSON.stringify(next) }),
    found.length < PAGE ? 'Search further' : undefined,
  );
  if (found.length === 0)
    return html`${notes}<p class="empty">${next === undefined ? 'No such run is kept.' : `None of the ${numberText(looked)} records that were searched has such a run.`}
Runs that failed are kept for seven days; a run after which its job went back without an error leaves no trace.</p>${links}`;
  return html`${notes}${runTable(html`<span class="unseen">Runs, newest first</span>`, found, context)}${links}`;
}
